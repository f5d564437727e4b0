"""What a turn is expected to be: the `expect` of the format that `scenario.py` tells."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from agent.catalogue.allergens import ALLERGENS
from agent.catalogue.domains import DOMAINS
from agent.catalogue.materials import MATERIALS
from agent.loop.corrections import Correction
from agent.skills.catalogue import builtin_skills
from common.memory_api.facts import FactSource, MemoryCategory


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


Tool = Literal[
    "Skill",
    "item_detail",
    "item_picker",
    "item_search",
    "knowledge_search",
    "landed_price",
    "order_lookup",
    "order_propose",
    "recall_memories",
    "save_memory",
    "shopping_summary",
]
Words = tuple[str, ...]
Which = Literal["every", "any", "last"]


class Matcher(Strict):
    """`has` and `lacks` look for words in a text, or in any member of a list; case does not matter. A list in place of
    a word in `has` asks for one of its words."""

    equals: dict[str, Any] = Field(default_factory=dict)
    has: dict[str, tuple[str | Words, ...]] = Field(default_factory=dict)
    lacks: dict[str, Words] = Field(default_factory=dict)
    at_most: dict[str, Decimal] = Field(default_factory=dict)
    at_least: dict[str, Decimal] = Field(default_factory=dict)
    absent: Words = Field(default=(), description="Fields that are not there, null or empty")
    present: Words = ()

    @model_validator(mode="after")
    def _checks_something(self) -> "Matcher":
        if not any((self.equals, self.has, self.lacks, self.at_most, self.at_least, self.absent, self.present)):
            raise ValueError("a matcher must check something")
        return self


class OfCalls(Matcher):
    tool: Tool
    of: Which = "every"


class Sum(Strict):
    tool: Tool
    field: str
    at_most: Decimal


class Quote(Strict):
    tool: Tool
    field: str


class Calls(Strict):
    exactly: tuple[Tool, ...] | None = None
    in_order: tuple[Tool, ...] = ()
    made: tuple[Tool, ...] = ()
    not_made: tuple[Tool, ...] = ()
    at_most: dict[Tool, int] = Field(default_factory=dict)


class InOneStep(Strict):
    tool: Tool
    at_least: int


class Price(Strict):
    amount: Decimal
    currency: str


class Products(Strict):
    """Judged by the catalogue's own entries. There must be one, unless `none` is asked for."""

    none: bool = False
    at_least: int = 1
    at_most: int | None = None
    price_at_most: Price | None = None
    ships_to: str | None = None
    without: Words = Field(default=(), description="Slugs of materials and allergens")
    domains: Words = ()
    includes: Words = Field(default=(), description="Item ids")
    lacks: Words = Field(default=(), description="Item ids")
    first: str | None = Field(default=None, description="Item id of the first one")
    marked: bool | None = Field(default=None, description="Whether some have a mark, or none has")

    @model_validator(mode="after")
    def _knows_the_catalogue(self) -> "Products":
        unknown = [slug for slug in self.without if slug not in MATERIALS and slug not in ALLERGENS]
        unknown += [domain for domain in self.domains if domain not in DOMAINS]
        if unknown:
            raise ValueError(f"not in the catalogue: {', '.join(unknown)}")
        return self


class MemoryBlock(Strict):
    shown: bool = True
    has: Words = ()
    lacks: Words = ()


class ExpectedFact(Strict):
    value: Words = Field(default=(), description="Words that its value has")
    lacks: Words = ()
    category: MemoryCategory | None = None
    source: FactSource | None = None


class Log(Strict):
    corrections: tuple[Correction, ...] = ()
    notices: Words = Field(default=(), description="Words that some notice has")
    blocks: Words = Field(default=(), description="Words that some block for this turn (L2) has")
    lacks: Words = Field(default=(), description="Words that no notice, correction or block has")


def _existing_skill(name: str) -> str:
    """A user's own skill has the name they gave it."""
    if name != "none" and not name.startswith("my/") and name not in builtin_skills().names:
        raise ValueError(f"there is no skill {name}")
    return name


ExpectedOrder = Annotated[dict[str, Any], Field(min_length=1)]


class Expectation(Strict):
    ends: Literal["completed", "failed", "cancelled"] = "completed"
    calls: Calls | None = None
    skill: Annotated[str, AfterValidator(_existing_skill)] | None = None
    in_one_step: InOneStep | None = None
    arguments: tuple[OfCalls, ...] = ()
    sum_of_arguments: Sum | None = None
    results: tuple[OfCalls, ...] = ()
    quotes: tuple[Quote, ...] = ()
    found: Products | None = None
    listed: Products | None = None
    planned: bool | None = None
    plan: Matcher | None = None
    session_constraints: Matcher | None = None
    memory_block: MemoryBlock | None = None
    facts: dict[str, ExpectedFact | Literal["absent"]] = Field(default_factory=dict)
    orders: tuple[ExpectedOrder, ...] | None = None
    log: Log | None = None
    main_calls_at_most: int | None = None
    reply_lacks: Words = ()
