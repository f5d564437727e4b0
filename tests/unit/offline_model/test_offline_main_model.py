"""The main model's decisions, step by step."""

import json
from dataclasses import replace
from typing import Any

import pytest

from offline_model.chat.requests import ChatMessage, ChatRequest
from offline_model.directives import DirectiveName
from offline_model.playing.blocks import KnownFact
from offline_model.playing.conversation import MadeCall
from offline_model.playing.main import play_main
from offline_model.playing.scene import Scene, read_scene

TOOLS = frozenset({"item_search", "save_memory", "recall_memories", "shopping_summary"})
NUT_ALLERGY = KnownFact("nut_allergy", "对坚果过敏", "constraint")
SHIP_TO = KnownFact("default_ship_to", "德国", "context")
SNACKS = [
    {"item_id": "snack-001", "title": "海苔脆片", "price": "19.90", "currency": "CNY", "ships_to": ["DE", "FR"]},
    {"item_id": "snack-002", "title": "每日坚果", "price": "59.00", "currency": "CNY", "ships_to": ["DE"]},
    {"item_id": "snack-003", "title": "米饼", "price": "15.00", "currency": "CNY", "ships_to": ["FR"]},
    {"item_id": "snack-004", "title": "能量棒", "price": "9.00", "currency": "CNY", "allergens": ["nuts", "杏仁"]},
    {"item_id": "snack-005", "title": "水果干", "price": "22.00", "currency": "CNY", "ships_to": ["DE"]},
]


def scene(words: str, **changes: Any) -> Scene:
    return replace(Scene(words=words, tools=TOOLS), **changes)


def searched(items: list[dict[str, Any]]) -> MadeCall:
    body = json.dumps({"items": items, "excluded": 0}, ensure_ascii=False)
    return MadeCall(
        "item_search", {"query": "x"}, f'<external_content source="item_search">\n{body}\n</external_content>'
    )


def saved(key: str, message: str) -> MadeCall:
    return MadeCall("save_memory", {"key": key, "value": "v"}, json.dumps({"saved": True, "message": message}))


def only_call(made_by: Scene, name: str) -> dict[str, Any]:
    (call,) = play_main(made_by).calls
    assert call.name == name
    arguments: dict[str, Any] = json.loads(call.arguments)
    return arguments


def test_the_words_of_the_turn_become_search_arguments() -> None:
    arguments = only_call(scene("我对坚果过敏，东西都寄德国。想找一个通勤双肩包，500 元以内"), "item_search")
    assert {"坚果", "nut", "花生"} <= set(arguments.pop("exclude"))
    assert arguments == {"query": "通勤双肩包", "price_max": 500, "currency": "CNY", "ships_to": "DE"}


def test_remembered_facts_become_search_arguments() -> None:
    arguments = only_call(scene("推荐几样办公室零食", facts=(NUT_ALLERGY, SHIP_TO)), "item_search")
    assert {"坚果", "nut", "杏仁", "almond"} <= set(arguments["exclude"])
    assert (arguments["query"], arguments["ships_to"]) == ("办公室零食", "DE")


def test_a_search_takes_fifty_words_and_no_constraint_is_left_out_whole() -> None:
    values = {"nut_allergy": "对坚果过敏", "material_avoid": "不要塑料", "diet": "我吃素", "milk_allergy": "对牛奶过敏"}
    facts = tuple(KnownFact(key, value, "constraint") for key, value in values.items())
    arguments = only_call(scene("推荐几样零食", facts=facts), "item_search")
    assert len(arguments["exclude"]) == 50
    assert {"坚果", "nut", "塑料", "plastic", "牛肉", "pork", "牛奶", "milk"} <= set(arguments["exclude"])


def test_a_preference_excludes_nothing() -> None:
    liked = KnownFact("snack_preference", "喜欢坚果", "preference")
    assert "exclude" not in only_call(scene("推荐几样办公室零食", facts=(liked,)), "item_search")


def test_this_turns_destination_goes_before_the_remembered_one() -> None:
    assert only_call(scene("推荐几样零食，这次寄到法国", facts=(SHIP_TO,)), "item_search")["ships_to"] == "FR"


def test_platforms_of_the_turn_are_passed_on() -> None:
    arguments = only_call(scene("推荐几样零食", platforms=["taobao", "amazon"]), "item_search")
    assert arguments["platforms"] == ["taobao", "amazon"]


def test_two_things_are_searched_side_by_side() -> None:
    play = play_main(scene("想找一个双肩包和一个颈枕"))
    assert [json.loads(call.arguments)["query"] for call in play.calls] == ["双肩包", "颈枕"]


def test_the_summary_lists_only_what_fits() -> None:
    arguments = only_call(
        scene("推荐几样办公室零食", facts=(NUT_ALLERGY, SHIP_TO), made=(searched(SNACKS),)), "shopping_summary"
    )
    assert [item["item_id"] for item in arguments["items"]] == ["snack-001", "snack-005"]
    assert "海苔脆片" in arguments["reply"]
    assert "对坚果过敏" in arguments["reply"]
    assert "坚果" not in arguments["reply"].replace("对坚果过敏", "")


def test_a_title_that_denies_a_thing_does_not_contain_it() -> None:
    items = [
        {"item_id": "snack-101", "title": "Nut-free 5-minute oat bar", "allergens": ["oats"]},
        {"item_id": "snack-102", "title": "无坚果燕麦棒", "allergens": []},
        {"item_id": "snack-103", "title": "无坚果燕麦棒", "allergens": ["nuts"]},
    ]
    arguments = only_call(scene("推荐零食", facts=(NUT_ALLERGY,), made=(searched(items),)), "shopping_summary")
    assert [item["item_id"] for item in arguments["items"]] == ["snack-101", "snack-102"]


def test_the_reply_is_in_the_users_language() -> None:
    items = [{"item_id": "bag-001", "title": "Commuter backpack", "price": "59.00", "currency": "USD"}]
    arguments = only_call(scene("find me a commuter backpack", made=(searched(items),)), "shopping_summary")
    assert arguments["reply"].startswith("Here is what I found")


def test_nothing_found_is_said_plainly() -> None:
    play = play_main(scene("推荐几样办公室零食", made=(searched([]),)))
    assert not play.calls
    assert "没有找到" in play.text


def test_a_failing_search_is_tried_again_and_then_given_up() -> None:
    failed = MadeCall("item_search", {"query": "x"}, '{"error": "unavailable"}')
    assert only_call(scene("推荐零食", made=(failed,)), "item_search")
    assert not play_main(scene("推荐零食", made=(failed,) * 3)).calls


def test_remember_comes_first_then_the_search_then_the_receipt_in_the_reply() -> None:
    words = "记住：我不要塑料的东西，推荐几样厨房用品"
    arguments = only_call(scene(words), "save_memory")
    assert arguments == {"key": "material_avoid", "value": "不要塑料", "category": "constraint"}
    receipt = saved("material_avoid", "记住了 不要塑料")
    assert "塑料" in only_call(scene(words, made=(receipt,)), "item_search")["exclude"]
    pan = {"item_id": "kitchen-001", "title": "铸铁锅", "materials": ["铸铁"]}
    summary = only_call(scene(words, made=(receipt, searched([pan]))), "shopping_summary")
    assert summary["reply"].startswith("记住了 不要塑料")


def test_a_receipt_is_told_in_the_users_language() -> None:
    words = "Remember that I don't want plastic. Find me a kettle"
    kettle = {"item_id": "kit-001", "title": "Steel kettle", "materials": ["steel"]}
    for told, receipt in (
        ("Remembered: no plastic", saved("material_avoid", "记住了 no plastic")),
        ("not been kept", MadeCall("save_memory", {"key": "material_avoid"}, '{"saved":false,"message":"这次没存"}')),
    ):
        summary = only_call(scene(words, made=(receipt, searched([kettle]))), "shopping_summary")
        assert told in summary["reply"].splitlines()[0]
        assert not any("一" <= letter <= "龥" for letter in summary["reply"])


def test_a_known_key_is_used_again() -> None:
    known = KnownFact("ship_to", "德国", "context")
    arguments = only_call(scene("以后都寄法国", facts=(known,)), "save_memory")
    assert (arguments["key"], arguments["value"]) == ("ship_to", "法国")


def test_remembered_is_said_only_after_a_receipt() -> None:
    assert "记住了" not in play_main(scene("我对坚果过敏")).text
    refused = MadeCall("save_memory", {"key": "phone_number", "value": "v"}, '{"saved": false, "message": "不放账号"}')
    assert play_main(scene("记住我的手机号是 13800138000", made=(refused,))).text == "不放账号"


def test_a_number_the_user_asks_to_keep_is_put_to_the_gate() -> None:
    arguments = only_call(scene("记住我的手机号是 13800138000"), "save_memory")
    assert (arguments["key"], "13800138000" in arguments["value"]) == ("phone_number", True)


def test_what_is_known_is_recalled_and_told() -> None:
    words = "你还记得我对什么过敏吗"
    assert only_call(scene(words), "recall_memories") == {"topic": "过敏"}
    recalled = MadeCall("recall_memories", {"topic": "过敏"}, "- [constraint] nut_allergy: 对坚果过敏")
    text = play_main(scene(words, made=(recalled,), facts=(NUT_ALLERGY,))).text
    assert text.count("对坚果过敏") == 1


def test_the_model_cannot_delete() -> None:
    play = play_main(scene("忘掉我的过敏"))
    assert not play.calls
    assert "偏好页" in play.text


def test_a_refinement_goes_on_from_the_last_search() -> None:
    last = MadeCall("item_search", {"query": "通勤双肩包", "price_max": 500, "currency": "CNY"}, "")
    arguments = only_call(scene("再便宜一点的", earlier=(last,)), "item_search")
    assert (arguments["query"], arguments["price_max"]) == ("通勤双肩包", 350)


def test_a_notice_to_wrap_up_ends_the_searching() -> None:
    assert play_main(scene("推荐零食", told_to_wrap_up=True)).text


@pytest.mark.parametrize("words", ["你好", "thanks!", "今天天气怎么样", "好的"])
def test_small_talk_is_answered_without_tools(words: str) -> None:
    play = play_main(scene(words))
    assert play.text
    assert not play.calls


def test_only_offered_tools_are_called() -> None:
    assert not play_main(scene("推荐零食", tools=frozenset())).calls


def conversation(*messages: dict[str, Any]) -> ChatRequest:
    return ChatRequest(model="m", messages=[ChatMessage.model_validate(message) for message in messages])


def turn(words: str, context: str = "platforms: all\nbehaviour_history: none") -> dict[str, Any]:
    content = f"<turn_context>\n{context}\n</turn_context>\n<user_message>\n{words}\n</user_message>"
    return {"role": "user", "content": content}


def memory(line: str, role: str = "system") -> dict[str, Any]:
    return {"role": role, "content": f"<user_long_term_memory>\n{line}\n</user_long_term_memory>"}


@pytest.mark.parametrize("role", ["system", "user"])
def test_the_scene_is_the_newest_turn_with_its_memory(role: str) -> None:
    read = read_scene(
        conversation(
            {"role": "system", "content": "L0"},
            turn("第一轮"),
            memory("- [constraint] old: 旧的", role),
            {"role": "assistant", "content": "好"},
            turn("推荐零食", "platforms: taobao, amazon\nbehaviour_history: none"),
            memory("- [constraint] nut_allergy: 对坚果过敏\n标 [constraint] 的条目本轮必须遵守", role),
        )
    )
    assert (read.words, read.platforms) == ("推荐零食", ["taobao", "amazon"])
    assert read.facts == (NUT_ALLERGY,)


def test_a_block_of_an_earlier_turn_binds_no_more() -> None:
    read = read_scene(
        conversation(turn("一"), memory("- [constraint] a: b"), {"role": "assistant", "content": "好"}, turn("二"))
    )
    assert read.facts == ()


def test_a_client_without_marked_words_is_understood_too() -> None:
    read = read_scene(
        conversation(
            {"role": "user", "content": "找双肩包"},
            {"role": "assistant", "content": "好"},
            {"role": "user", "content": "推荐零食"},
            memory("- [constraint] nut_allergy: 对坚果过敏", "user"),
            {"role": "user", "content": "<strategies>\n对比两款\n</strategies>"},
        )
    )
    assert (read.words, read.facts) == ("推荐零食", (NUT_ALLERGY,))
    assert [turn.said for turn in read.past] == ["找双肩包"]


def test_directives_are_read_from_the_newest_words_only() -> None:
    read = read_scene(
        conversation(
            turn("[[offline:hang]]"),
            memory("- [context] note: [[offline:cut]]"),
            {"role": "assistant", "content": "[[offline:loop]]"},
            turn("推荐零食 [[offline:slow=0.5]] [[offline:curator.hang]]"),
        )
    )
    assert [(directive.name, directive.argument) for directive in read.directives] == [(DirectiveName.SLOW, "0.5")]
    assert read.words == "推荐零食"


def test_a_directed_call_comes_first_and_once() -> None:
    words = '找一个背包 [[offline:call=recall_memories|{"topic":"包"}]] [[offline:mark=turn-1]]'
    request = ChatRequest.model_validate(
        {
            "model": "m",
            "messages": [{"role": "user", "content": f"<user_message>\n{words}\n</user_message>"}],
            "tools": [{"type": "function", "function": {"name": name, "parameters": {}}} for name in sorted(TOOLS)],
        }
    )
    first = read_scene(request)
    assert only_call(first, "recall_memories") == {"topic": "包"}
    recalled = MadeCall("recall_memories", {"topic": "包"}, '{"facts":[],"behaviour":[]}')
    assert only_call(replace(first, made=(recalled,)), "item_search")["query"] == "背包"
