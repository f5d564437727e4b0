"""How long a fact is remembered, day by day and zone by zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, available_timezones

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.memory_api.facts import FactSource, MemoryCategory
from memory.facts.lifetime import Ages, Lifetime, end_of_day
from memory.facts.scores import confidence, importance

SHANGHAI = ZoneInfo("Asia/Shanghai")
BERLIN = ZoneInfo("Europe/Berlin")
LIFETIME = Lifetime(retention_days=30, decay_days=10)
SAID = datetime(2026, 11, 1, 15, 30, tzinfo=UTC)
ZONES = sorted(available_timezones())
A_MOMENT = timedelta(microseconds=1)


def preference(**times: datetime | None) -> Ages:
    return Ages(MemoryCategory.PREFERENCE, **{"said_at": SAID, **times})


def test_a_day_ends_at_midnight_where_the_user_lives() -> None:
    # 15:30 UTC is half past eleven at night in Shanghai and half past four in Berlin.
    assert end_of_day(SAID, 0, SHANGHAI) == datetime(2026, 11, 1, 16, 0, tzinfo=UTC)
    assert end_of_day(SAID, 0, BERLIN) == datetime(2026, 11, 1, 23, 0, tzinfo=UTC)
    assert end_of_day(SAID, 30, SHANGHAI) == datetime(2026, 12, 1, 16, 0, tzinfo=UTC)
    # The day on which the clocks go back has 25 hours.
    before_change = datetime(2026, 10, 24, 12, 0, tzinfo=UTC)
    assert end_of_day(before_change, 1, BERLIN) == datetime(2026, 10, 25, 23, 0, tzinfo=UTC)


@pytest.mark.parametrize("zone", [SHANGHAI, BERLIN, UTC])
def test_what_nobody_uses_decays_and_what_is_used_is_retained(zone: ZoneInfo) -> None:
    decayed = end_of_day(SAID, 10, zone)
    assert not LIFETIME.has_ended(preference(), decayed - A_MOMENT, zone)
    assert LIFETIME.has_ended(preference(), decayed, zone)
    used = preference(used_at=SAID + timedelta(days=29))
    retained = end_of_day(SAID, 30, zone)
    assert not LIFETIME.has_ended(used, retained - A_MOMENT, zone)
    assert LIFETIME.has_ended(used, retained, zone), "shown every day, and still nobody has said it again"


def test_a_constraint_expires_only_by_its_users_word() -> None:
    forever = Ages(MemoryCategory.CONSTRAINT, SAID)
    assert LIFETIME.end(forever, UTC) is None
    until = SAID + timedelta(days=1)
    assert LIFETIME.end(Ages(MemoryCategory.CONSTRAINT, SAID, expires_at=until), UTC) == until


@pytest.mark.parametrize("category", list(MemoryCategory))
def test_a_row_without_a_time_counts_as_expired(category: MemoryCategory) -> None:
    assert Lifetime(None, None).has_ended(Ages(category, None), SAID, UTC)


def test_nothing_expires_where_nothing_is_set() -> None:
    assert Lifetime(None, None).end(preference(), UTC) is None
    assert Lifetime(30, None).end(preference(), UTC) == end_of_day(SAID, 30, UTC)
    assert Lifetime(None, 10).end(preference(), UTC) == end_of_day(SAID, 10, UTC)


@given(
    said=st.timedeltas(timedelta(0), timedelta(days=7_000)),
    used=st.integers(0, 40),
    later=st.timedeltas(timedelta(0), timedelta(days=60)),
    zones=st.tuples(st.sampled_from(ZONES), st.sampled_from(ZONES)),
)
def test_where_the_zone_is_not_asked_for_it_makes_no_difference(
    said: timedelta, used: int, later: timedelta, zones: tuple[str, str]
) -> None:
    said_at = SAID + said
    ages, now = preference(said_at=said_at, used_at=said_at + timedelta(days=used)), said_at + later
    if not LIFETIME.depends_on_zone(ages, now):
        ended = {LIFETIME.has_ended(ages, now, ZoneInfo(zone)) for zone in zones}
        assert len(ended) == 1


def test_the_zone_is_mostly_not_asked_for() -> None:
    noons = [SAID + timedelta(days=days, hours=12) for days in range(60)]
    assert [n for n, noon in enumerate(noons) if LIFETIME.depends_on_zone(preference(), noon)] == [10, 30]


def test_confidence_grows_with_turns_and_importance_with_what_a_miss_costs() -> None:
    curated = [confidence(FactSource.CURATOR, turns) for turns in range(4)]
    assert curated[0] == curated[1] < curated[2] < curated[3] < 1.0
    assert confidence(FactSource.USER, 0) == confidence(FactSource.IMPORT, 0) == 1.0
    assert curated[1] < confidence(FactSource.SAVE_MEMORY, 1) < 1.0
    ordered = [
        importance(each) for each in (MemoryCategory.CONTEXT, MemoryCategory.PREFERENCE, MemoryCategory.CONSTRAINT)
    ]
    assert ordered == sorted(set(ordered))
