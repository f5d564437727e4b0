"""The main model over several steps and turns: skills, searches that follow each other, choices, a recap."""

import pytest
from tests.support.offline_session import TOOLS, Session, Steps, tools_of

SEARCH_TURN = [["Skill"], ["item_search"], ["shopping_summary"]]


# Skills


@pytest.mark.parametrize(
    ("words", "skill"),
    [
        ("想找一个通勤双肩包", "search-discovery"),
        ("find me a backpack", "search-discovery"),
        ("对比一下降噪耳机", "purchase-research"),
        ("帮我配一套旅行套装", "bundle-planning"),
        ("我的订单到哪了", "order-care"),
        ("寄到德国要交多少关税", "cross-border-duty"),
        ("记住我喜欢黑色", "memory-personalization"),
        ("你还记得我对什么过敏吗", "memory-personalization"),
        ("找一下这张图里的包", "image-shopping"),
    ],
)
def test_the_fitting_skill_is_read_first_and_alone(words: str, skill: str) -> None:
    assert Session().turn(words)[0] == [("Skill", skill)]


@pytest.mark.parametrize("words", ["你好", "谢谢", "今天天气怎么样", "这个锅怎么清洗"])
def test_talk_needs_no_skill(words: str) -> None:
    assert tools_of(Session().turn(words)) == [["text"]]


def test_a_skill_is_read_once_per_session() -> None:
    session = Session()
    assert tools_of(session.turn("想找一个通勤双肩包")) == SEARCH_TURN
    assert tools_of(session.turn("再找一个颈枕")) == SEARCH_TURN[1:]
    assert session.turn("对比一下降噪耳机")[0] == [("Skill", "purchase-research")]


def test_a_skill_whose_body_is_gone_is_read_again() -> None:
    session = Session()
    session.turn("想找一个通勤双肩包")
    del session.messages[1:]
    assert tools_of(session.turn("再找一个颈枕")) == SEARCH_TURN
    session.messages[:] = [session.messages[0], *session.messages[2:4]]  # the call and the body were kept
    assert tools_of(session.turn("再找一个眼罩")) == SEARCH_TURN[1:]


def test_without_the_tool_or_the_catalogue_no_skill_is_read() -> None:
    assert tools_of(Session(tools=TOOLS[1:]).turn("找双肩包")) == SEARCH_TURN[1:]
    assert tools_of(Session(catalogue="").turn("找双肩包")) == SEARCH_TURN[1:]


@pytest.mark.parametrize("directive", ["skip_skill", 'call=recall_memories|{"topic":""}', "save=pet|猫|context"])
def test_a_turn_that_is_steered_reads_no_skill(directive: str) -> None:
    assert "Skill" not in str(Session().turn(f"找双肩包 [[offline:{directive}]]"))


def test_blocks_of_the_system_are_not_the_users_words() -> None:
    strategies = "<strategies>\n送礼：对比两款，收尾前看看步数\n</strategies>"
    plan = '<turn_plan>\n{"intent":"purchase_research"}\n</turn_plan>'
    assert tools_of(Session().turn("找双肩包", strategies, plan)) == SEARCH_TURN


def test_a_notice_to_wrap_up_is_obeyed() -> None:
    notice = "<system_notice>\n步数快用完了，用手上的结果收尾\n</system_notice>"
    assert tools_of(Session().turn("找双肩包", notice)) == [["text"]]


# Searches one after the other


def test_a_comparison_searches_twice_and_says_what_differs() -> None:
    steps = Session().turn("对比一下降噪耳机，要轻便的")
    assert steps[:3] == [
        [("Skill", "purchase-research")],
        [("item_search", "降噪耳机")],
        [("item_search", "降噪耳机 轻便")],
    ]
    ((name, summary),) = steps[3]
    assert name == "shopping_summary"
    assert "对比：降噪耳机 1 号 最便宜，比 降噪耳机 3 号 少 20.00 CNY；材质：棉。" in summary["reply"]


@pytest.mark.parametrize(
    ("words", "queries"),
    [
        ("找降噪耳机，多看几款", ["降噪耳机", "noise-cancelling headphones"]),
        ("compare headphones", ["headphones", "耳机"]),
        ("找一个扳手，多看几款", ["扳手", "扳手 高评价"]),
        ("找一个扳手 [[offline:two_searches]]", ["扳手", "扳手 高评价"]),
        ("find a wrench, look around", ["wrench", "wrench top rated"]),
    ],
)
def test_a_closer_look_is_a_second_search_in_other_words(words: str, queries: list[str]) -> None:
    steps = Session().turn(words)
    assert [asked for step in steps for name, asked in step if name == "item_search"] == queries
    assert len(steps) == 4


def test_what_is_compared_may_have_been_shown_before() -> None:
    session = Session()
    session.turn("想找一个通勤双肩包，500 元以内")
    steps = session.turn("对比一下哪个更适合出差")
    assert steps[1] == [("item_search", "通勤双肩包")]


def test_a_set_is_searched_side_by_side_within_its_budget() -> None:
    session = Session()
    steps = session.turn("帮我配一套旅行套装：眼罩、洗漱包、转换插头和收纳袋，预算 400 元")
    assert steps[1] == [("item_search", query) for query in ("眼罩", "洗漱包", "转换插头", "收纳袋")]
    assert [search["price_max"] for search in session.made("item_search")] == [100] * 4
    ((_, summary),) = steps[2]
    assert [item["item_id"] for item in summary["items"]] == ["眼罩-1", "洗漱包-1", "转换插头-1", "收纳袋-1"]
    assert "合计 40.00 CNY" in summary["reply"]


def test_a_set_without_a_list_has_what_such_sets_have() -> None:
    steps = Session().turn("put together a camping kit under $300")
    assert steps[1] == [("item_search", query) for query in ("tent", "sleeping bag", "headlamp", "folding bottle")]


@pytest.mark.parametrize(("budget", "things"), [(500, 3), (800, 3), (1, 3), (5, 4)])
def test_the_shares_of_a_set_never_add_up_to_more_than_its_budget(budget: int, things: int) -> None:
    session = Session()
    named = "、".join(["眼罩", "洗漱包", "颈枕", "收纳袋"][:things])
    session.turn(f"帮我配一套旅行套装：{named}，总共 {budget} 元以内")
    shares = [search["price_max"] for search in session.made("item_search")]
    assert len(shares) == things
    assert all(share > 0 for share in shares)
    assert sum(shares) <= budget


def test_an_unknown_tool_is_called_once() -> None:
    steps = Session().turn("找双肩包 [[offline:bad_tool]] [[offline:skip_skill]]")
    assert tools_of(steps) == [["product_search"], ["item_search"], ["shopping_summary"]]
    assert Session().turn("找双肩包 [[offline:bad_tool=item_find]]")[0][0][0] == "item_find"


# Over several turns


def test_a_refinement_after_other_talk_goes_on_from_the_last_search() -> None:
    session = Session()
    session.turn("想找一个通勤双肩包，500 元以内")
    session.turn("再找一个颈枕，100 元以内")
    session.turn("谢谢")
    assert session.turn("再便宜一点的")[0] == [("item_search", "颈枕")]


def test_a_choice_is_taken_from_the_list_shown_last() -> None:
    session = Session()
    session.turn("想找一个通勤双肩包")
    session.turn("再找一个颈枕")
    assert "颈枕 2 号，20.00 CNY" in str(session.turn("就要第二款"))
    assert 'All right: "颈枕 3 号' in str(session.turn("I'll take the third one"))


def test_the_recap_has_what_was_chosen_and_else_what_came_first() -> None:
    session = Session()
    assert "还没有选过" in str(session.turn("把今天选的总结一下"))
    for words in ("想找一个通勤双肩包", "就要第三款", "谢谢", "再找一个颈枕"):
        session.turn(words)
    ((_, text),) = session.turn("把今天选的总结一下")[0]
    assert text.splitlines()[1:] == ["1. 通勤双肩包 3 号，30.00 CNY", "2. 颈枕 1 号，10.00 CNY"]


@pytest.mark.parametrize("words", ["我的订单到哪了", "寄到德国要交多少关税", "耳机坏了怎么办", "这个锅怎么清洗"])
def test_what_there_is_no_tool_for_is_said_without_a_search(words: str) -> None:
    session = Session(catalogue="")
    assert tools_of(session.turn(words)) == [["text"]]


# The continuation summary

REQUEST = {"role": "user", "content": "<compaction_request>\n把对话写成 <summary>\n</compaction_request>"}


def long_session() -> Session:
    session = Session()
    memory = "<user_long_term_memory>\n- [constraint] nut_allergy: 对坚果过敏\n</user_long_term_memory>"
    session.turn("想找一个通勤双肩包，必须防水，不要皮革，500 元以内", memory)
    session.turn("就要第二款")
    session.turn("再找一个颈枕", memory)
    return session


def test_the_summary_keeps_needs_conditions_items_and_decisions() -> None:
    text = long_session().asked(REQUEST).text
    assert text.startswith("<summary>\n")
    assert text.endswith("\n</summary>")
    lines = text.splitlines()
    for line in (
        "- 用户说：想找一个通勤双肩包，必须防水，不要皮革，500 元以内",
        "- 用户说：再找一个颈枕",
        "- 不要皮革",
        "- 必须防水",
        "- 预算最多 500 CNY",
        "- 对坚果过敏",
        "- 通勤双肩包 1 号，10.00 CNY",
        "- 颈枕 3 号，30.00 CNY",
        "最近一次搜索 (last search)：颈枕",
    ):
        assert line in lines
    decided = lines[lines.index("已有的决定 (decisions)：") + 1 :]
    assert decided[:2] == ["- 通勤双肩包 2 号，20.00 CNY", "- 颈枕 1 号，10.00 CNY"]
    assert not long_session().asked(REQUEST).calls


def compacted(session: Session) -> Session:
    text = session.asked(REQUEST).text.removeprefix("<summary>").removesuffix("</summary>")
    session.messages[1:] = [{"role": "user", "content": f"<session_summary>\n此前的摘要：\n{text}\n</session_summary>"}]
    return session


def test_the_session_goes_on_from_its_summary() -> None:
    session = compacted(long_session())
    steps = session.turn("再便宜一点的")
    assert tools_of(steps) == SEARCH_TURN
    assert steps[1] == [("item_search", "颈枕")]
    ((_, text),) = session.turn("总结一下")[0]
    assert text.splitlines()[1:] == ["1. 通勤双肩包 2 号，20.00 CNY", "2. 颈枕 1 号，10.00 CNY"]


def test_a_second_summary_takes_up_the_first_without_nesting_it() -> None:
    session = compacted(long_session())
    first = session.messages[1]["content"]
    session.turn("看看降噪耳机，不要头戴的")
    second = session.asked(REQUEST).text
    for line in (line for line in first.splitlines() if line.startswith("- ")):
        assert second.count(f"\n{line}\n") == first.count(f"\n{line}\n"), line
    assert "- 用户说：看看降噪耳机，不要头戴的" in second
    assert "(last search)：降噪耳机" in second
    assert second.count("会话经过") == 1


def test_what_was_searched_last_outlives_two_summaries() -> None:
    session = compacted(long_session())
    session.turn("谢谢")
    assert compacted(session).turn("再便宜一点的")[1] == [("item_search", "颈枕")]


def test_a_summary_is_bounded() -> None:
    session = Session(catalogue="")
    for number in range(60):
        session.messages += [
            {"role": "user", "content": f"<user_message>\n第 {number} 句：{'很长的话' * 200}\n</user_message>"},
            {"role": "assistant", "content": "好"},
        ]
    text = session.asked(REQUEST).text
    assert "第 59 句" in text
    assert "第 0 句" not in text
    assert len(text) < 10_000


def test_the_summary_has_directives_of_its_own() -> None:
    session = long_session()
    session.turn("你好 [[offline:summary.malformed]] [[offline:planner.http=500]]")
    assert "<summary>" not in session.asked(REQUEST).text
    session.turn("谢谢 [[offline:summary.text=只有这些]]")
    assert session.asked(REQUEST).text == "只有这些"
    session.turn("你好")
    assert "<summary>" in session.asked(REQUEST).text


# How many


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("想找一个通勤双肩包，500 元以内，列 16 款", 16),
        ("find me a backpack and list 12", 12),
        ("想找一个 16 寸电脑用的双肩包", None),
    ],
)
def test_a_search_lists_as_many_as_the_user_says(words: str, limit: int | None) -> None:
    session = Session()
    session.turn(words)
    searches = session.made("item_search")
    assert [search.get("limit") for search in searches] == [limit]
    assert "列" not in searches[0]["query"]


# Others, and none of a kind


def test_another_batch_is_of_what_was_not_shown_yet() -> None:
    found = {"items": [{"item_id": f"包-{n}", "title": f"双肩包 {n} 号", "price": "9.00"} for n in range(1, 9)]}
    session = Session(results={"item_search": found})
    shown = [shown_in(session.turn("想找一个双肩包，500 元以内"))]
    for words in ("换一批", "还有别的吗"):
        shown.append(shown_in(session.turn(words)))
    assert shown == [[f"包-{n}" for n in range(1, 6)], [f"包-{n}" for n in range(6, 9)], []]
    assert [search["query"] for search in session.made("item_search")] == ["双肩包"] * 3


def shown_in(steps: Steps) -> list[str]:
    ((name, told),) = steps[-1]
    return [item["item_id"] for item in told["items"]] if name == "shopping_summary" else []


def test_a_kind_that_is_refused_is_excluded_and_never_sought() -> None:
    session = Session()
    session.turn("想买一份生日礼物送给妈妈，300 元以内")
    session.turn("不要首饰，不要红色，换一批")
    before, search = session.made("item_search")
    assert search["query"] == before["query"]
    assert {"首饰", "jewellery", "红色", "red"} <= set(search["exclude"])


def test_a_part_of_a_set_that_was_not_found_is_named_and_nothing_else_put_in_its_place() -> None:
    trousers = {"items": [{"item_id": "men-1", "title": "弹力西裤", "price": "229.00", "currency": "CNY"}]}
    mugs = {"items": [{"item_id": "mug-1", "title": "粗陶马克杯", "price": "68.00", "currency": "CNY"}]}
    session = Session(results={"item_search": lambda query: mugs if query["query"] == "水杯" else trousers})
    steps = session.turn("帮我配一套出差套装：水杯、转换插头和眼罩，预算 900 元")
    ((_, summary),) = steps[-1]
    assert [item["item_id"] for item in summary["items"]] == ["mug-1"]
    assert "没有找到合适的转换插头、眼罩" in summary["reply"]


@pytest.mark.parametrize("words", ["🙂", "？？", "..."])
def test_what_has_no_words_is_not_searched_for(words: str) -> None:
    assert tools_of(Session().turn(words)) == [["text"]]


@pytest.mark.parametrize(
    ("first", "then"), [("backpack under 100 USD", "Cheaper, please"), ("背包，100 美元以内", "再便宜一点")]
)
def test_cheaper_is_below_the_bound_before(first: str, then: str) -> None:
    session = Session()
    session.turn(first)
    session.turn(then)
    assert [search["price_max"] for search in session.made("item_search")] == [100, 70]


@pytest.mark.parametrize(
    ("first", "then"), [("背包，100 美元以内", "预算不限了"), ("backpack under 100 USD", "forget the budget")]
)
def test_a_budget_that_is_lifted_is_gone_and_the_thing_stays(first: str, then: str) -> None:
    session = Session()
    session.turn(first)
    session.turn(then)
    before, after = session.made("item_search")
    assert (after["query"], after.get("price_max")) == (before["query"], None)


def test_a_cheaper_one_is_no_other_thing() -> None:
    session = Session()
    session.turn("Find me running shoes under 100 USD")
    session.turn("What about a cheaper one?")
    before, after = session.made("item_search")
    assert (after["query"], after["price_max"]) == (before["query"], 70)


def test_a_number_of_bags_is_no_bag() -> None:
    tea = {"items": [{"item_id": "tea-1", "title": "洋甘菊茶 20袋", "price": "5.40", "currency": "CNY"}]}
    lamp = {"items": [{"item_id": "lamp-1", "title": "充电头灯", "price": "34.90", "currency": "CNY"}]}
    session = Session(results={"item_search": lambda query: lamp if query["query"] == "头灯" else tea})
    ((_, summary),) = session.turn("帮我配一套露营装备：睡袋、头灯和帐篷，预算 900 元")[-1]
    assert [item["item_id"] for item in summary["items"]] == ["lamp-1"]
