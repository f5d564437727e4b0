"""Which guards there are."""

from agent.loop.guards.changed_domain import changed_domain
from agent.loop.guards.drift import drift
from agent.loop.guards.hidden_conflicts import hidden_conflicts
from agent.loop.guards.limits import TurnLimits, limit_guards
from agent.loop.guards.order_claims import order_claims
from agent.loop.guards.repetition import alternating_calls, repeated_call
from agent.loop.guards.skipped_skill import skipped_skill
from agent.loop.hooks import Hook
from common.clock import Clock


def guards(limits: TurnLimits, clock: Clock) -> list[Hook]:
    return [
        *limit_guards(limits, clock),
        drift,
        repeated_call,
        alternating_calls,
        changed_domain,
        skipped_skill,
        order_claims,
        hidden_conflicts,
    ]
