"""P_t: the three rules of merging, the four layers of the destination, and nothing that breaks a turn."""

from decimal import Decimal

import pytest
from tests.unit.agent.example_facts import a_fact

from agent.session_constraints.constraints import (
    WORDS_MAX,
    Budget,
    SessionConstraints,
    TurnWishes,
    read_session_constraints,
)
from agent.session_constraints.destination import DestinationLayer, resolve_dest_country_layered
from agent.session_constraints.merging import merge_pt_lite, retract_terms

BAGS = SessionConstraints(
    domain="bags_luggage",
    must=("防水",),
    exclude=("塑料",),
    penalty=("黑色",),
    budget=Budget(amount=Decimal(500), currency="CNY"),
    destination="DE",
)


def test_another_domain_clears_the_words_and_keeps_the_budget() -> None:
    merged = merge_pt_lite(BAGS, TurnWishes(domain="snacks_food", exclude=("坚果",)), "再来点不含坚果的零食")
    assert (merged.must, merged.exclude, merged.penalty) == ((), ("坚果",), ())
    assert merged.budget == BAGS.budget
    assert merged.destination == "DE"


def test_the_same_or_no_domain_keeps_them() -> None:
    for domain in ("bags_luggage", None):
        merged = merge_pt_lite(BAGS, TurnWishes(domain=domain, must=("轻",)), "要轻一点")
        assert merged == BAGS.model_copy(update={"must": ("防水", "轻")})


def test_a_retraction_counts_only_where_the_user_said_it() -> None:
    wishes = TurnWishes(retract=("塑料", "防水"))
    words = "塑 料的也可以了"
    merged = merge_pt_lite(BAGS, wishes, words)
    assert merged.exclude == ()
    assert merged.must == ("防水",)
    assert retract_terms(wishes, words) == ("塑料",)


@pytest.mark.parametrize(
    ("word", "said", "counts"),
    [
        ("tea", "I want a steak", False),
        ("red", "I preferred that", False),
        ("plastic", "Plastics are fine now", True),
        ("leather", "real-leather is ok", True),
        ("nuts", "one nut is ok", True),
        ("plastic", "ｐｌａｓｔｉｃ 也行", True),
        ("PLASTIC", "plas\u200btic is fine", True),
        ("塑料", "塑\u200b料也行", True),
        ("USB线", "usb 线可以", True),
        ("塑料", "plastic is fine", False),
    ],
)
def test_what_counts_as_said(word: str, said: str, counts: bool) -> None:
    assert retract_terms(TurnWishes(retract=(word,)), said) == ((word,) if counts else ())


def test_an_empty_retraction_retracts_nothing() -> None:
    assert merge_pt_lite(BAGS, TurnWishes(retract=("", "  ")), "随便") == BAGS


def test_the_newest_polarity_of_a_word_wins() -> None:
    merged = merge_pt_lite(BAGS, TurnWishes(must=("黑色",), penalty=("塑料",)), "黑色的更好,塑料的少一点")
    assert merged.must == ("防水", "黑色")
    assert merged.penalty == ("塑料",)
    assert merged.exclude == ()


def test_what_is_ruled_out_stays_so_where_the_user_did_not_say_the_word() -> None:
    merged = merge_pt_lite(BAGS, TurnWishes(must=("塑料",)), "还有别的吗")
    assert (merged.must, merged.exclude) == (("防水",), ("塑料",))
    assert merge_pt_lite(BAGS, TurnWishes(penalty=("塑料",)), "还有别的吗") == BAGS


def test_said_in_two_ways_at_once_the_stricter_one_counts() -> None:
    merged = merge_pt_lite(SessionConstraints(), TurnWishes(must=("Nuts",), exclude=("nuts",)), "nuts, no nuts")
    assert merged.exclude == ("nuts",)
    assert merged.must == ()


def test_a_word_stands_once_and_the_lists_are_bounded() -> None:
    many = tuple(f"词{number}" for number in range(WORDS_MAX + 5))
    merged = merge_pt_lite(SessionConstraints(must=("词1",)), TurnWishes(must=(*many, "词 2")), "")
    assert len(merged.must) == WORDS_MAX
    assert len(set(merged.must)) == WORDS_MAX


@pytest.mark.parametrize("stored", [None, {"must": 7}, {"budget": {"amount": "-1", "currency": "CNY"}}])
def test_what_cannot_be_read_starts_empty(stored: dict[str, object] | None) -> None:
    assert read_session_constraints(stored) == SessionConstraints()


def test_what_was_stored_is_read_again() -> None:
    assert read_session_constraints(BAGS.model_dump(mode="json")) == BAGS


def test_the_first_layer_that_names_a_country_decides() -> None:
    ship_to = a_fact("default_ship_to", "德国")
    session = SessionConstraints(destination="FR")
    resolved = resolve_dest_country_layered
    assert resolved("日本", session, [ship_to], "CN") == ("JP", DestinationLayer.TURN)
    assert resolved("那里", session, [ship_to], "CN") == ("FR", DestinationLayer.SESSION)
    assert resolved(None, SessionConstraints(), [ship_to], "CN") == ("DE", DestinationLayer.MEMORY)
    assert resolved(None, SessionConstraints(), [a_fact("other", "德国")], "CN") == ("CN", DestinationLayer.DEFAULT)


def test_only_the_users_own_words_are_searched_for_a_country() -> None:
    """A plan and P_t hold a code; what the user once said holds whole sentences."""
    ship_to = a_fact("default_ship_to", "以后都寄到德国柏林")
    found = resolve_dest_country_layered("寄到日本东京", SessionConstraints(destination="to France"), [ship_to], "CN")
    assert found == ("DE", DestinationLayer.MEMORY)


@pytest.mark.parametrize("value", ["不要寄到美国", "美国以外", "anywhere but the US"])
def test_a_country_that_is_ruled_out_is_no_destination(value: str) -> None:
    found = resolve_dest_country_layered(None, SessionConstraints(), [a_fact("default_ship_to", value)], None)
    assert found.code is None


def test_another_persons_address_is_not_the_users() -> None:
    for_mother = a_fact("default_ship_to", "法国").model_copy(update={"subject": "mother"})
    found = resolve_dest_country_layered(None, SessionConstraints(), [for_mother], "CN")
    assert found.layer is DestinationLayer.DEFAULT
