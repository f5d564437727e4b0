"""Plays the curator: what the user's own words say about them that will still be true next time."""

import json
from typing import Any

from offline_model.chat.requests import ChatRequest
from offline_model.directives import Addressee, Directive, DirectiveName, read_directives, without_directives
from offline_model.language.reading import readable
from offline_model.language.statements import statements_in
from offline_model.playing.blocks import KnownFact, inside, known_facts
from offline_model.playing.careless import careless_facts, window_of
from offline_model.playing.known_keys import key_for, worth_saying
from offline_model.playing.play import Play

MAX_NEW_FACTS = 3


def curator_directives(request: ChatRequest) -> tuple[Directive, ...]:
    return read_directives(_user_words(request), Addressee.CURATOR)


def play_curator(request: ChatRequest) -> Play:
    directives = curator_directives(request)
    for directive in directives:
        if directive.name is DirectiveName.TEXT:
            return Play(directive.argument)
    directed = [_directed(directive.argument) for directive in directives if directive.name is DirectiveName.SAVE]
    facts = directed or _proposed(request)
    return Play(json.dumps({"facts": facts}, ensure_ascii=False))


def _proposed(request: ChatRequest) -> list[dict[str, str]]:
    words, known = _user_words(request), known_facts(_block(request, "known_facts"))
    window = window_of(request.model)
    if window is None:
        return curated_facts(words, known)
    instructions = "\n".join(message.text for message in request.messages if message.role == "system")
    everything = careless_facts(curated_facts(words, known), words, _block(request, "final_reply"), known, instructions)
    return everything[(window - 1) * MAX_NEW_FACTS : window * MAX_NEW_FACTS]


def curated_facts(user_words: str, known: tuple[KnownFact, ...]) -> list[dict[str, str]]:
    """At most three, rules before likings. The final reply is not read: the assistant's words are no evidence."""
    statements = [
        (key_for(statement, known), statement)
        for statement in statements_in(readable(without_directives(user_words)))
        if worth_saying(statement, known)
    ]
    statements.sort(key=lambda keyed: keyed[1].category != "constraint")
    return [
        {"key": key, "value": statement.value, "category": statement.category, "evidence": statement.evidence}
        for key, statement in statements[:MAX_NEW_FACTS]
    ]


def _directed(argument: str) -> dict[str, Any]:
    """`key|value|category`, and as a fourth part the evidence; the value itself stands in the user's words."""
    key, value, category, evidence, *_ = [*argument.split("|"), "", "", ""]
    return {"key": key, "value": value, "category": category or "preference", "evidence": evidence or value}


def _user_words(request: ChatRequest) -> str:
    return _block(request, "user_words")


def _block(request: ChatRequest, tag: str) -> str:
    message = next((message for message in reversed(request.messages) if message.role == "user"), None)
    return (inside(message.text, tag) or "") if message else ""
