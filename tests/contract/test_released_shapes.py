"""Every shape of an event that was ever released can still be read, and a change of the current one is seen."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, Field
from tests.support.released_shapes import Contract, contracts

from common.events import EventAdapter
from common.streams.progress import ProgressEvent
from common.streams.progress_data import NOT_WRITTEN_YET, PROGRESS_DATA

_CONTRACTS = list(contracts())
_by_name = pytest.mark.parametrize("contract", _CONTRACTS, ids=lambda contract: f"{contract.family}/{contract.name}")

_HOW_TO = "its shape has changed: run `make contracts`, commit the new golden file, and tell the clients"


@_by_name
def test_the_current_shape_is_the_newest_golden_one(contract: Contract) -> None:
    assert contract.released(), "no golden file: run `make contracts`"
    newest = contract.released()[-1].shape
    assert contract.current.schema == newest.schema, _HOW_TO
    assert contract.current.example == newest.example, _HOW_TO


@_by_name
def test_the_golden_example_shows_every_field(contract: Contract) -> None:
    """Else a change of a field that no example has would go unseen in old files."""
    assert set(contract.current.example) == set(contract.model.model_fields)


@_by_name
def test_every_released_shape_can_still_be_read(contract: Contract) -> None:
    for released in contract.released():
        text = json.dumps(released.shape.example)
        if contract.family == "events":
            assert EventAdapter.validate_json(text).type == contract.name
        else:
            contract.model.model_validate_json(text)


@_by_name
def test_a_release_never_takes_away_what_the_one_before_it_had(contract: Contract) -> None:
    """Readers of the release before are still running while the new one is rolled out."""
    shapes = [released.shape for released in contract.released()]
    for before, after in pairwise(shapes):
        assert set(before.example) <= set(after.example)
        assert set(before.schema.get("required", ())) <= set(after.schema.get("required", ()))


def test_a_field_that_a_newer_sender_adds_does_not_stop_a_consumer() -> None:
    for contract in _CONTRACTS:
        if contract.family == "events":
            newer: dict[str, Any] = {**contract.current.example, "added_later": {"deep": [1]}}
            assert EventAdapter.validate_json(json.dumps(newer)).type == contract.name


def test_every_progress_event_has_a_shape_or_no_writer_yet() -> None:
    assert set(PROGRESS_DATA) | NOT_WRITTEN_YET == set(ProgressEvent)
    assert not set(PROGRESS_DATA) & NOT_WRITTEN_YET


class _First(BaseModel):
    seq: int
    title: str = "a"


class _WithMore(_First):
    more: int = 1


class _Narrower(_First):
    seq: int = Field(ge=1)


class _Reworded(_First):
    """Other words, the same shape."""


def test_a_changed_shape_is_seen_and_a_reworded_one_is_not(tmp_path: Path) -> None:
    def of(model: type[_First]) -> Contract:
        return Contract("events", "x", model, model(seq=1), golden=tmp_path)

    assert of(_First).release()
    assert not of(_First).release()
    assert not of(_Reworded).release()
    for changed in (of(_WithMore), of(_Narrower)):
        assert changed.current != changed.released()[-1].shape
    assert of(_WithMore).release()
    assert [released.number for released in of(_First).released()] == [1, 2]
    assert "title" in of(_First).current.schema["properties"], "a field of that name is no description"
