"""What a compiled statement sends: every value in its place, and none that has no place."""

import pytest
from sqlalchemy import bindparam, insert, select, text, update
from sqlalchemy.exc import InvalidRequestError

from memory.database.schema import favourites, turns
from memory.database.statements import Statement, among
from memory.users import own

_OWNER = {"tenant_id": "t1", "user_id": "u1"}


def test_values_come_from_the_caller_the_query_and_the_owner() -> None:
    statement = Statement(
        update(turns)
        .where(own(turns), turns.c.turn_id == bindparam("of_turn"), turns.c.seq > 7)
        .values(attempt=bindparam("new_attempt"))
    )
    given = statement.arguments({"of_turn": "a turn", "new_attempt": 3}, _OWNER)
    places = {f"${n}::" for n in range(1, 6)}
    assert all(place in statement.sql for place in places)
    assert sorted(map(str, given)) == sorted(["3", "7", "a turn", "t1", "u1"])
    assert given[0] == 3, "SET comes first"


def test_a_value_that_is_missing_or_has_no_place_is_an_error() -> None:
    statement = Statement(insert(favourites), ("tenant_id", "user_id", "item_id", "created_at"))
    with pytest.raises(KeyError, match="created_at"):
        statement.arguments({"item_id": "bag-001"}, _OWNER)
    with pytest.raises(KeyError, match="itemid"):
        statement.arguments({"itemid": "bag-001", "item_id": "bag-001", "created_at": None}, _OWNER)
    with pytest.raises(KeyError, match="tenant_id"):
        statement.arguments({"item_id": "bag-001", "created_at": None}, {})  # a transaction that works for nobody


def test_an_explicit_owner_stays_what_it_is() -> None:
    """Row-level security refuses it, and must get to see it."""
    statement = Statement(insert(favourites).values(tenant_id="t2", user_id="u2", item_id="bag-001", created_at=None))
    assert statement.arguments({}, _OWNER)[:3] == ["t2", "u2", "bag-001"]


def test_a_list_is_one_array_or_as_many_values_as_it_has() -> None:
    array = Statement(select(turns.c.seq).where(own(turns), among(turns.c.status, ["accepted", "running"])))
    assert array.arguments({}, _OWNER)[-1] == ["accepted", "running"]
    values = Statement(select(turns.c.seq).where(own(turns), turns.c.status.in_(["accepted", "running"])))
    assert values.arguments({}, _OWNER)[-2:] == ["accepted", "running"]
    with pytest.raises(InvalidRequestError):
        Statement(select(turns.c.seq).where(turns.c.status.in_(bindparam("given", expanding=True))))


def test_text_takes_named_parameters() -> None:
    assert Statement(text("SELECT :given")).arguments({"given": 5}, {}) == [5]
