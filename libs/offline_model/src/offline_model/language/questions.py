"""Questions about products that were shown: what one of them is like, or which one to take."""

import re

from offline_model.language.references import places_in, points_at_one, points_at_several

_ABOUT_ONE = re.compile(
    r"材质|材料|面料|成分|配料|过敏|含(?:不含)?|尺寸|多大|多重|重量|容量|规格|参数|产地|哪里(?:产|发货)|发货地|哪个国家|保质期|"
    r"机洗|防水|电压|续航|详细|详情|介绍|具体|说说|讲讲|怎么样|适合|能不能|"
    r"\b(?:materials?|made of|ingredients?|allergens?|contains?|size|dimensions?|big|weigh(?:s|t)?|capacity|"
    r"specs?|specifications?|"
    r"details?|ships? from|wash(?:able)?|waterproof|voltage|battery|tell me (?:more )?about|more about|what about|"
    r"describe)\b",
    re.IGNORECASE,
)
_WHICH = re.compile(
    r"(?:再|帮我|给我|替我)?(?:挑|选)(?:一下|一个|一款|几个|出)?|哪(?:个|一个|款|一款|件)(?:最|更|比较)?|推荐哪|"
    r"\b(?:which|pick|choose|narrow|sort)\b",
    re.IGNORECASE,
)
_CHEAPEST = re.compile(r"最便宜|最低价|\bcheapest\b", re.IGNORECASE)


def asks_about_one(words: str) -> bool:
    """「第二个是什么材质」: about one product that was shown, and not for another."""
    return bool(_ABOUT_ONE.search(words) and (places_in(words) or points_at_one(words)))


def asks_to_pick(words: str) -> bool:
    """「从这几款里挑一个」: among what was found already."""
    return points_at_several(words) and _WHICH.search(words) is not None


def asks_for_cheapest(words: str) -> bool:
    return _CHEAPEST.search(words) is not None
