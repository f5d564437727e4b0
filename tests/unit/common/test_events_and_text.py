"""Events are pointers; text that cannot be stored is told apart from text that is only strange."""

from datetime import UTC, datetime
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from common.events import Cause, EventAdapter, TurnRequested
from common.ids import new_id
from common.streams.names import PROGRESS_BUCKETS, progress_stream
from common.text import UserText, normalise

TEXT: TypeAdapter[str] = TypeAdapter(UserText)


def an_event() -> TurnRequested:
    return TurnRequested(
        event_id=uuid4(),
        tenant_id="t1",
        user_id="u1",
        session_id=uuid4(),
        turn_id=uuid4(),
        seq=1,
        purge_generation=0,
        occurred_at=datetime.now(UTC),
        cause=Cause.LIVE,
        run=0,
    )


def test_an_event_survives_the_wire() -> None:
    event = an_event()
    assert EventAdapter.validate_json(event.model_dump_json()) == event


def test_a_newer_writer_may_add_fields_and_not_change_the_version() -> None:
    body = an_event().model_dump(mode="json")
    assert EventAdapter.validate_python({**body, "a_new_field": 1})
    with pytest.raises(ValidationError):
        EventAdapter.validate_python({**body, "schema_version": 2})


def test_ids_are_uuid7_and_rise() -> None:
    ids = [new_id() for _ in range(100)]
    assert all(isinstance(each, UUID) and each.version == 7 for each in ids)
    assert ids == sorted(ids)


def test_progress_streams_spread_over_all_buckets() -> None:
    tags = {progress_stream(new_id()).split(":")[1] for _ in range(500)}
    assert tags == {f"{{{bucket}}}" for bucket in range(PROGRESS_BUCKETS)}


@pytest.mark.parametrize("text", ["", "  \n", "a\x00b", "\ud800", "x" * 8_001])
def test_text_that_cannot_be_kept(text: str) -> None:
    with pytest.raises(ValidationError):
        TEXT.validate_python(text)


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1, max_size=100))
def test_any_other_text_is_kept_and_folds_to_itself(text: str) -> None:
    if text.strip():
        assert TEXT.validate_python(f"a{text}") == f"a{text}"
    assert normalise(normalise(text)) == normalise(text)
