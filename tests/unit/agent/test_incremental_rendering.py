"""A rendering that grows with the log is the one that is made of the whole log."""

import json
from uuid import uuid4

from hypothesis import given
from hypothesis import strategies as st

from agent.context.entries import EntryFactory
from agent.context.release import build_release
from agent.context.rendering import Rendering, render_request
from common.ids import new_id
from common.memory_api.sessions import LogEntry, NewLogEntry
from model_client.profiles import PROFILES

MAKE = EntryFactory(new_id, PROFILES["generic"])
RELEASE = build_release([{"function": {"name": "a"}}], "\n<available_skills>\n</available_skills>\n")

positions = st.integers(1, 30)
entries = st.one_of(
    st.builds(MAKE.user_message, st.text(max_size=20)),
    st.builds(MAKE.notice, st.text(max_size=20)),
    st.builds(MAKE.turn_block, st.text(max_size=20)),
    st.builds(lambda text: MAKE.tool_result("c1", text), st.text(max_size=20)),
    st.builds(MAKE.prune, st.lists(positions, max_size=5)),
    st.builds(MAKE.summary, st.text(max_size=20), st.lists(positions, max_size=3), positions),
    st.builds(MAKE.failed_summary),
)


def log_of(new: list[NewLogEntry]) -> list[LogEntry]:
    turn_id = uuid4()
    return [LogEntry(**entry.model_dump(), position=i, turn_id=turn_id) for i, entry in enumerate(new, start=1)]


def told(rendering: Rendering) -> tuple[object, ...]:
    request = render_request(rendering, "m")
    return request.body(), rendering.layer_hashes, rendering.size, rendering.log_position, rendering.broken_at


@given(st.lists(entries, max_size=30), st.lists(st.integers(0, 30)))
def test_in_steps_or_at_once_it_is_the_same(new: list[NewLogEntry], cuts: list[int]) -> None:
    log = log_of(new)
    grown, begin = Rendering.of(RELEASE), 0
    for cut in [*sorted(cut for cut in cuts if cut <= len(log)), len(log)]:
        before = told(grown)
        extended = grown.extended(log[begin:cut])
        assert told(grown) == before, "what was rendered does not change"
        grown, begin = extended, cut
    assert told(grown) == told(Rendering.of(RELEASE, log))
    texts = [RELEASE.tools, RELEASE.system, *grown.messages[1:]]
    assert grown.size == sum(len(text.encode()) for text in texts)
    assert all(json.loads(text)["role"] for text in grown.messages)


def test_an_erased_replacement_replaces_nothing() -> None:
    log = log_of([MAKE.user_message("甲"), MAKE.summary("摘要", (), 2), MAKE.prune([1])])
    erased = '{"role":"system","content":"[cleared by the user]"}'
    cleared = [log[0], *(entry.model_copy(update={"payload": erased}) for entry in log[1:])]
    assert Rendering.of(RELEASE, cleared).messages == (RELEASE.system, log[0].payload)
