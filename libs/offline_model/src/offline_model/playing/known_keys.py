"""Under which key a statement is kept: that of the known fact on the same subject, so that it is overwritten."""

import re

from offline_model.language.statements import Statement
from offline_model.language.substances import substances_in
from offline_model.playing.blocks import KnownFact

# Keys that other writers may have chosen for the same subject.
_SAME_SUBJECT = {
    "default_ship_to": re.compile(r"ship|destination|deliver"),
    "shoe_size": re.compile(r"shoe"),
    "clothing_size": re.compile(r"cloth|shirt|size$"),
    "material_avoid": re.compile(r"material"),
    "brand_preference": re.compile(r"brand_(?:pref|like)|favou?rite_brand"),
    "brand_avoid": re.compile(r"brand_(?:avoid|dislike)"),
    "diet": re.compile(r"diet"),
    "pet": re.compile(r"pet"),
    "skin_type": re.compile(r"skin"),
    "favourite_colour": re.compile(r"colou?r"),
    "style_preference": re.compile(r"style"),
}


def key_for(statement: Statement, known: tuple[KnownFact, ...]) -> str:
    """The key of the known fact on the same subject, as it is; else the rule's own."""
    same = next((fact.key for fact in known if _same_subject(statement, fact)), None)
    if same is not None:
        return same
    if statement.key == "material_avoid" and any(fact.key == "material_avoid" for fact in known):
        # Another material stands under this key, and it still holds.
        return f"{statement.slug}_avoid"
    return statement.key


def _same_subject(statement: Statement, fact: KnownFact) -> bool:
    if statement.slug is None:
        pattern = _SAME_SUBJECT.get(statement.key)
        return fact.key == statement.key or (pattern is not None and pattern.search(fact.key) is not None)
    if statement.key == "diet":
        return "diet" in fact.key
    about = {mention.substance.slug for mention in substances_in(f"{fact.value} {fact.key.replace('_', ' ')}")}
    allergies = [_is_allergy(text) for text in (f"{fact.key} {fact.value}", f"{statement.key} {statement.value}")]
    return statement.slug in about and allergies[0] == allergies[1]


def _is_allergy(text: str) -> bool:
    return "allerg" in text.casefold() or "过敏" in text


def worth_saying(statement: Statement, known: tuple[KnownFact, ...]) -> bool:
    """Taking something back says nothing where nothing was known."""
    return not statement.takes_back or any(_same_subject(statement, fact) for fact in known)
