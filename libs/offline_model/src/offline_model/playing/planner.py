"""Plays the planner: fills the plan of a turn from the user's words, in the form that the request's schema gives."""

import json
import re
from typing import Any

from offline_model.chat.requests import ChatMessage, ChatRequest
from offline_model.directives import Addressee, Directive, DirectiveName, read_directives, without_directives
from offline_model.language.countries import shipping_mentions
from offline_model.language.demands import dislikes_in, is_gift, musts_in, taken_back_in
from offline_model.language.domains import ProductWord, main_product, product_words
from offline_model.language.exclusions import exclusions_in
from offline_model.language.intents import Intent, intent_of
from offline_model.language.languages import in_language, is_chinese
from offline_model.language.missing import Missing, destination_of, missing_in
from offline_model.language.money import price_bounds
from offline_model.language.reading import own_words, readable
from offline_model.language.references import places_in, points_at_one, points_at_several
from offline_model.language.refused_kinds import without_refused_kinds
from offline_model.language.wishes import Wishes, wishes_in
from offline_model.playing.asking import asked_about, is_an_answer, joined
from offline_model.playing.blocks import inside
from offline_model.playing.conversation import WORDS
from offline_model.playing.play import Play
from offline_model.playing.structured import filled_value

_WITH_PRODUCT = frozenset(
    {Intent.PRODUCT_SEARCH, Intent.PURCHASE_RESEARCH, Intent.BUNDLE, Intent.IMAGE_SEARCH, Intent.ACCESSORY}
)
_USER_LINE = re.compile(r"^(?:用户|user)\s*[:：](?P<words>.*)$", re.MULTILINE | re.IGNORECASE)
_REPLY_LINE = re.compile(r"^(?:助手|assistant)\s*[:：](?P<words>.*)$", re.MULTILINE | re.IGNORECASE)


def planner_directives(request: ChatRequest) -> tuple[Directive, ...]:
    return read_directives(_words_of_turn(request), Addressee.PLANNER)


def play_planner(request: ChatRequest) -> Play:
    filled = filled_value(_schema(request), planned(*_input(request)))
    plan = json.dumps(filled, ensure_ascii=False)
    for directive in planner_directives(request):
        if directive.name is DirectiveName.TEXT:
            return Play(directive.argument)
        if directive.name is DirectiveName.MALFORMED and _acts(directive, request):
            return Play(plan[: len(plan) // 2])
        if directive.name is DirectiveName.BAD_PLAN and (directive.argument == "always" or not _answers(request)):
            return Play(json.dumps({**filled, "intent": "buy_everything", "gift": "perhaps"}, ensure_ascii=False))
    return Play(plan)


def planned(words: str, recent: str = "") -> dict[str, Any]:
    """What the words say; of the recent conversation only what kind of thing a turn without one goes on about."""
    request = _request(words, recent)
    wishes = wishes_in(request)
    intent = intent_of(request, wishes)
    bounds = price_bounds(words)
    product = _product(request, recent, wishes, intent)
    return {
        "intent": intent.value,
        "domain": product.domain if product else None,
        "sub_type": product.word if product else None,
        "destination": _destination(words, intent),
        "budget": float(bounds.maximum) if bounds.maximum else None,
        "currency": bounds.currency,
        "must": musts_in(words),
        "exclude": exclusions_in(words),
        "penalty": dislikes_in(words),
        "retract": taken_back_in(words),
        "gift": is_gift(request),
        "missing": _missing(request, intent, product, wishes),
    }


def _request(words: str, recent: str) -> str:
    """What the turn is about: where the last reply asked for something that was missing, its words answer that."""
    said, replies = list(_USER_LINE.finditer(recent)), list(_REPLY_LINE.finditer(recent))
    if said and replies and asked_about(replies[-1]["words"]) and is_an_answer(words):
        return joined(said[-1]["words"].strip(), words)
    return words


def _destination(words: str, intent: Intent) -> str | None:
    if intent is Intent.LANDED_PRICE:
        return destination_of(words)
    mentioned = shipping_mentions(words)
    return mentioned[-1].code if mentioned else None


def _product(words: str, recent: str, wishes: Wishes, intent: Intent) -> ProductWord | None:
    if intent is Intent.BUNDLE:
        return next(iter(product_words(words)), None)  # the set itself; what belongs into it is named after it
    named = main_product(" ".join(wishes.queries)) or (
        main_product(without_refused_kinds(words)) if intent in _WITH_PRODUCT else None
    )
    if named or intent not in _WITH_PRODUCT or wishes.queries:
        return named
    earlier = [main_product(found["words"]) for found in _USER_LINE.finditer(recent)]
    return next((product for product in reversed(earlier) if product), None)


def _missing(words: str, intent: Intent, product: ProductWord | None, wishes: Wishes) -> list[str]:
    missing = missing_in(words, wishes, intent)
    points = places_in(words) or points_at_one(words) or points_at_several(words)
    if intent is Intent.PRODUCT_SEARCH and product is None and not (wishes.queries or missing or points):
        missing.append(Missing.PRODUCT)
    if is_gift(words) and intent in _WITH_PRODUCT and price_bounds(words).maximum is None:
        missing.append(Missing.BUDGET)
    return [in_language(is_chinese(words), *_NAMES[each]) for each in dict.fromkeys(missing)]


_NAMES = {
    Missing.BUDGET: ("预算", "budget"),
    Missing.RECIPIENT: ("收礼人", "recipient"),
    Missing.PRODUCT: ("品类", "product"),
    Missing.DESTINATION: ("收货国", "destination"),
}


def _acts(directive: Directive, request: ChatRequest) -> bool:
    """A reproof follows a malformed answer in the same conversation, so the answers so far are in the request."""
    return directive.first_requests is None or _answers(request) < directive.first_requests


def _answers(request: ChatRequest) -> int:
    return sum(message.role == "assistant" for message in request.messages)


def _schema(request: ChatRequest) -> dict[str, Any]:
    given = request.response_format.json_schema if request.response_format else None
    return given.definition if given else {}


def _input(request: ChatRequest) -> tuple[str, str]:
    """This turn's words and the recent conversation."""
    recent = inside(_asked(request).text, "recent_conversation") or ""
    return own_words(without_directives(_words_of_turn(request))), readable(without_directives(recent))


def _words_of_turn(request: ChatRequest) -> str:
    return inside(_asked(request).text, WORDS) or ""


def _asked(request: ChatRequest) -> ChatMessage:
    """The newest message that holds words of the user; a reproof holds none."""
    asked = (message for message in reversed(request.messages) if inside(message.text, WORDS) is not None)
    return next(asked, request.messages[-1])
