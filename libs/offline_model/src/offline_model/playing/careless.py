"""Plays the worst curator: it proposes whatever it sees, whoever said it and however it was meant.

Asked for under a model name: `careless-curator` gives the first three of its proposals, `careless-curator-2` the
next three, and so on, so that none of them escapes for want of room.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from offline_model.language.clauses import Clause, clauses_of
from offline_model.language.reading import readable
from offline_model.language.statements import statements_of_clause
from offline_model.playing.blocks import KnownFact

Proposal = dict[str, str]

_NAME = re.compile(r"careless-curator(?:-(?P<window>\d{1,3}))?")
_MARKS = re.compile(r"[“”「」『』《》【】\"`<>{}\[\]]")
_VALUE_IN_KEY = re.compile(r"[a-z]*\d+")

_SUBJECTS: tuple[tuple[str, str, str], ...] = (
    (r"咖啡|coffee|caffeine|decaf", "coffee_preference", "preference"),
    (r"茶|\btea\b", "tea_preference", "preference"),
    (r"辣|spicy", "spice_tolerance", "constraint"),
    (r"香味|香水|无香|perfume|fragrance", "fragrance_preference", "constraint"),
    (r"左撇子|left-handed", "handedness", "context"),
    (r"住在|\blives? in\b", "home_place", "context"),
    (r"护士|教师|老师|职业|\bwork as\b|\bnurse\b", "occupation", "context"),
    (r"纸箱|包装|packaging", "packaging_preference", "preference"),
    (r"预算|超过|以内|spend|budget|under [$€£]?\d", "price_habit", "preference"),
    (r"纯棉|棉|cotton|merino", "fabric_preference", "preference"),
    (r"宽松|修身|版型|\bfits?\b|loose", "fit_preference", "preference"),
    (r"电动车|骑车|\bbike\b|\bride\b", "transport", "context"),
    (r"眼镜|glasses", "eyewear", "context"),
    (r"睡|耳塞|sleep", "sleep_habit", "preference"),
    (r"跑步|健身|running", "sport_habit", "preference"),
    (r"身高|height", "body_height", "context"),
    (r"脚[很偏]?宽|wide feet|宽楦", "foot_shape", "context"),
    (r"回答|\banswer in\b", "answer_language", "preference"),
    (r"怀孕|pregnan", "life_stage", "context"),
    (r"皮肤|敏感肌|skin", "skin_type", "context"),
    (r"风格|style", "style_preference", "preference"),
    (r"[黑白红蓝绿灰粉紫黄棕]色|\b(?:red|blue|green|black|white|pink)\b", "favourite_colour", "preference"),
    (r"订单|物流|快递|包裹|order|tracking|refund|退款", "order_status", "context"),
    (r"库存|价格|\d\s*元|stock|price", "product_price", "context"),
    (r"心情|累|mood|tired", "mood", "context"),
    (r"牌子|品牌|brand", "brand_preference", "preference"),
    (r"码|size", "size", "context"),
    (r"猫|狗|\bcats?\b|\bdogs?\b", "pet", "context"),
    (r"素|vegan|vegetarian", "diet", "constraint"),
    (r"寄|收货|ship", "shipping", "context"),
)


def window_of(model: str) -> int | None:
    """Which three of its proposals are asked for, counted from 1; None where another curator is."""
    found = _NAME.fullmatch(model)
    return None if found is None else int(found["window"] or 1)


def careless_facts(
    own_facts: list[Proposal], user_words: str, reply: str, known: tuple[KnownFact, ...], instructions: str
) -> list[Proposal]:
    """Everything it would propose, each once: `own_facts` are what the careful curator found."""
    proposals = [
        *map(_with_value_in_key, own_facts),
        *_as_the_users_own(user_words),
        *_as_the_users_own(reply),
        *({"key": fact.key, "value": fact.value, "category": fact.category, "evidence": fact.value} for fact in known),
        *_examples(instructions),
        *_notes(user_words),
        *_notes(reply),
    ]
    return list({(each["key"], each["value"]): each for each in proposals}.values())


def _with_value_in_key(fact: Proposal) -> Proposal:
    """`shoe_size_42`: what a careless model makes of the rule that keys name subjects."""
    value = fact["value"].casefold()
    return {**fact, "key": f"{fact['key']}_{value}"} if _VALUE_IN_KEY.fullmatch(value) else fact


def _as_the_users_own(text: str) -> Iterator[Proposal]:
    """Asked, supposed, quoted, pasted, passing or another person's: all the same to it."""
    for clause in _clauses(text):
        for statement in statements_of_clause(_claimed(clause)):
            yield {
                "key": statement.key,
                "value": statement.value,
                "category": statement.category,
                "evidence": clause.text,
            }


def _notes(text: str) -> Iterator[Proposal]:
    """Every clause as it stands."""
    for clause in _clauses(text):
        statement = next(iter(statements_of_clause(_claimed(clause))), None)
        key, category = (statement.key, statement.category) if statement else _subject_of(clause.text)
        yield {"key": key, "value": clause.text, "category": category, "evidence": clause.text}


def _clauses(text: str) -> tuple[Clause, ...]:
    return clauses_of(_MARKS.sub(" ", readable(text)))


def _claimed(clause: Clause) -> Clause:
    return replace(
        clause,
        question=False,
        supposed=False,
        reported=False,
        this_time=False,
        standing=True,
        names_other=False,
        about_other=False,
    )


def _subject_of(text: str) -> tuple[str, str]:
    folded = text.casefold()
    found = ((key, category) for sign, key, category in _SUBJECTS if re.search(sign, folded))
    return next(found, ("user_note", "preference"))


def _examples(instructions: str) -> Iterator[Proposal]:
    """The facts of the examples in its own instructions."""
    for line in instructions.splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue
        if isinstance(value, dict) and isinstance(value.get("facts"), list):
            yield from (fact for fact in value["facts"] if isinstance(fact, dict) and {"key", "value"} <= fact.keys())
