"""A value under its key, taken apart."""

import re
from dataclasses import dataclass
from functools import cached_property

from memory.facts.wording.attitude import is_against, without_attitude
from memory.facts.wording.content import content_words, folded, units
from memory.facts.wording.persons import subject_of, without_persons
from memory.facts.wording.quantities import quantities_in

# Words with which a value names its subject; the user need not have said them.
_LABELS = re.compile(
    r"默认|收货|收件|寄送|配送|寄到|寄往|发往|寄|国家|地区|地址|目的地|尺码|尺寸|鞋码|码数|号码|大小|习惯|品牌"
    r"|牌子|材质|材料"
    r"|口味|饮食|风格|颜色|职业|宠物|家里|家中|需要|长期|倾向|体质|肌肤|皮肤"
    r"|\b(?:default|ships?|shipping|destination|country|delivery|size|brand|material|preference|diet|dietary|type"
    r"|style|taste"
    r"|usual|lives?|long-term|regular|customer|number)\b"
)


@dataclass(frozen=True)
class Claim:
    key: str
    value: str

    @cached_property
    def folded(self) -> str:
        return folded(self.value)

    @cached_property
    def against(self) -> bool:
        return is_against(self.folded)

    @cached_property
    def subject(self) -> str:
        """SELF, or the person it is about."""
        return subject_of(self.key, self.value)

    @cached_property
    def units(self) -> frozenset[str]:
        """What it is about: the value without persons, attitude and the labels of its subject."""
        bare = without_persons(self.folded)
        kept = content_words(_LABELS.sub(" ", without_attitude(bare))) or content_words(bare)
        return units(kept or content_words(self.folded))

    @cached_property
    def numbers(self) -> frozenset[str]:
        return frozenset(number for number, _ in quantities_in(self.folded))
