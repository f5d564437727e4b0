"""Turns the user's words and the remembered facts into arguments of `item_search`."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import zip_longest

from offline_model.language.avoidance import avoidances_in, words_to_exclude
from offline_model.language.clauses import clauses_of
from offline_model.language.countries import country_code, shipping_mentions
from offline_model.language.money import PriceBounds, price_bounds
from offline_model.playing.play import PlayedCall, call
from offline_model.playing.scene import Scene

_EXCLUDE_MAX = 50
"""Words that one search takes."""
_CHEAPER = ("便宜", "cheaper")


@dataclass(frozen=True)
class SearchPlan:
    queries: list[str]
    price_min: float | None = None
    price_max: float | None = None
    currency: str | None = None
    ships_to: str | None = None
    ships_to_remembered: bool = False
    """The destination is the remembered one, not one of this turn."""
    exclude: list[str] = field(default_factory=list)
    platforms: list[str] = field(default_factory=list)

    def calls(self) -> Iterator[PlayedCall]:
        """One independent search per thing wanted."""
        for query in self.queries:
            yield call(
                "item_search",
                query=query,
                exclude=self.exclude[:_EXCLUDE_MAX],
                price_min=self.price_min,
                price_max=self.price_max,
                currency=self.currency,
                ships_to=self.ships_to,
                platforms=self.platforms,
            )


def search_plan(scene: Scene, queries: list[str], refines: bool) -> SearchPlan | None:
    """None where the turn looks for nothing. A refinement goes on from the last search of the conversation."""
    bounds = price_bounds(scene.words)
    exclude = _exclude_from_words(scene.words)
    mentioned = shipping_mentions(scene.words)
    last = _last_search(scene)
    if not queries and last is not None and (refines or bounds.spans or exclude or mentioned):
        queries = [str(last["query"])]
        if not bounds.spans:
            bounds = _bounds_of(last, cheaper=any(word in scene.words for word in _CHEAPER))
    if not queries:
        return None
    remembered = _remembered_destination(scene)
    return SearchPlan(
        queries=queries,
        price_min=_number(bounds.minimum),
        price_max=_number(bounds.maximum),
        currency=bounds.currency,
        ships_to=mentioned[-1].code if mentioned else remembered,
        ships_to_remembered=not mentioned and remembered is not None,
        exclude=_in_turn([*_exclude_from_facts(scene), *exclude]),
        platforms=scene.platforms,
    )


def _exclude_from_facts(scene: Scene) -> list[list[str]]:
    return [words_to_exclude(fact.key, fact.value) for fact in scene.facts if fact.is_constraint]


def _exclude_from_words(words: str) -> list[list[str]]:
    """Also what another person must avoid, if the turn names it: it is what is bought for them now."""
    return [
        list(avoidance.words)
        for clause in clauses_of(words)
        if not (clause.reported or (clause.question and "过敏" in clause.text))
        for avoidance in avoidances_in(clause.text)
    ]


def _in_turn(lists: list[list[str]]) -> list[str]:
    """The first word of each list, then the second of each: where a search takes no more, none is left out whole."""
    ranks = zip_longest(*lists)
    return list(dict.fromkeys(word for rank in ranks for word in rank if word is not None))


def _remembered_destination(scene: Scene) -> str | None:
    for fact in scene.facts:
        if fact.key == "default_ship_to":
            return country_code(fact.value)
    return None


def _last_search(scene: Scene) -> "dict[str, object] | None":
    for made in reversed(scene.earlier):
        if made.name == "item_search" and made.arguments and made.arguments.get("query"):
            return made.arguments
    return None


def _bounds_of(arguments: "dict[str, object]", cheaper: bool) -> PriceBounds:
    maximum = arguments.get("price_max")
    currency = arguments.get("currency")
    if not isinstance(maximum, int | float):
        return PriceBounds()
    limit = Decimal(str(maximum)) * (Decimal("0.7") if cheaper else 1)
    return PriceBounds(maximum=limit, currency=currency if isinstance(currency, str) else None)


def _number(amount: Decimal | None) -> float | None:
    if amount is None:
        return None
    return int(amount) if amount == amount.to_integral_value() else float(amount)
