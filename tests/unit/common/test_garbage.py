"""What a full search for garbage has to look at."""

import gc
from collections.abc import Iterator

import pytest

from common.process.garbage import search_rarely


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.unfreeze()
    gc.set_threshold(*threshold)


def test_what_was_built_is_not_searched_again() -> None:
    built = [[] for _ in range(1_000)]  # type: ignore[var-annotated]
    search_rarely()
    searched = {id(each) for each in gc.get_objects()}
    assert not searched & {id(each) for each in built}


def test_garbage_of_before_is_not_kept_for_ever() -> None:
    class Knot:
        pass

    gc.collect()
    gc.disable()
    knot = Knot()
    knot.itself = knot  # type: ignore[attr-defined]
    del knot
    gc.enable()
    search_rarely()
    gc.unfreeze()
    assert not [each for each in gc.get_objects() if isinstance(each, Knot)]
