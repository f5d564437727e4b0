"""Reads the skill that fits a turn, in a call of its own before anything else, once per session."""

from offline_model.directives import DirectiveName
from offline_model.language.intents import Intent, intent_of
from offline_model.language.named_products import names_one_product
from offline_model.language.personal_skills import is_called_for
from offline_model.language.questions import asks_about_one, asks_to_pick
from offline_model.language.wishes import Wishes
from offline_model.playing.play import Play, call
from offline_model.playing.scene import Scene
from offline_model.playing.shown import last_shown
from offline_model.playing.straying import strays

_TOOL = "Skill"
_FITTING = {
    Intent.PRODUCT_SEARCH: "search-discovery",
    Intent.ACCESSORY: "search-discovery",
    Intent.PURCHASE_RESEARCH: "purchase-research",
    Intent.BUNDLE: "bundle-planning",
    Intent.ORDER_CARE: "order-care",
    Intent.DEVICE_FAULT: "order-care",
    Intent.MEMORY: "memory-personalization",
    Intent.IMAGE_SEARCH: "image-shopping",
    Intent.LANDED_PRICE: "cross-border-duty",
}
"""Talk and questions of use need none."""


def read_skill(scene: Scene, wishes: Wishes) -> Play | None:
    """A skill whose body compaction took is read again: what is no longer in the conversation was not read."""
    if _TOOL not in scene.tools or scene.told_to_wrap_up or strays(scene, DirectiveName.SKIP_SKILL):
        return None
    name = _reminded_of(scene) or (None if scene.made else _personal(scene) or fitting_skill(scene, wishes))
    if name not in (*scene.skills, *scene.personal_skills) or name in _already_read(scene):
        return None
    return Play(calls=(call(_TOOL, name=name),))


def fitting_skill(scene: Scene, wishes: Wishes) -> str | None:
    """None where a single product is named, or one that was shown is asked about: nothing is to be found out first."""
    intent = intent_of(scene.words, wishes)
    if intent is Intent.PRODUCT_SEARCH and (
        _is_about_what_was_shown(scene, wishes) or names_one_product(scene.words, wishes)
    ):
        return None
    return _FITTING.get(intent)


def _personal(scene: Scene) -> str | None:
    """The user's own goes before a built-in one."""
    named = scene.personal_skills.items()
    return next((name for name, description in named if is_called_for(scene.words, name, description)), None)


def _is_about_what_was_shown(scene: Scene, wishes: Wishes) -> bool:
    asks = asks_to_pick(scene.words) or (asks_about_one(scene.words) and not wishes.queries)
    return asks and bool(last_shown(scene))


def _reminded_of(scene: Scene) -> str | None:
    """The skill that a correction says was skipped."""
    told = [reproof.text for reproof in scene.reproofs if reproof.code == "skipped_skill"]
    return next((name for name in sorted(scene.skills) if told and f"「{name}」" in told[-1]), None)


def _already_read(scene: Scene) -> set[object]:
    calls = (*scene.earlier, *scene.made)
    reads = [made for made in calls if made.name == _TOOL and "<skill_content" in made.result]
    return {made.arguments.get("name") for made in reads if made.arguments}
