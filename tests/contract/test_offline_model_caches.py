"""The simulated prefix caches over HTTP: one base URL per policy, real tokens, usage as providers report it."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import httpx2
import pytest
import uvicorn
from tests.support.serving import LOOPBACK, WithoutSignals, serving

from gateway.server import listening_socket
from offline_model.app import build_app
from offline_model.prefix_cache.policies import CachePolicy
from offline_model.settings import OfflineModelSettings

L0 = "你是跨境购物助手。" + "按用户的要求检索商品，遵守约束，用用户的语言回答。" * 120
MARK = {"cache_control": {"type": "ephemeral"}}
GRANULARITY = {
    CachePolicy.BLOCK16: 16,
    CachePolicy.BLOCK64: 64,
    CachePolicy.BLOCK128: 128,
    CachePolicy.BLOCK256: 256,
    CachePolicy.BLOCK528: 528,
}


class MovedClock:
    """Time moves only by hand; a pause lasts until the gate is open."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self.gate = asyncio.Event()
        self.pauses = 0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.seconds, UTC)

    def monotonic(self) -> float:
        return self.seconds

    async def sleep(self, seconds: float) -> None:
        self.pauses += 1
        await self.gate.wait()


class Endpoint:
    """The offline model, asked under the base URL of a policy."""

    def __init__(self, http: httpx2.AsyncClient, clock: MovedClock) -> None:
        self.http = http
        self.clock = clock

    async def post(self, base: str, messages: list[dict[str, Any]], **options: Any) -> httpx2.Response:
        body = {"model": "m", "messages": messages, **options}
        return await self.http.post(f"{base}/chat/completions", json=body)

    async def usage(self, base: str, messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
        answer = await self.post(base, messages, **{"max_tokens": 1, **options})
        assert answer.status_code == 200, answer.text
        usage: dict[str, Any] = answer.json()["usage"]
        return usage

    async def cached(self, base: str, messages: list[dict[str, Any]], **options: Any) -> int:
        details = (await self.usage(base, messages, **options))["prompt_tokens_details"]
        tokens: int = details["cached_tokens"]
        return tokens

    async def passes(self, seconds: float) -> None:
        """Time goes by once the last answer is kept: one worker does all in their order."""
        await self.cached(base(CachePolicy.BLOCK16), conversation(1))
        self.clock.seconds += seconds

    async def empty(self, *policies: CachePolicy) -> None:
        for policy in policies:
            assert (await self.http.delete(f"/caches/{policy}")).status_code == 204


@asynccontextmanager
async def running(**settings: Any) -> AsyncIterator[Endpoint]:
    clock = MovedClock()
    app = build_app(OfflineModelSettings.model_validate(settings), clock)
    config = uvicorn.Config(app, log_config=None, access_log=False, ws="none")
    async with (
        serving(WithoutSignals(config), listening_socket(LOOPBACK, 0)) as url,
        httpx2.AsyncClient(base_url=url, trust_env=False, timeout=20.0) as http,
    ):
        yield Endpoint(http, clock)


@pytest.fixture(scope="module")
async def started() -> AsyncIterator[Endpoint]:
    async with running(cache_policy="block64") as endpoint:
        yield endpoint


@pytest.fixture
async def endpoint(started: Endpoint) -> Endpoint:
    await started.empty(*CachePolicy)
    return started


def base(policy: CachePolicy) -> str:
    return f"/caches/{policy}/v1"


def conversation(turns: int) -> list[dict[str, Any]]:
    """A session up to the user's message of that turn."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": L0}]
    for number in range(turns):
        messages.append({"role": "user", "content": f"第 {number} 轮：找一个双肩包"})
        messages.append({"role": "assistant", "content": f"第 {number} 轮的答复，" + "这款合适。" * 40})
    return messages[:-1]


@pytest.mark.parametrize(("policy", "size"), GRANULARITY.items())
async def test_blocks_of_what_was_sent_before(endpoint: Endpoint, policy: CachePolicy, size: int) -> None:
    first = await endpoint.usage(base(policy), conversation(1))
    assert first["prompt_tokens_details"] == {"cached_tokens": 0}
    known = first["prompt_tokens"]
    assert await endpoint.cached(base(policy), conversation(2)) == known // size * size
    assert await endpoint.cached(base(policy), conversation(2)) > known // size * size - size


async def test_exact_boundaries_of_prompts_and_answers(endpoint: Endpoint) -> None:
    exact = base(CachePolicy.EXACT)
    asked, further = conversation(1), conversation(2)
    first = await endpoint.usage(exact, asked)
    assert await endpoint.cached(exact, further) == first["prompt_tokens"]
    await endpoint.empty(CachePolicy.EXACT)
    # The answer that the client recorded, so that its end is a boundary too.
    first = await endpoint.usage(exact, asked, offline_answer=further[-2])
    before_the_end_token = first["prompt_tokens"] + first["completion_tokens"] - 1
    assert await endpoint.cached(exact, further) == before_the_end_token
    further[1] = {"role": "user", "content": "另一句话"}
    assert await endpoint.cached(exact, further) == 0


async def test_a_given_answer_is_answered_as_it_is(endpoint: Endpoint) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "item_search", "arguments": '{"query":  "包"}'}}
    answer = await endpoint.post("/v1", conversation(1), offline_answer={"content": "我来找", "tool_calls": [call]})
    (choice,) = answer.json()["choices"]
    assert choice["message"] == {"role": "assistant", "content": "我来找", "tool_calls": [call]}
    assert choice["finish_reason"] == "tool_calls"


async def test_one_token_is_answered_whatever_the_words_ask_for(endpoint: Endpoint) -> None:
    words = [{"role": "user", "content": "[[offline:hang]] [[offline:http=500]] 找双肩包"}]
    answer = (await endpoint.post("/v1", words, max_tokens=1)).json()
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["usage"]["completion_tokens"] <= 2


async def test_the_policies_share_nothing_and_are_emptied_one_by_one(endpoint: Endpoint) -> None:
    one, other = base(CachePolicy.BLOCK16), base(CachePolicy.BLOCK256)
    await endpoint.usage(one, conversation(1))
    assert await endpoint.cached(other, conversation(1)) == 0
    await endpoint.empty(CachePolicy.BLOCK16)
    assert await endpoint.cached(other, conversation(1)) > 1000
    assert await endpoint.cached(one, conversation(1)) == 0


async def test_the_default_is_the_policy_of_the_settings_in_a_cache_of_its_own(endpoint: Endpoint) -> None:
    await endpoint.usage(base(CachePolicy.BLOCK64), conversation(1))
    words = [{"role": "system", "content": "默认" + L0}, {"role": "user", "content": "找水杯"}]
    prompt = (await endpoint.usage("/v1", words))["prompt_tokens"]
    assert await endpoint.cached("/v1", words) == (prompt - 1) // 64 * 64
    assert await endpoint.cached(base(CachePolicy.BLOCK64), words) == 0


async def test_another_user_reads_what_the_first_one_left(endpoint: Endpoint) -> None:
    await endpoint.usage(base(CachePolicy.BLOCK128), conversation(1))
    stranger = [conversation(1)[0], {"role": "user", "content": "推荐一款茶叶"}]
    assert await endpoint.cached(base(CachePolicy.BLOCK128), stranger) >= 1024
    assert await endpoint.cached(base(CachePolicy.BLOCK128), stranger, model="other") == 0


def marked(system: bool = True, last: bool = False, turns: int = 1) -> list[dict[str, Any]]:
    """A session with all contents in block form and marks on the system message or the last one."""
    messages = [
        {"role": message["role"], "content": [{"type": "text", "text": message["content"]}]}
        for message in conversation(turns)
    ]
    for position in [0] * system + [-1] * last:
        messages[position]["content"][0].update(MARK)
    return messages


async def test_marks_are_written_read_and_renewed_for_five_minutes(endpoint: Endpoint) -> None:
    marks = base(CachePolicy.MARKS)
    first = await endpoint.usage(marks, marked())
    written = first["prompt_tokens_details"]["cache_creation_input_tokens"]
    assert 1024 < written < first["prompt_tokens"]
    for _ in range(2):
        await endpoint.passes(200)
        again = await endpoint.usage(marks, marked(turns=2))
        assert again["prompt_tokens_details"] == {"cached_tokens": written, "cache_creation_input_tokens": 0}
    await endpoint.passes(300)
    assert await endpoint.cached(marks, marked()) == 0


async def test_a_mark_on_the_newest_message_carries_the_history_along(endpoint: Endpoint) -> None:
    marks = base(CachePolicy.MARKS)
    before = 0
    for turns in range(1, 5):
        details = (await endpoint.usage(marks, marked(last=True, turns=turns)))["prompt_tokens_details"]
        assert details["cached_tokens"] == before
        before += details["cache_creation_input_tokens"]


async def test_block_form_and_marks_change_no_token(endpoint: Endpoint) -> None:
    plain = await endpoint.usage("/v1", conversation(3))
    assert (await endpoint.usage("/v1", marked(last=True, turns=3)))["prompt_tokens"] == plain["prompt_tokens"]


async def test_without_marks_that_cache_stays_empty(endpoint: Endpoint) -> None:
    marks = base(CachePolicy.MARKS)
    for _ in range(2):
        details = (await endpoint.usage(marks, marked(system=False)))["prompt_tokens_details"]
        assert details == {"cached_tokens": 0, "cache_creation_input_tokens": 0}


async def test_a_fifth_mark_is_refused(endpoint: Endpoint) -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "找包", **MARK} for _ in range(5)]}]
    refused = await endpoint.post(base(CachePolicy.MARKS), messages)
    assert (refused.status_code, refused.json()["error"]["code"]) == (400, "too_many_cache_marks")
    assert (await endpoint.post("/v1", messages)).status_code == 200


async def test_a_cache_has_a_request_only_once_its_answer_has_ended(endpoint: Endpoint) -> None:
    policy = base(CachePolicy.BLOCK16)
    slow = [conversation(1)[0], {"role": "user", "content": "你好 [[offline:slow=0.1]]"}]
    body = {"model": "m", "messages": slow, "stream": True}
    async with endpoint.http.stream("POST", f"{policy}/chat/completions", json=body) as answering:
        assert await endpoint.cached(policy, conversation(1), model="m") == 0
        await endpoint.empty(CachePolicy.BLOCK16)
        endpoint.clock.gate.set()
        async for line in answering.aiter_lines():
            if line == "data: [DONE]":
                break
    assert await endpoint.cached(policy, conversation(1), model="m") > 1024


async def test_an_answer_that_is_cut_leaves_its_prompt_all_the_same(endpoint: Endpoint) -> None:
    policy = base(CachePolicy.BLOCK16)
    with pytest.raises(httpx2.RemoteProtocolError):
        await endpoint.post(policy, [conversation(1)[0], {"role": "user", "content": "你好 [[offline:cut]]"}])
    assert await endpoint.cached(policy, conversation(1)) > 1024


async def answered(endpoint: Endpoint, messages: list[dict[str, Any]], **options: Any) -> dict[str, Any]:
    """One step of a session under `exact`: the answer and the results of its calls are added to the messages."""
    tools = [{"type": "function", "function": {"name": name}} for name in ("Skill", "item_search", "shopping_summary")]
    answer = (await endpoint.post(base(CachePolicy.EXACT), messages, tools=tools, **options)).json()
    message = answer["choices"][0]["message"]
    messages.append(message)
    items = [{"item_id": f"bag-{n}", "title": f"双肩包 {n}", "price": "99.00", "currency": "CNY"} for n in range(9)]
    results = {"Skill": '<skill_content name="search-discovery">\n先搜\n</skill_content>', "shopping_summary": "{}"}
    for call in message.get("tool_calls", []):
        content = results.get(call["function"]["name"], json.dumps({"items": items}, ensure_ascii=False))
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": content})
    usage: dict[str, Any] = answer["usage"]
    return usage


@pytest.mark.parametrize("thinks", [False, True])
async def test_each_step_of_a_session_finds_everything_up_to_the_end_of_the_answer_before(
    endpoint: Endpoint, thinks: bool
) -> None:
    catalogue = "<available_skills>\n- search-discovery: 找商品时读\n- purchase-research: 对比时读\n</available_skills>"
    messages = [{"role": "system", "content": f"{L0}\n{catalogue}"}]
    expected, steps = 0, 0
    for words in ("找一个双肩包", "再便宜一点的", "对比一下双肩包", "你好"):
        messages.append({"role": "user", "content": f"<user_message>\n{words}\n</user_message>"})
        last: dict[str, Any] = {}
        while not last or last["role"] == "tool":
            usage = await answered(endpoint, messages, enable_thinking=thinks and steps % 2 == 0)
            assert usage["prompt_tokens_details"]["cached_tokens"] == expected
            expected = usage["prompt_tokens"] + usage["completion_tokens"] - 1
            last, steps = messages[-1], steps + 1
            if "shopping_summary" in str(messages[-2].get("tool_calls")):
                break
    assert steps == 3 + 2 + 4 + 1


async def test_thoughts_are_sent_and_counted_when_asked_for(endpoint: Endpoint) -> None:
    body = {"model": "m", "messages": conversation(1), "enable_thinking": True, "stream": True}
    body["stream_options"] = {"include_usage": True}
    lines = (await endpoint.http.post("/v1/chat/completions", json=body)).text.splitlines()
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    thoughts = [delta["reasoning_content"] for delta in deltas if "reasoning_content" in delta]
    assert len(thoughts) > 2
    assert deltas.index({"content": None, "reasoning_content": thoughts[-1]}) < len(deltas) - 2
    assert chunks[-1]["usage"]["completion_tokens_details"]["reasoning_tokens"] > 5


async def test_a_prompt_beyond_the_window_is_refused() -> None:
    async with running(context_window=500) as small:
        refused = await small.post("/v1", conversation(1))
        assert (refused.status_code, refused.json()["error"]["code"]) == (400, "context_length_exceeded")
        assert (await small.post("/v1", [{"role": "user", "content": "你好"}])).status_code == 200


async def test_an_unknown_policy_is_no_route(endpoint: Endpoint) -> None:
    assert (await endpoint.post("/caches/block7/v1", conversation(1))).status_code == 404
    assert (await endpoint.http.delete("/caches/block7")).status_code == 404


async def test_every_base_url_has_embeddings_and_models(endpoint: Endpoint) -> None:
    answer = await endpoint.http.post(f"{base(CachePolicy.EXACT)}/embeddings", json={"model": "e", "input": "背包"})
    assert len(answer.json()["data"][0]["embedding"]) == 384
    assert (await endpoint.http.get(f"{base(CachePolicy.EXACT)}/models")).status_code == 200
