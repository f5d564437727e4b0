"""Where the goods go: four layers, the first that knows it decides."""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

from agent.catalogue.countries import country_code
from agent.catalogue.country_mentions import country_in_text
from agent.session_constraints.constraints import SessionConstraints

SHIP_TO_KEY = "default_ship_to"
"""The only fact that code reads by name."""


class DestinationLayer(StrEnum):
    """Who named the country: the four layers, and a call's own arguments, which go before all of them."""

    ARGUMENTS = "arguments"
    TURN = "turn"
    SESSION = "session"
    MEMORY = "memory"
    DEFAULT = "default"


class KnownFact(Protocol):
    """A stored fact, or one that holds for the session alone."""

    @property
    def key(self) -> str: ...

    @property
    def value(self) -> str: ...


class DestinationCountry(NamedTuple):
    """`code` is ISO 3166-1 alpha-2; None where no layer names a country."""

    code: str | None
    layer: DestinationLayer


NO_DESTINATION = "no destination is known; ask the user which country it goes to"
"""What a call without one is answered where no layer names one either, for the model."""

NOWHERE = DestinationCountry(None, DestinationLayer.DEFAULT)


def destination_of_call(asked: str | None, known: DestinationCountry) -> DestinationCountry:
    """Where the goods of a call go; `asked` is the code in its arguments, `known` what the layers say."""
    return known if asked is None else DestinationCountry(asked, DestinationLayer.ARGUMENTS)


def resolve_dest_country_layered(
    this_turn: str | None, constraints: SessionConstraints, facts: Sequence[KnownFact], default: str | None
) -> DestinationCountry:
    """This turn's words, then P_t, then the fact `default_ship_to` of the user themselves, then the default.

    A layer that names no country is passed over: by code or name in the first two, which a plan wrote, anywhere in
    the words of the third, which are the user's. Of two facts with the key the first counts.
    """
    layers = (
        (country_code(this_turn or ""), DestinationLayer.TURN),
        (country_code(constraints.destination or ""), DestinationLayer.SESSION),
        (country_in_text(_default_ship_to(facts) or ""), DestinationLayer.MEMORY),
    )
    for code, layer in layers:
        if code is not None:
            return DestinationCountry(code, layer)
    return DestinationCountry(default, DestinationLayer.DEFAULT)


def _default_ship_to(facts: Sequence[KnownFact]) -> str | None:
    mine = (fact for fact in facts if fact.key == SHIP_TO_KEY and getattr(fact, "subject", "self") == "self")
    return next((fact.value for fact in mine), None)
