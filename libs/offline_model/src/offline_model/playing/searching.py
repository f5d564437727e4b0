"""Turns the user's words and the remembered facts into searches: what to look for, step by step, and within what."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, Decimal
from itertools import zip_longest

from offline_model.directives import DirectiveName
from offline_model.language.avoidance import taken_back, words_to_exclude
from offline_model.language.bundles import parts_of_set
from offline_model.language.clauses import Clause, clauses_of
from offline_model.language.countries import country_code, shipping_mentions
from offline_model.language.demands import criteria_in, lifts_the_budget, taken_back_in
from offline_model.language.domains import main_product
from offline_model.language.exclusions import search_exclusions_in
from offline_model.language.images import seen_in_image
from offline_model.language.intents import Intent, intent_of, looks_twice
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.missing import product_to_price
from offline_model.language.money import PriceBounds, price_bounds
from offline_model.language.statements import statements_in
from offline_model.language.substances import SubstanceMention
from offline_model.language.wishes import Wishes, asks_for_others, bare_phrase, changed_kind
from offline_model.playing.play import PlayedCall, call
from offline_model.playing.scene import Scene
from offline_model.playing.straying import strays
from offline_model.playing.summaries import last_search_of

_EXCLUDE_MAX = 50
"""Words that one search takes."""
_LIMIT_FOR_OTHERS = 20
"""So that there is something behind what was shown before."""
_CHEAPER = ("便宜", "cheaper")
_LIST_SO_MANY = re.compile(r"列出?\s*(?P<zh>[1-9]\d?)\s*[款个件种]|\blist (?P<en>[1-9]\d?)\b", re.IGNORECASE)


@dataclass(frozen=True)
class SearchPlan:
    steps: list[list[str]]
    """Queries: those of one step are independent of each other, a step comes after the results of the one before."""
    intent: Intent = Intent.PRODUCT_SEARCH
    price_min: float | None = None
    price_max: float | None = None
    currency: str | None = None
    ships_to: str | None = None
    ships_to_remembered: bool = False
    """The destination is the remembered one, not one of this turn."""
    exclude: list[str] = field(default_factory=list)
    platforms: list[str] = field(default_factory=list)
    limit: int | None = None
    """Products per search, where the user said how many to list."""

    @property
    def queries(self) -> list[str]:
        return [query for step in self.steps for query in step]

    @property
    def sought(self) -> list[str]:
        """What the user is told was looked for: a second query for the same thing is not a second thing."""
        return self.queries if self.intent is Intent.BUNDLE else self.steps[0]

    def calls(self, step: int) -> Iterator[PlayedCall]:
        for query in self.steps[step]:
            yield call(
                "item_search",
                query=query,
                exclude=self.exclude[:_EXCLUDE_MAX],
                price_min=self.price_min,
                price_max=self.price_max,
                currency=self.currency,
                ships_to=self.ships_to,
                platforms=self.platforms,
                limit=self.limit,
            )


def search_plan(scene: Scene, wishes: Wishes) -> SearchPlan | None:
    """None where the turn looks for nothing. A refinement goes on from the last search of the conversation."""
    intent = intent_of(scene.words, wishes)
    if not _looks_for_something(scene, wishes, intent):
        return None
    bounds = price_bounds(scene.words)
    exclude = search_exclusions_in(scene.words)
    mentioned = shipping_mentions(scene.words)
    last = last_search(scene)
    queries = _changed(scene, last) or _queries(scene, wishes, intent)
    if last is not None and wishes.refines and main_product(" ".join(queries)) is None:
        queries = []  # 「再来几个便宜的」 names no other thing
    goes_on = _goes_on(wishes, intent, bounds, exclude, bool(mentioned)) or bool(taken_back_in(scene.words))
    if not queries and last is not None and goes_on:
        queries = [str(last["query"])]
        if not bounds.spans and not lifts_the_budget(scene.words):
            bounds = _bounds_of(last, cheaper=any(word in scene.words.casefold() for word in _CHEAPER))
    if not queries:
        return None
    return SearchPlan(
        steps=_steps(scene, queries, intent),
        intent=intent,
        price_min=_number(bounds.minimum) if intent is not Intent.BUNDLE else None,
        price_max=_number(_share(bounds.maximum, len(queries) if intent is Intent.BUNDLE else 1)),
        currency=bounds.currency,
        ships_to=destination_for(scene),
        ships_to_remembered=_keeps_to_remembered_destination(scene),
        exclude=[]
        if strays(scene, DirectiveName.IGNORE_CONSTRAINT)
        else _in_turn([*_exclude_from_facts(scene), *exclude]),
        platforms=scene.platforms,
        limit=_number_to_list(scene.words),
    )


def _looks_for_something(scene: Scene, wishes: Wishes, intent: Intent) -> bool:
    if intent is Intent.LANDED_PRICE:
        return "landed_price" in scene.tools and product_to_price(scene.words, wishes) is not None
    if wishes.queries:
        return True
    return intent not in _NO_SEARCH and (wishes.small_talk is None or intent in _OF_SEVERAL_SEARCHES)


_OF_SEVERAL_SEARCHES = (Intent.BUNDLE, Intent.PURCHASE_RESEARCH)
_NO_SEARCH = (Intent.ORDER_CARE, Intent.DEVICE_FAULT, Intent.USAGE_QUESTION, Intent.CHAT)


def _queries(scene: Scene, wishes: Wishes, intent: Intent) -> list[str]:
    if intent is Intent.BUNDLE:
        return parts_of_set(scene.words)
    if intent is Intent.LANDED_PRICE:
        named = product_to_price(scene.words, wishes)
        return [named] if named else []
    if intent is Intent.IMAGE_SEARCH and (seen := seen_in_image(scene.words)):
        return [seen]
    if intent is Intent.PURCHASE_RESEARCH and not main_product(" ".join(wishes.queries)):
        product = main_product(scene.words)
        return [product.word] if product else list(wishes.queries)
    if wishes.queries or wishes.refines or wishes.to_remember or statements_in(scene.words):
        return list(wishes.queries)
    phrase = bare_phrase(scene.words)
    return [phrase] if phrase else []


def _changed(scene: Scene, last: "dict[str, object] | None") -> list[str]:
    """「换成防水的再看看」: the same thing, of another kind."""
    kind = changed_kind(scene.words)
    if kind is None or last is None or main_product(scene.words) is not None:
        return []
    before = str(last["query"])
    product = main_product(before)
    return [f"{kind} {product.word if product else before}"]


def _goes_on(
    wishes: Wishes, intent: Intent, bounds: PriceBounds, exclude: list[list[str]], ships_elsewhere: bool
) -> bool:
    return bool(wishes.refines or intent is Intent.PURCHASE_RESEARCH or bounds.spans or exclude or ships_elsewhere)


def _steps(scene: Scene, queries: list[str], intent: Intent) -> list[list[str]]:
    if intent is Intent.BUNDLE:
        return [queries]
    if looks_twice(scene.words, intent) or scene.directed(DirectiveName.TWO_SEARCHES):
        return [queries, [second_query(queries[0], scene.words)]]
    return [queries]


def second_query(query: str, words: str) -> str:
    """Narrower where the user named a quality, else the same thing by its other name."""
    criterion = next((criterion for criterion in criteria_in(words) if criterion not in query), None)
    if criterion is not None:
        return f"{query} {criterion}"
    product = main_product(query)
    if product:
        return " ".join(query.replace(product.word, f" {product.other} ").split())
    return f"{query} {in_language(is_chinese(query), '高评价', 'top rated')}"


def _number_to_list(words: str) -> int | None:
    found = _LIST_SO_MANY.search(words)
    if found is None:
        return _LIMIT_FOR_OTHERS if asks_for_others(words) else None
    return int(found["zh"] or found["en"])


def _share(amount: Decimal | None, parts: int) -> Decimal | None:
    """The budget of a set is for the whole, so the shares never add up to more."""
    if amount is None or parts == 1:
        return amount
    share = amount / parts
    return share.quantize(Decimal(1) if share >= 1 else Decimal("0.01"), ROUND_DOWN)


def _exclude_from_facts(scene: Scene) -> list[list[str]]:
    """Without what this turn says is fine again."""
    fine = {word for clause in clauses_of(scene.said) for each in _taken_back(clause) for word in each.substance.words}
    lists = [words_to_exclude(fact.key, fact.value) for fact in scene.facts if fact.is_constraint]
    return [[word for word in words if word not in fine] for words in lists]


def _taken_back(clause: Clause) -> list[SubstanceMention]:
    return taken_back(clause.text) if clause.claims else []


def _in_turn(lists: list[list[str]]) -> list[str]:
    """The first word of each list, then the second of each: where a search takes no more, none is left out whole."""
    ranks = zip_longest(*lists)
    return list(dict.fromkeys(word for rank in ranks for word in rank if word is not None))


def destination_for(scene: Scene) -> str | None:
    """This turn's words, then what the session holds, then the remembered one."""
    mentioned = shipping_mentions(scene.words)
    held = scene.session_constraints.get("destination")
    if mentioned:
        return mentioned[-1].code
    return held if isinstance(held, str) and held else _remembered_destination(scene)


def _keeps_to_remembered_destination(scene: Scene) -> bool:
    return destination_for(scene) is not None and not (
        shipping_mentions(scene.words) or scene.session_constraints.get("destination")
    )


def _remembered_destination(scene: Scene) -> str | None:
    for fact in scene.facts:
        if fact.key == "default_ship_to":
            return country_code(fact.value)
    return None


def last_search(scene: Scene) -> "dict[str, object] | None":
    for made in reversed(scene.earlier):
        if made.name == "item_search" and made.arguments and made.arguments.get("query"):
            return made.arguments
    summarised = last_search_of(scene.summary)
    return {"query": summarised} if summarised else None


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
