"""P_t as it is stored with the session, and what one turn adds to it."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from common.logs import get_logger

_log = get_logger(__name__)

WORDS_MAX = 24
"""Words kept per list, the newest ones: more is no longer a wish but a transcript."""


class Budget(BaseModel):
    """At most `amount` of `currency` (ISO 4217) for everything the turn asks for."""

    model_config = ConfigDict(frozen=True)

    amount: Decimal = Field(gt=0)
    currency: str = Field(pattern=r"^[A-Z]{3}$")


class SessionConstraints(BaseModel):
    """P_t. The lists hold words as they were said, oldest first; a word stands in at most one of them."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    domain: str | None = None
    must: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    penalty: tuple[str, ...] = ()
    budget: Budget | None = None
    destination: str | None = None

    def shown(self) -> dict[str, Any]:
        """What stands in it, as JSON values: the form in which it is stored, sent and told."""
        return self.model_dump(mode="json", exclude_defaults=True)


class TurnWishes(BaseModel):
    """What this turn says, and nothing that earlier turns said (seed 002, "how it runs" 2)."""

    model_config = ConfigDict(frozen=True)

    domain: str | None = None
    must: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    penalty: tuple[str, ...] = ()
    retract: tuple[str, ...] = ()
    budget: Budget | None = None
    destination: str | None = None


def read_session_constraints(stored: Mapping[str, Any] | None) -> SessionConstraints:
    """P_t out of its stored form; one that cannot be read starts empty, so that no turn fails because of it."""
    if stored is None:
        return SessionConstraints()
    try:
        return SessionConstraints.model_validate(stored)
    except ValidationError as error:
        _log.warning("session_constraints.unreadable", errors=error.error_count())
        return SessionConstraints()
