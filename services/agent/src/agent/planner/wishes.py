"""From a plan to what the turn adds to P_t. The planner is P_t's only writer."""

from decimal import Decimal

from agent.planner.plan import TurnPlan
from agent.session_constraints.constraints import Budget, SessionConstraints, TurnWishes


def wishes_of(plan: TurnPlan, before: SessionConstraints, currency: str) -> TurnWishes:
    """A budget without a currency is in that of the session's budget before, else in `currency`, the user's own."""
    return TurnWishes(
        domain=plan.domain,
        must=tuple(plan.must),
        exclude=tuple(plan.exclude),
        penalty=tuple(plan.penalty),
        retract=tuple(plan.retract),
        budget=_budget(plan, before.budget.currency if before.budget else currency),
        destination=plan.destination,
    )


def _budget(plan: TurnPlan, currency: str) -> Budget | None:
    if plan.budget is None:
        return None
    amount = Decimal(f"{plan.budget:.2f}".removesuffix(".00"))
    return Budget(amount=amount, currency=plan.currency or currency) if amount > 0 else None
