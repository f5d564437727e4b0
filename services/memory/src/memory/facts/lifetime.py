"""How long a fact is remembered. Pure: takes times, returns times.

A constraint expires only by its user's word (an `expires_at` of its own). Everything else is forgotten when nobody has
said it for `retention_days`, or when it was neither said nor shown to a turn for `decay_days`. Days end at midnight
where the user lives.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo

from common.memory_api.facts import MemoryCategory


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
        ends = [] if ages.expires_at is None else [ages.expires_at]
        if ages.said_at is None:
            ends.append(datetime.min.replace(tzinfo=UTC))
        elif ages.category is not MemoryCategory.CONSTRAINT:
            if self.retention_days is not None:
                ends.append(end_of_day(ages.said_at, self.retention_days, zone))
            if self.decay_days is not None:
                ends.append(end_of_day(max(ages.said_at, ages.used_at or ages.said_at), self.decay_days, zone))
        return min(ends, default=None)

    def has_ended(self, ages: Ages, now: datetime, zone: tzinfo) -> bool:
        end = self.end(ages, zone)
        return end is not None and end <= now

    def depends_on_zone(self, ages: Ages, now: datetime) -> bool:
        """Whether the fact has ended in one part of the world and not yet in another."""
        return self.has_ended(ages, now, _FIRST_ZONE) and not self.has_ended(ages, now, _LAST_ZONE)


def end_of_day(moment: datetime, days: int, zone: tzinfo) -> datetime:
    """The midnight that ends the day which is `days` after that of `moment`, as it is in `zone`."""
    day = moment.astimezone(zone).date() + timedelta(days=days + 1)
    return datetime.combine(day, time.min, tzinfo=zone).astimezone(UTC)


_FIRST_ZONE, _LAST_ZONE = timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))
"""Where a day ends first and last."""
