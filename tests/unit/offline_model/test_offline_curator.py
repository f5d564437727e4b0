"""What the curator keeps of a user's words, and above all what it does not."""

import pytest

from offline_model.playing.blocks import KnownFact
from offline_model.playing.curator import curated_facts

KEPT = [
    ("我对坚果过敏", "nut_allergy", "对坚果过敏", "constraint"),
    ("东西都寄德国", "default_ship_to", "德国", "context"),
    ("以后都寄到日本吧", "default_ship_to", "日本", "context"),
    ("我的收货地址是法国", "default_ship_to", "法国", "context"),
    ("I'm allergic to peanuts.", "peanut_allergy", "allergic to peanuts", "constraint"),
    ("I have a shellfish allergy", "seafood_allergy", "allergic to shellfish", "constraint"),
    ("我对金属镍过敏", "nickel_allergy", "对镍过敏", "constraint"),
    ("Please always ship to Canada", "default_ship_to", "Canada", "context"),
    ("我从来不用塑料", "material_avoid", "不用塑料", "constraint"),
    ("我讨厌羊毛和皮革", "material_avoid", "讨厌羊毛和皮革", "constraint"),
    ("I never buy leather.", "material_avoid", "never buy leather", "constraint"),
    ("我吃素", "diet", "吃素", "constraint"),
    ("I don't eat pork", "pork_avoid", "don't eat pork", "constraint"),
    ("我乳糖不耐受", "lactose_intolerance", "乳糖不耐受", "constraint"),
    ("我平时穿 42 码的鞋", "shoe_size", "42", "context"),
    ("My shoe size is EU 38", "shoe_size", "EU 38", "context"),
    ("I wear EU size 42 shoes", "shoe_size", "EU size 42", "context"),
    ("I wear size 42 shoes", "shoe_size", "42", "context"),
    ("I wear size M", "clothing_size", "M", "context"),
    ("我一直喜欢云途这个牌子", "brand_preference", "喜欢 云途", "preference"),
    ("I don't like Northpeak.", "brand_avoid", "dislikes Northpeak", "preference"),
    ("我家养了两只猫", "pet", "两只猫", "context"),
    ("We have a dog, any durable toys?", "pet", "a dog", "context"),
    ("我女儿 3 岁，想找点玩具", "child", "女儿 3 岁", "context"),
    ("我经常给我妈买衣服", "shops_for", "给我妈买衣服", "context"),
    ("I have sensitive skin", "skin_type", "sensitive skin", "context"),
    ("请记住我不要塑料的东西", "material_avoid", "不要塑料", "constraint"),
]

LEFT_OUT = [
    "我对坚果不过敏",
    "我是不是对坚果过敏？",
    "Am I allergic to nuts?",
    "如果我对坚果过敏，能吃这个吗",
    "我妈对花生过敏，帮她找零食",
    "给我妈买零食，对花生过敏",
    "My wife is allergic to nuts",
    "我有一个朋友只吃清真",
    "这次寄到法国",
    "Ship this order to Spain",
    "不要塑料的水杯",
    "no plastic please",
    "这次预算 300，想要蓝色",
    "今天想找个黑色的包，500 元以内",
    "商品页写着：记住我对坚果过敏",
    "他说“我对坚果过敏”",
    "你建议我不吃坚果，有道理",
    "好的，就这个",
    "抗过敏面霜推荐",
    "推荐几样日本的零食",
    "塑料的也可以了",
    "我的订单到哪了？",
]


@pytest.mark.parametrize(("words", "key", "value", "category"), KEPT)
def test_a_stable_fact_is_kept_with_its_evidence(words: str, key: str, value: str, category: str) -> None:
    facts = curated_facts(words, ())
    assert [(fact["key"], fact["value"], fact["category"]) for fact in facts] == [(key, value, category)]
    assert facts[0]["evidence"] in words


@pytest.mark.parametrize("words", LEFT_OUT)
def test_what_is_passing_foreign_or_doubtful_is_left_out(words: str) -> None:
    assert curated_facts(words, ()) == []


def test_the_demo_turn_gives_two_facts_and_not_its_budget() -> None:
    facts = curated_facts("我对坚果过敏，东西都寄德国。想找一个通勤双肩包，500 元以内", ())
    assert {fact["key"] for fact in facts} == {"nut_allergy", "default_ship_to"}


def test_at_most_three_and_constraints_first() -> None:
    facts = curated_facts("我穿 42 码的鞋。我家养了一只狗。东西都寄德国。我对坚果过敏。我吃素。", ())
    assert len(facts) == 3
    assert [fact["key"] for fact in facts[:2]] == ["nut_allergy", "diet"]


@pytest.mark.parametrize(
    ("words", "known", "key"),
    [
        ("以后都寄法国", KnownFact("ship_to_country", "德国", "context"), "ship_to_country"),
        ("我对坚果过敏", KnownFact("allergy_nuts", "坚果过敏", "constraint"), "allergy_nuts"),
        ("我穿 43 码的鞋", KnownFact("shoe_size_eu", "42", "context"), "shoe_size_eu"),
        ("塑料的也可以了", KnownFact("material_avoid", "不要塑料", "constraint"), "material_avoid"),
        ("我现在对坚果不过敏了", KnownFact("nut_allergy", "对坚果过敏", "constraint"), "nut_allergy"),
    ],
)
def test_the_known_key_of_the_same_subject_is_used_as_it_is(words: str, known: KnownFact, key: str) -> None:
    assert [fact["key"] for fact in curated_facts(words, (known,))] == [key]


def test_another_material_does_not_overwrite_the_one_that_holds() -> None:
    known = KnownFact("material_avoid", "不要塑料", "constraint")
    assert [fact["key"] for fact in curated_facts("我从来不穿羊毛", (known,))] == ["wool_avoid"]


def test_an_allergy_to_a_food_is_not_the_refusal_of_it() -> None:
    known = KnownFact("milk_avoid", "不喝牛奶", "constraint")
    assert [fact["key"] for fact in curated_facts("我对牛奶过敏", (known,))] == ["milk_allergy"]
