"""The offline model as the official `openai` client and a raw HTTP client see it: a real process on a real port."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import openai
import pytest
from openai import AsyncOpenAI
from tests.support.waiting import wait_for

L0 = "你是跨境购物助手。" + "按用户的要求检索商品，遵守约束，用用户的语言回答。" * 120
NUT_FACT = "- [constraint] nut_allergy: 对坚果过敏"


def _tool(name: str, *parameters: str) -> dict[str, Any]:
    properties = {parameter: {"type": "string"} for parameter in parameters}
    schema = {"type": "object", "properties": properties, "required": list(parameters)}
    return {"type": "function", "function": {"name": name, "description": name, "parameters": schema}}


TOOLS = [
    _tool("item_search", "query"),
    _tool("recall_memories", "topic"),
    _tool("save_memory", "key", "value", "category"),
    _tool("shopping_summary", "reply"),
]
CURATED = {
    "type": "json_schema",
    "json_schema": {"name": "curated_facts", "schema": {"type": "object", "properties": {"facts": {"type": "array"}}}},
}


class OfflineModel:
    """A running offline model."""

    def __init__(self, url: str, log: Path) -> None:
        self.url = url
        self.log = log

    def client(self, **options: Any) -> AsyncOpenAI:
        return AsyncOpenAI(
            base_url=f"{self.url}/v1",
            api_key="offline",
            max_retries=0,
            http_client=openai.DefaultAsyncHttpxClient(trust_env=False),
            **options,
        )

    def http(self) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(base_url=self.url, trust_env=False, timeout=20.0)


@asynccontextmanager
async def _running(directory: Path, **environment: str) -> AsyncIterator[OfflineModel]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    log = directory / "offline_server.log"
    variables = {**os.environ, "HOST": "127.0.0.1", "PORT": str(port), **environment}
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "offline_model", "serve", env=variables, stdout=output, stderr=output
        )
    server = OfflineModel(f"http://127.0.0.1:{port}", log)
    try:
        await wait_for(lambda: _ready(server), "the offline model is ready")
        yield server
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 10)


async def _ready(server: OfflineModel) -> bool:
    try:
        async with server.http() as http:
            return (await http.get("/readyz")).status_code == 200
    except httpx2.TransportError:
        return False


@pytest.fixture(scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[OfflineModel]:
    async with _running(tmp_path_factory.mktemp("offline_model")) as running:
        yield running


def turn(words: str, memory: str | None = None) -> list[dict[str, Any]]:
    """One user's turn as the agent sends it."""
    content = (
        "<turn_context>\nplatforms: all\nbehaviour_history: none\n</turn_context>\n"
        f"<user_message>\n{words}\n</user_message>"
    )
    block = f"<user_long_term_memory>\n{memory}\n</user_long_term_memory>"
    return [{"role": "user", "content": content}, *([{"role": "system", "content": block}] if memory else [])]


def chat(words: str, memory: str | None = None) -> list[dict[str, Any]]:
    return [{"role": "system", "content": L0}, *turn(words, memory)]


def user_words(words: str, known: str = "none") -> list[dict[str, Any]]:
    """The curator's side call."""
    content = (
        f"<known_facts>\n{known}\n</known_facts>\n<user_words>\n{words}\n</user_words>\n"
        "<final_reply>\n好的，我对牛奶过敏\n</final_reply>"
    )
    return [{"role": "system", "content": "提炼事实"}, {"role": "user", "content": content}]


async def stream(server: OfflineModel, messages: list[dict[str, Any]], **options: Any) -> list[Any]:
    """All chunks of a streamed answer."""
    async with server.client() as client:
        request: dict[str, Any] = {
            "model": "offline-main",
            "messages": messages,
            "tools": TOOLS,
            "stream": True,
            "stream_options": {"include_usage": True},
            **options,
        }
        return [chunk async for chunk in await client.chat.completions.create(**request)]


def folded(chunks: list[Any]) -> dict[str, Any]:
    """The answer a client puts together from well-formed chunks."""
    calls: dict[int, dict[str, str]] = {}
    text, finish, usage = "", None, None
    for chunk in chunks:
        usage = chunk.usage or usage
        for choice in chunk.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or []:
                known = calls.setdefault(call.index, {"id": call.id, "name": call.function.name, "arguments": ""})
                known["arguments"] += call.function.arguments
    return {"text": text, "calls": [calls[index] for index in sorted(calls)], "finish": finish, "usage": usage}


async def curated(server: OfflineModel, words: str, known: str = "none", **options: Any) -> Any:
    answer = folded(
        await stream(
            server,
            user_words(words, known),
            tools=openai.omit,
            response_format=CURATED,
            model="offline-fast",
            **options,
        )
    )
    return json.loads(answer["text"])["facts"]


async def test_a_call_is_streamed_as_providers_stream_it(server: OfflineModel) -> None:
    chunks = await stream(server, chat("找一个通勤双肩包，500 元以内", NUT_FACT))
    assert chunks[0].choices[0].delta.role == "assistant"
    fragments = [chunk for chunk in chunks if chunk.choices and chunk.choices[0].delta.tool_calls]
    assert len(fragments) > 5
    assert chunks[-2].choices[0].finish_reason == "tool_calls"
    assert chunks[-1].choices == []
    assert chunks[-1].usage.prompt_tokens_details is not None
    (call,) = folded(chunks)["calls"]
    arguments = json.loads(call["arguments"])
    assert call["name"] == "item_search"
    assert (arguments["query"], arguments["price_max"], arguments["currency"]) == ("通勤双肩包", 500, "CNY")
    assert "坚果" in arguments["exclude"]


async def test_text_comes_in_small_pieces(server: OfflineModel) -> None:
    chunks = await stream(server, chat("你好"))
    pieces = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices and chunk.choices[0].delta.content]
    assert len(pieces) > 3
    assert folded(chunks)["finish"] == "stop"


async def test_the_same_request_gets_the_same_bytes(server: OfflineModel) -> None:
    body = {"model": "m", "messages": chat("找个行李箱"), "tools": TOOLS, "stream": True}
    async with server.http() as http:
        first = await http.post("/v1/chat/completions", json=body)
        second = await http.post("/v1/chat/completions", json=body)
    assert first.content == second.content
    assert first.content.endswith(b"data: [DONE]\n\n")


async def test_without_streaming_the_answer_is_the_same(server: OfflineModel) -> None:
    streamed = folded(await stream(server, chat("找个行李箱")))
    async with server.client() as client:
        request: dict[str, Any] = {"model": "offline-main", "messages": chat("找个行李箱"), "tools": TOOLS}
        whole = await client.chat.completions.create(**request)
    message = whole.choices[0].message
    assert message.tool_calls is not None
    assert [call.function.arguments for call in message.tool_calls if call.type == "function"] == [
        call["arguments"] for call in streamed["calls"]
    ]
    assert whole.choices[0].finish_reason == "tool_calls"
    assert whole.usage is not None
    assert whole.usage.prompt_tokens == streamed["usage"].prompt_tokens


async def test_a_whole_turn_ends_with_a_summary_and_the_cache_grows(server: OfflineModel) -> None:
    messages = chat("推荐几样办公室零食", NUT_FACT)
    items = [
        {"item_id": f"snack-{n:03}", "title": f"米饼 {n}", "price": "9.90", "currency": "CNY", "materials": ["大米"]}
        for n in range(40)
    ]
    result = json.dumps({"items": items, "excluded": 3}, ensure_ascii=False)
    fenced = f'<external_content source="item_search">\n{result}\n</external_content>'
    usages = []
    for expected in ("item_search", "shopping_summary"):
        answer = folded(await stream(server, messages, model="cache-grows"))
        usages.append(answer["usage"])
        (call,) = answer["calls"]
        assert call["name"] == expected
        function = {"name": call["name"], "arguments": call["arguments"]}
        tool_call = {"id": call["id"], "type": "function", "function": function}
        messages += [
            {"role": "assistant", "content": None, "tool_calls": [tool_call]},
            {"role": "tool", "tool_call_id": call["id"], "content": fenced},
        ]
    summary = json.loads(call["arguments"])
    assert len(summary["items"]) == 5
    assert "对坚果过敏" in summary["reply"]
    messages += turn("再便宜一点的", NUT_FACT)
    answer = folded(await stream(server, messages, model="cache-grows"))
    usages.append(answer["usage"])
    assert json.loads(answer["calls"][0]["arguments"])["query"] == "办公室零食"
    cached = [usage.prompt_tokens_details.cached_tokens for usage in usages]
    prompts = [usage.prompt_tokens for usage in usages]
    assert cached[0] == 0
    for before, now in zip(prompts, cached[1:], strict=False):
        assert before - 256 < now <= before
    assert all(part % 128 == 0 for part in cached)


async def test_the_shared_head_is_cached_for_another_user(server: OfflineModel) -> None:
    await stream(server, chat("找个水杯"), model="shared-head")
    other = folded(await stream(server, chat("推荐一款茶叶"), model="shared-head"))
    assert other["usage"].prompt_tokens_details.cached_tokens >= 1024


async def test_usage_comes_only_when_asked_for(server: OfflineModel) -> None:
    chunks = await stream(server, chat("你好"), stream_options=openai.omit)
    assert all(chunk.usage is None and chunk.choices for chunk in chunks)


async def test_the_curator_answers_in_its_schema(server: OfflineModel) -> None:
    facts = await curated(server, "我对坚果过敏，东西都寄德国。想找一个通勤双肩包，500 元以内")
    assert facts == [
        {"key": "nut_allergy", "value": "对坚果过敏", "category": "constraint", "evidence": "我对坚果过敏"},
        {"key": "default_ship_to", "value": "德国", "category": "context", "evidence": "东西都寄德国"},
    ]


async def test_the_curator_reuses_known_keys_and_reads_no_reply(server: OfflineModel) -> None:
    assert [fact["key"] for fact in await curated(server, "以后寄法国", "- [context] ship_to: 德国")] == ["ship_to"]
    assert await curated(server, "谢谢") == []


async def test_the_planner_answers_the_smallest_valid_plan(server: OfflineModel) -> None:
    properties = {"intent": {"enum": ["browse", "buy"]}, "domains": {"type": "array"}}
    schema = {"type": "object", "properties": properties, "required": ["intent", "domains"]}
    plan = {"type": "json_schema", "json_schema": {"name": "turn_plan", "schema": schema}}
    answer = folded(await stream(server, chat("[[offline:hang]] 你好"), response_format=plan))
    assert json.loads(answer["text"]) == {"intent": "browse", "domains": []}


# Directives


async def test_hang_never_answers(server: OfflineModel) -> None:
    async with server.client(timeout=0.5) as client:
        request: dict[str, Any] = {"model": "m", "messages": chat("[[offline:hang]]"), "stream": True}
        with pytest.raises(openai.APITimeoutError):
            await client.chat.completions.create(**request)


async def test_slow_pauses_before_every_chunk(server: OfflineModel) -> None:
    loop = asyncio.get_running_loop()
    started = loop.time()
    chunks = await stream(server, chat("[[offline:text=一二三四五六七八]] [[offline:slow=0.1]]"))
    assert loop.time() - started >= 0.1 * len(chunks)


async def test_http_answers_that_status_for_the_first_requests(server: OfflineModel) -> None:
    for _ in range(2):
        with pytest.raises(openai.InternalServerError) as refused:
            await stream(server, chat("你好 [[offline:http=503*2]]"))
        assert refused.value.status_code == 503
    assert folded(await stream(server, chat("你好 [[offline:http=503*2]]")))["text"]


async def test_http_429_says_when_to_come_back(server: OfflineModel) -> None:
    for _ in range(2):
        with pytest.raises(openai.RateLimitError) as refused:
            await stream(server, chat("你好 [[offline:http=429]]"))
        assert refused.value.response.headers["Retry-After"] == "1"
        assert refused.value.type == "rate_limit_error"


async def test_cut_closes_the_connection_in_mid_stream(server: OfflineModel) -> None:
    body = {"model": "m", "messages": chat("你好 [[offline:cut*1]]"), "tools": TOOLS, "stream": True}
    received: list[str] = []
    async with server.http() as http, http.stream("POST", "/v1/chat/completions", json=body) as response:
        assert response.status_code == 200
        with pytest.raises(httpx2.RemoteProtocolError):
            await _read_lines(response, received)
    assert any("content" in line for line in received)
    assert not any('"finish_reason":"' in line or "[DONE]" in line for line in received)
    async with server.http() as http:
        again = await http.post("/v1/chat/completions", json=body)
    assert again.text.splitlines()[: len(received)] == received
    assert "[DONE]" in again.text


async def _read_lines(response: httpx2.Response, into: list[str]) -> None:
    async for line in response.aiter_lines():
        into.append(line)


async def test_empty_choices_come_between_the_others(server: OfflineModel) -> None:
    chunks = await stream(server, chat("你好 [[offline:empty_choices]]"))
    assert chunks[0].choices == []
    assert sum(not chunk.choices for chunk in chunks) == 3
    assert folded(chunks)["text"] == folded(await stream(server, chat("你好")))["text"]


async def test_missing_ids_leave_out_id_and_index(server: OfflineModel) -> None:
    body = {"model": "m", "messages": chat("找双肩包 [[offline:missing_ids]]"), "tools": TOOLS, "stream": True}
    async with server.http() as http:
        lines = (await http.post("/v1/chat/completions", json=body)).text.splitlines()
    chunks = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    fragments = [call for c in chunks for choice in c["choices"] for call in choice["delta"].get("tool_calls", [])]
    assert fragments
    assert all("id" not in fragment and "index" not in fragment for fragment in fragments)


async def test_malformed_arguments_once_and_then_well(server: OfflineModel) -> None:
    messages = chat("找双肩包 [[offline:malformed_arguments]]")
    answer = folded(await stream(server, messages))
    (call,) = answer["calls"]
    assert answer["finish"] == "tool_calls"
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(call["arguments"])
    function = {"name": call["name"], "arguments": call["arguments"]}
    messages += [
        {"role": "assistant", "tool_calls": [{"id": call["id"], "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call["id"], "content": "arguments are no JSON"},
    ]
    (again,) = folded(await stream(server, messages))["calls"]
    assert json.loads(again["arguments"])["query"] == "双肩包"
    assert again["id"] != call["id"]


async def test_truncate_stops_in_mid_call(server: OfflineModel) -> None:
    answer = folded(await stream(server, chat("找双肩包 [[offline:truncate]]")))
    assert answer["finish"] == "length"
    with pytest.raises(ValueError, match=r"Expecting|Unterminated"):
        json.loads(answer["calls"][0]["arguments"])
    assert folded(await stream(server, chat("你好 [[offline:truncate]]")))["finish"] == "length"


async def test_no_usage(server: OfflineModel) -> None:
    assert folded(await stream(server, chat("你好 [[offline:no_usage]]")))["usage"] is None


async def test_save_is_called_exactly_and_first(server: OfflineModel) -> None:
    words = "推荐零食 [[offline:save=shoe_size|42 码|context]] [[offline:save=pet|猫|]]"
    calls = folded(await stream(server, chat(words)))["calls"]
    assert [json.loads(call["arguments"]) for call in calls] == [
        {"key": "shoe_size", "value": "42 码", "category": "context"},
        {"key": "pet", "value": "猫", "category": "preference"},
    ]
    assert len({call["id"] for call in calls}) == 2


async def test_text_and_echo_context(server: OfflineModel) -> None:
    assert folded(await stream(server, chat("[[offline:text=就这样]]")))["text"] == "就这样"
    assert folded(await stream(server, chat("[[offline:echo_context]]", NUT_FACT)))["text"] == NUT_FACT
    assert folded(await stream(server, chat("[[offline:echo_context]]")))["text"] == "(no memory block)"


async def test_loop_searches_again_and_again(server: OfflineModel) -> None:
    messages = chat("找双肩包 [[offline:loop]]")
    queries = []
    for _ in range(4):
        (call,) = folded(await stream(server, messages))["calls"]
        queries.append(json.loads(call["arguments"])["query"])
        function = {"name": call["name"], "arguments": call["arguments"]}
        messages += [
            {"role": "assistant", "tool_calls": [{"id": call["id"], "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": call["id"], "content": '{"items": []}'},
        ]
    assert len(set(queries)) == 4


async def test_the_curator_has_directives_of_its_own(server: OfflineModel) -> None:
    words = "我对坚果过敏 [[offline:curator.save=pet|养猫|context]] [[offline:curator.save=a|b|]] [[offline:http=500]]"
    facts = await curated(server, words)
    assert [(fact["key"], fact["value"], fact["evidence"]) for fact in facts] == [
        ("pet", "养猫", "养猫"),
        ("a", "b", "b"),
    ]
    with pytest.raises(openai.InternalServerError):
        await curated(server, "[[offline:curator.http=500]]")
    with pytest.raises(json.JSONDecodeError):
        await curated(server, "我对坚果过敏 [[offline:curator.truncate]]")
    assert "nut" in str(folded(await stream(server, chat("我对坚果过敏，找零食 [[offline:curator.hang]]")))["calls"])


# Embeddings, information, refusals


async def test_embeddings_are_real_and_know_their_prefixes(server: OfflineModel) -> None:
    texts = ["commuter backpack with a laptop compartment", "roasted almonds, salted"]
    async with server.client() as client:
        passages = await client.embeddings.create(model="e", input=texts, extra_body={"input_type": "passage"})
        query = await client.embeddings.create(model="e", input="通勤双肩包")
        floats = await client.embeddings.create(model="e", input="通勤双肩包", encoding_format="float")
    backpack, almonds = (np.array(item.embedding) for item in passages.data)
    sought = np.array(query.data[0].embedding)
    assert sought.shape == (384,)
    assert np.linalg.norm(sought) == pytest.approx(1.0, abs=1e-4)
    assert sought @ backpack > sought @ almonds
    assert floats.data[0].embedding == pytest.approx(query.data[0].embedding)
    assert query.usage.prompt_tokens > 0


async def test_many_texts_do_not_hold_up_a_chat(server: OfflineModel) -> None:
    async with server.client() as client:
        many = asyncio.create_task(client.embeddings.create(model="e", input=["通勤双肩包 防水"] * 200))
        await stream(server, chat("你好"))
        assert not many.done()
        assert len((await many).data) == 200


async def test_information_routes(server: OfflineModel) -> None:
    async with server.client() as client:
        assert "offline-main" in [listed.id async for listed in await client.models.list()]
    async with server.http() as http:
        assert (await http.get("/healthz")).status_code == 200
        missing = await http.get("/v1/nothing")
    assert missing.status_code == 404
    assert set(missing.json()["error"]) >= {"message", "type", "code"}


CALL = {"id": "c1", "type": "function", "function": {"name": "item_search", "arguments": "{}"}}


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'{"model": "m"}',
        b'{"model": "m", "messages": []}',
        b'{"model": "m", "messages": [{"role": "wizard", "content": "x"}]}',
        b'{"model": "m", "messages": [{"role": "user", "content": "\\ud800"}]}',
        b'{"model": "m", "n": 2, "messages": [{"role": "user", "content": "x"}]}',
        json.dumps({"model": "m", "messages": chat("[[offline:typo]]")}).encode(),
        json.dumps({"model": "m", "messages": [{"role": "assistant", "tool_calls": [CALL]}]}).encode(),
        json.dumps({"model": "m", "messages": [{"role": "tool", "tool_call_id": "c1", "content": "x"}]}).encode(),
        json.dumps(
            {
                "model": "m",
                "messages": [
                    {"role": "assistant", "tool_calls": [CALL, CALL]},
                    {"role": "tool", "tool_call_id": "c1", "content": "x"},
                ],
            }
        ).encode(),
    ],
)
async def test_what_no_provider_accepts_is_refused_with_400(server: OfflineModel, body: bytes) -> None:
    async with server.http() as http:
        refused = await http.post("/v1/chat/completions", content=body)
    assert refused.status_code == 400
    error = refused.json()["error"]
    assert error["message"]
    assert error["type"] == "invalid_request_error"
    assert "code" in error


async def test_bad_embedding_requests_are_refused(server: OfflineModel) -> None:
    async with server.http() as http:
        for body in (
            {"model": "e", "input": []},
            {"model": "e", "input": ""},
            {"model": "e", "input": [1]},
            {"input": "x"},
        ):
            assert (await http.post("/v1/embeddings", json=body)).status_code == 400
        huge = await http.post("/v1/embeddings", content=b"x" * (9 * 1024 * 1024))
    assert huge.status_code == 413


async def test_no_text_reaches_the_log(server: OfflineModel) -> None:
    secret = "折耳根保险箱"
    await stream(server, chat(f"我对{secret}过敏，找零食", f"- [context] note: {secret}"))
    await curated(server, f"我对{secret}过敏")
    async with server.client() as client:
        await client.embeddings.create(model="e", input=secret)
    async with server.http() as http:
        await http.post("/v1/chat/completions", json={"model": "m", "messages": secret})
    await wait_for(lambda: b"embeddings.answered" in server.log.read_bytes(), "the log is written")
    log = server.log.read_text()
    assert "chat.answered" in log
    assert "request.refused" in log
    assert secret not in log
    assert "\\u6298" not in log
    assert "Traceback" not in log
