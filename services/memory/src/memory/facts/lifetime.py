"""How long a fact is remembered. Pure: takes times, returns times.

A constraint expires only by its user's word (an `expires_at` of its own). Everything else is forgotten when nobody has
said it for `retention_days`, or when it was neither said nor shown to a turn for `decay_days`. Days end at midnight
where the user lives.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo

from common.memory_api.facts import MemoryCategory

A_DAY = timedelta(days=1)
_CLOCK_CHANGE = timedelta(hours=2)
"""Most that a day may be longer or shorter."""


@dataclass(frozen=True)
class Ages:
    """What the lifetime of a fact depends on. `said_at` is None in rows without a time; they count as expired."""

    category: MemoryCategory
    said_at: datetime | None
    used_at: datetime | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True)
class Lifetime:
    """In days; None is for ever."""

    retention_days: int | None
    decay_days: int | None

    def end(self, ages: Ages, zone: tzinfo) -> datetime | None:
        """When the fact becomes unreadable; None is never."""
        if ages.said_at is None:
            return datetime.min.replace(tzinfo=UTC)
        ends = [end_of_day(since, days, zone) for since, days in self._limits(ages)]
        if ages.expires_at is not None:
            ends.append(ages.expires_at)
        return min(ends, default=None)

    def has_ended(self, ages: Ages, now: datetime, zone: tzinfo) -> bool:
        end = self.end(ages, zone)
        return end is not None and end <= now

    def is_young(self, said_at: datetime | None, expires_at: datetime | None, now: datetime) -> bool:
        """Quick, and never wrongly yes: it cannot have ended, whatever its category and wherever its user lives."""
        if said_at is None or expires_at is not None:
            return False
        days = min((days for days in (self.retention_days, self.decay_days) if days is not None), default=None)
        return days is None or now < said_at + timedelta(days=days) - _CLOCK_CHANGE

    def depends_on_zone(self, ages: Ages, now: datetime) -> bool:
        """Whether it may have ended in one part of the world and not in another. Wherever somebody lives, a day ends
        less than a day after any of its moments."""
        margin = _CLOCK_CHANGE
        return any(
            since + timedelta(days=days) - margin <= now <= since + timedelta(days=days + 1) + margin
            for since, days in self._limits(ages)
        )

    def _limits(self, ages: Ages) -> list[tuple[datetime, int]]:
        """From when on how many days are counted."""
        if ages.said_at is None or ages.category is MemoryCategory.CONSTRAINT:
            return []
        last_seen = max(ages.said_at, ages.used_at or ages.said_at)
        limits = ((ages.said_at, self.retention_days), (last_seen, self.decay_days))
        return [(since, days) for since, days in limits if days is not None]


def end_of_day(moment: datetime, days: int, zone: tzinfo) -> datetime:
    """The midnight that ends the day which is `days` after that of `moment`, as it is in `zone`."""
    day = moment.astimezone(zone).date() + timedelta(days=days + 1)
    return datetime.combine(day, time.min, tzinfo=zone).astimezone(UTC)
