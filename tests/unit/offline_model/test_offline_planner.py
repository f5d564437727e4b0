"""The planner: what it reads in a turn's words, in the form the schema asks for."""

import json
from typing import Any

import pytest

from offline_model.chat.requests import ChatRequest
from offline_model.playing.casting import part_in
from offline_model.playing.planner import planned
from offline_model.playing.structured import filled_value

DOMAINS = ("audio", "bags_luggage", "books_gifts", "kitchenware", "snacks_food", "travel_accessories")
WORDS = {"type": "array", "items": {"type": "string"}, "maxItems": 12}
TEXT = {"type": ["string", "null"]}
FIELDS = {
    "intent": {"type": "string", "enum": ["product_search", "purchase_research", "bundle", "memory", "chat"]},
    "domain": {"type": ["string", "null"], "enum": [*DOMAINS, None]},
    "sub_type": TEXT,
    "destination": TEXT,
    "budget": {"type": ["number", "null"]},
    "currency": TEXT,
    "must": WORDS,
    "exclude": WORDS,
    "penalty": WORDS,
    "retract": WORDS,
    "gift": {"type": "boolean"},
    "missing": WORDS,
}
SCHEMA = {"type": "object", "properties": FIELDS, "required": list(FIELDS), "additionalProperties": False}


def request(words: str, *more: dict[str, str], recent: str = "（这是第一轮）", schema: Any = SCHEMA) -> ChatRequest:
    content = f"<recent_conversation>\n{recent}\n</recent_conversation>\n<user_message>\n{words}\n</user_message>"
    return ChatRequest.model_validate(
        {
            "model": "offline-fast",
            "messages": [{"role": "system", "content": "填写计划"}, {"role": "user", "content": content}, *more],
            "response_format": {"type": "json_schema", "json_schema": {"name": "turn_plan", "schema": schema}},
        }
    )


def answered(asked: ChatRequest) -> str:
    part = part_in(asked)
    assert part.name == "planner"
    return part.play().text


def plan(words: str, **changes: Any) -> dict[str, Any]:
    """The fields that say something."""
    whole: dict[str, Any] = json.loads(answered(request(words, **changes)))
    assert list(whole) == list(FIELDS)
    return {name: value for name, value in whole.items() if value not in (None, [], False)}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (
            "我对坚果过敏，东西都寄德国。想找一个通勤双肩包，500 元以内",
            {
                "intent": "product_search",
                "domain": "bags_luggage",
                "sub_type": "双肩包",
                "destination": "DE",
                "budget": 500.0,
                "currency": "CNY",
                "exclude": ["坚果"],
            },
        ),
        (
            "find me a waterproof backpack under $50, ideally not leather, shipped to France",
            {
                "intent": "product_search",
                "domain": "bags_luggage",
                "sub_type": "backpack",
                "destination": "FR",
                "budget": 50.0,
                "currency": "USD",
                "must": ["waterproof"],
                "penalty": ["leather"],
            },
        ),
        (
            "送我妈一个生日礼物，必须无香，最好不要太花",
            {
                "intent": "product_search",
                "domain": "books_gifts",
                "sub_type": "礼物",
                "must": ["无香"],
                "penalty": ["花"],
                "gift": True,
                "missing": ["预算"],
            },
        ),
        (
            "帮我配一套旅行套装：颈枕、眼罩和行李牌",
            {
                "intent": "bundle",
                "domain": "travel_accessories",
                "sub_type": "旅行套装",
                "missing": ["预算"],
            },
        ),
        (
            "对比一下降噪耳机，2000 元以内",
            {
                "intent": "purchase_research",
                "domain": "audio",
                "sub_type": "降噪耳机",
                "budget": 2000.0,
                "currency": "CNY",
            },
        ),
        ("以后都不要塑料的", {"intent": "memory", "exclude": ["塑料"]}),
        ("不要首饰，换一批", {"intent": "product_search", "exclude": ["首饰"], "missing": ["品类"]}),
        (
            "想找一个双肩包，不要黑色，不要真皮",
            {"intent": "product_search", "domain": "bags_luggage", "sub_type": "双肩包", "exclude": ["真皮", "黑色"]},
        ),
        ("你好", {"intent": "chat"}),
        ("把今天选的总结一下", {"intent": "chat"}),
        ("就要第二款", {"intent": "chat"}),
    ],
)
def test_the_words_fill_the_plan(words: str, expected: dict[str, Any]) -> None:
    assert plan(words) == expected


@pytest.mark.parametrize(
    ("words", "taken_back"),
    [
        ("不用防水了", ["防水"]),
        ("塑料的也可以了", ["塑料"]),
        ("预算不限了", ["预算"]),
        ("颜色随意", ["颜色"]),
        ("it doesn't have to be waterproof any more", ["waterproof"]),
        ("leather is fine now", ["leather"]),
    ],
)
def test_what_is_taken_back_is_no_demand(words: str, taken_back: list[str]) -> None:
    found = planned(words)
    assert (found["retract"], found["must"], found["exclude"]) == (taken_back, [], [])


@pytest.mark.parametrize(
    ("words", "intent"),
    [
        ("我的订单到哪了", "order_care"),
        ("where is my package", "order_care"),
        ("寄到德国要交多少关税", "landed_price"),
        ("找一下这张图里的包", "image_search"),
        ("耳机坏了怎么办", "device_fault"),
        ("这个锅怎么清洗", "usage_question"),
        ("给净水壶找替换滤芯", "accessory"),
        ("put together a camping kit", "bundle"),
        ("which one is better for travel", "purchase_research"),
        ("耳机坏了，想买一副新的", "product_search"),
    ],
)
def test_intents_of_the_closed_list(words: str, intent: str) -> None:
    assert planned(words)["intent"] == intent


def test_a_refinement_is_about_what_was_spoken_of_last_and_takes_nothing_else_from_it() -> None:
    recent = "用户：找双肩包，必须防水\n助手：好\n用户：再找一个颈枕，不要乳胶，100 元以内\n助手：为你找到降噪耳机"
    assert plan("再便宜一点的", recent=recent) == {
        "intent": "product_search",
        "domain": "travel_accessories",
        "sub_type": "颈枕",
    }
    assert plan("找一瓶牛奶", recent=recent)["intent"] == "product_search"
    assert "domain" not in plan("找一瓶牛奶", recent=recent)


def test_only_what_the_schema_accepts_is_filled_in() -> None:
    known = {"intent": "order_care", "budget": 12.5, "gift": True, "must": ["防水"], "domain": "garden"}
    narrow = {
        "type": "object",
        "properties": {
            "intent": {"enum": ["browse", "buy"]},
            "budget": {"type": "integer"},
            "gift": {"type": "boolean"},
            "must": {"$ref": "#/$defs/words"},
            "domain": {"anyOf": [{"enum": ["audio"]}, {"type": "null"}]},
            "unknown": {"type": "string"},
        },
        "required": ["intent", "budget", "domain", "unknown"],
        "$defs": {"words": {"type": "array"}},
    }
    assert filled_value(narrow, known) == {
        "intent": "browse",
        "budget": 0,
        "gift": True,
        "must": ["防水"],
        "domain": None,
        "unknown": "",
    }


# Directives


def test_a_malformed_plan_and_its_repair() -> None:
    reproof = (
        {"role": "assistant", "content": '{"in'},
        {"role": "user", "content": "<repair_request>\nJSON\n</repair_request>"},
    )
    for words, well_formed in (
        ("找双肩包 [[offline:planner.malformed]]", [False, False]),
        ("找双肩包 [[offline:planner.malformed*1]]", [False, True]),
        ("找双肩包 [[offline:malformed_arguments]]", [True, True]),
    ):
        answers = [answered(request(words)), answered(request(words, *reproof))]
        assert [_is_json(answer) for answer in answers] == well_formed


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def test_the_planner_obeys_its_own_directives_only() -> None:
    asked = request("你好 [[offline:hang]] [[offline:curator.http=500]] [[offline:planner.http=503*1]]")
    assert [(directive.name, directive.argument) for directive in part_in(asked).directives] == [("http", "503")]
    assert answered(request("找包 [[offline:planner.text=没有计划]]")) == "没有计划"


def test_directives_of_earlier_turns_are_not_read() -> None:
    asked = request("找双肩包", recent="用户：你好 [[offline:planner.hang]]")
    assert not part_in(asked).directives


def test_a_bad_plan_is_json_that_the_schema_refuses() -> None:
    reproof = (
        {"role": "assistant", "content": "{}"},
        {"role": "user", "content": "<repair_request>\nintent\n</repair_request>"},
    )
    for argument, good in (("1", [False, True]), ("always", [False, False])):
        words = f"找双肩包 [[offline:bad_plan={argument}]]"
        plans = [json.loads(answered(request(words))), json.loads(answered(request(words, *reproof)))]
        assert [plan["intent"] == "product_search" for plan in plans] == good
