"""When nearly everything fails, and when it does not."""

from uuid import uuid4

from common.memory_api.dispatch import WorkKind
from memory.dispatch.outcomes import Circuits
from memory.policy import CircuitPolicy, Policy

KIND = WorkKind.CURATE_TURN


def noted(*failures: bool, records: int = 20) -> Circuits:
    circuits = Circuits(CircuitPolicy(window=20, share=0.8, records=3))
    subjects = [uuid4() for _ in range(records)]
    for number, failed in enumerate(failures):
        circuits.note(KIND, subjects[number % records], failed=failed)
    return circuits


def test_it_takes_a_full_window_and_four_fifths() -> None:
    assert noted(*[True] * 16, *[False] * 4).nearly_everything_fails(KIND)
    assert not noted(*[True] * 15, *[False] * 5).nearly_everything_fails(KIND)
    assert not noted(*[True] * 19).nearly_everything_fails(KIND)
    assert not noted(*[True] * 20).nearly_everything_fails(WorkKind.TURN)


def test_only_the_last_attempts_count() -> None:
    assert not noted(*[True] * 20, *[False] * 5).nearly_everything_fails(KIND)
    assert noted(*[False] * 20, *[True] * 16).nearly_everything_fails(KIND)


def test_one_record_that_fails_at_every_try_says_nothing_about_the_others() -> None:
    assert not noted(*[True] * 40, records=2).nearly_everything_fails(KIND)
    assert noted(*[True] * 40, records=3).nearly_everything_fails(KIND)


def test_a_circuit_that_closes_is_judged_anew() -> None:
    circuits = noted(*[True] * 20)
    circuits.note_open(KIND)
    circuits.agree([KIND])
    assert not circuits.is_closed(KIND)
    circuits.agree([])
    assert circuits.is_closed(KIND)
    assert not circuits.nearly_everything_fails(KIND)


def test_pauses_double_to_a_limit_and_are_spread() -> None:
    early, late = Policy(jitter=lambda: 0.0), Policy(jitter=lambda: 0.999)
    longest = [Policy().longest_pause_after(attempts).total_seconds() for attempts in range(1, 9)]
    assert longest == [0, 2, 4, 8, 16, 32, 60, 60]
    for attempts, most in enumerate(longest, 1):
        assert early.pause_after(attempts).total_seconds() == most / 2
        assert most / 2 <= late.pause_after(attempts).total_seconds() <= most
    assert len({Policy().pause_after(5) for _ in range(10)}) > 1
