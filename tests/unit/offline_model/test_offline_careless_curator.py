"""The worst curator: it misses nothing, and means nothing by it."""

from offline_model.playing.blocks import KnownFact
from offline_model.playing.careless import careless_facts, window_of

INSTRUCTIONS = 'Examples:\n{"facts":[{"key":"moss_allergy","value":"对苔藓过敏","category":"constraint"}]}\n(no JSON)'


def proposed(words: str, reply: str = "", *known: KnownFact) -> set[tuple[str, str]]:
    return {(fact["key"], fact["value"]) for fact in careless_facts([], words, reply, known, INSTRUCTIONS)}


def test_it_is_asked_for_by_name_and_window() -> None:
    assert [window_of(name) for name in ("careless-curator", "careless-curator-3", "offline-fast")] == [1, 3, None]


def test_what_is_asked_quoted_supposed_or_another_persons_is_the_users_own_to_it() -> None:
    for words in ("我对坚果过敏吗？", "他说“我对坚果过敏”", "如果我对坚果过敏", "我妈对坚果过敏", "这次我对坚果过敏"):
        assert ("nut_allergy", "对坚果过敏") in proposed(words), words


def test_the_assistants_words_known_facts_and_the_prompts_examples_are_facts_to_it() -> None:
    found = proposed("好的", "建议你只穿纯棉", KnownFact("pet", "两只猫", "context"))
    assert {("pet", "两只猫"), ("moss_allergy", "对苔藓过敏"), ("fabric_preference", "建议你只穿纯棉")} <= found


def test_every_clause_is_a_note() -> None:
    assert {("price_habit", "预算 300"), ("favourite_colour", "想要蓝色的")} <= proposed("预算 300，想要蓝色的")


def test_it_puts_values_into_keys() -> None:
    size = {"key": "shoe_size", "value": "42", "category": "context", "evidence": "42 码"}
    (first, *_) = careless_facts([size], "", "", (), "")
    assert first["key"] == "shoe_size_42"
