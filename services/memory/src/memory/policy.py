"""What a use case works by, taken from the settings once."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

from memory.facts.gate import BUILT_IN_RULES, IdentifierRule
from memory.facts.gate.operator_patterns import operator_rules
from memory.facts.lifetime import Lifetime
from memory.settings import MemorySettings


@dataclass(frozen=True)
class CircuitPolicy:
    """A kind's circuit opens when of its last `window` attempts at least `share` failed, in `records` or more."""

    window: int = 20
    share: float = 0.8
    records: int = 3
    cool_down: timedelta = timedelta(seconds=30)


@dataclass(frozen=True)
class Policy:
    memory_enabled: bool = True
    lease: timedelta = timedelta(seconds=15)
    deadline: timedelta = timedelta(seconds=120)
    publish_grace: timedelta = timedelta(seconds=5)
    republish: timedelta = timedelta(seconds=60)
    max_attempts: int = 5
    backoff: timedelta = timedelta(seconds=2)
    longest_backoff: timedelta = timedelta(seconds=60)
    curation_wait: timedelta = timedelta(seconds=1.5)
    session_idle: timedelta = timedelta(hours=12)
    replay_turns_per_second: float = 5.0
    replay_days: int = 30
    tokens_per_user_day: int | None = None
    circuit: CircuitPolicy = CircuitPolicy()
    jitter: Callable[[], float] = random.random
    """In [0, 1): spreads the attempts of what failed together."""
    identifier_rules: tuple[IdentifierRule, ...] = BUILT_IN_RULES
    """What `validate_fact` refuses, in order."""
    max_facts: int = 500
    max_skills: int = 20
    max_candidates: int = 100
    lifetime: Lifetime = field(default_factory=lambda: Lifetime(retention_days=365, decay_days=180))
    candidate_days: int = 90
    session_days: int = 180
    order_expiry: timedelta = timedelta(minutes=30)
    order_days: int = 1095

    @classmethod
    def of(cls, settings: MemorySettings) -> "Policy":
        return cls(
            memory_enabled=settings.enable_memory,
            lease=timedelta(seconds=settings.lease_seconds),
            deadline=timedelta(seconds=settings.turn_deadline_seconds),
            publish_grace=timedelta(seconds=settings.publish_grace_seconds),
            republish=timedelta(seconds=settings.republish_seconds),
            max_attempts=settings.max_attempts,
            backoff=timedelta(seconds=settings.backoff_seconds),
            curation_wait=timedelta(seconds=settings.curation_wait_seconds),
            session_idle=timedelta(minutes=settings.session_idle_minutes),
            replay_turns_per_second=settings.replay_turns_per_second,
            replay_days=settings.replay_retention_days,
            tokens_per_user_day=settings.tokens_per_user_day or None,
            circuit=CircuitPolicy(
                window=settings.circuit_window,
                share=settings.circuit_share,
                cool_down=timedelta(seconds=settings.circuit_cool_down_seconds),
            ),
            identifier_rules=BUILT_IN_RULES + operator_rules(settings.memory_pii_patterns),
            max_facts=settings.memory_max_facts,
            max_skills=settings.personal_skills_max,
            max_candidates=settings.memory_max_candidates,
            lifetime=Lifetime(settings.memory_retention_days or None, settings.memory_decay_days or None),
            candidate_days=settings.memory_candidate_days,
            session_days=settings.session_retention_days,
            order_expiry=timedelta(minutes=settings.order_expiry_minutes),
            order_days=settings.order_retention_days,
        )

    def pause_after(self, attempts: int) -> timedelta:
        """Pause before the next attempt, spread so that what failed together does not come back together."""
        return self.spread(self.longest_pause_after(attempts), self.jitter())

    def longest_pause_after(self, attempts: int) -> timedelta:
        """None after the first attempt (a killed worker), then doubling."""
        if attempts <= 1:
            return timedelta(0)
        doublings = min(attempts - 2, 10)
        return min(self.backoff * float(1 << doublings), self.longest_backoff)

    @staticmethod
    def spread(pause: timedelta, jitter: float) -> timedelta:
        """Between half the pause and the whole."""
        return pause * (0.5 + jitter / 2)
