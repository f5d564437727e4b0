"""Reads the skill that fits a turn, in a call of its own before anything else, once per session."""

from offline_model.directives import DirectiveName
from offline_model.language.intents import Intent, intent_of
from offline_model.language.wishes import Wishes
from offline_model.playing.play import Play, call
from offline_model.playing.scene import Scene

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
    acted = scene.made or scene.told_to_wrap_up or scene.directed(DirectiveName.SKIP_SKILL)
    if _TOOL not in scene.tools or acted:
        return None
    name = _FITTING.get(intent_of(scene.words, wishes))
    if name not in scene.skills or name in _already_read(scene):
        return None
    return Play(calls=(call(_TOOL, name=name),))


def _already_read(scene: Scene) -> set[object]:
    reads = [made for made in scene.earlier if made.name == _TOOL and "<skill_content" in made.result]
    return {made.arguments.get("name") for made in reads if made.arguments}
