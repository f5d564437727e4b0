"""Keys name their subject, and whom it is about, and carry no value."""

import pytest

from memory.facts.evidence.subject_key import subject_key


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("nut_allergy", "对坚果过敏", "nut_allergy"),
        ("shoe_size_42", "42", "shoe_size"),
        ("ship_to_germany", "Germany", "ship_to"),
        ("favourite_colour_blue", "blue", "favourite_colour"),
        ("child", "女儿 3 岁", "child"),
        ("pet", "两只猫", "pet"),
        ("pet_preference", "likes fish", "pet_preference"),
        ("shops_for", "给我妈买衣服", "shops_for"),
        ("peanut_allergy", "妈妈对花生过敏", "mother_peanut_allergy"),
        ("mother_nut_allergy", "对坚果过敏", "mother_nut_allergy"),
        ("mother_taste", "爸爸喜欢红色", "father_taste"),
    ],
)
def test_a_key_is_freed_of_its_value(key: str, value: str, expected: str) -> None:
    assert subject_key(key, value) == expected


@pytest.mark.parametrize(
    ("key", "value"),
    [("likes_blue", "blue"), ("42", "42"), ("喜欢蓝色", "喜欢蓝色"), ("is_german", "German"), ("my_favourite", "tea")],
)
def test_a_key_that_names_nothing_but_a_value_is_no_key(key: str, value: str) -> None:
    assert subject_key(key, value) is None


def test_a_key_may_not_grow_too_long() -> None:
    assert subject_key("a" * 64, "妈妈对花生过敏") is None
