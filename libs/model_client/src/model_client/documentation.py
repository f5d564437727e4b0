"""docs/providers.md, written from the profiles."""

from collections.abc import Callable
from importlib.resources import files
from string import Template

from model_client.exact_json import exact_json
from model_client.profiles import PROFILES, CacheMarks, ProviderProfile


def page() -> str:
    template = files("model_client").joinpath("providers.md").read_text(encoding="utf-8")
    return Template(template).substitute(behaviour=_table(_BEHAVIOUR), fields=_table(_FIELDS))


_Column = tuple[str, Callable[[ProviderProfile], str]]

_BEHAVIOUR: tuple[_Column, ...] = (
    ("window, tokens", lambda profile: f"{profile.context_tokens:,}"),
    ("memory role", lambda profile: profile.memory_role),
    ("cache marks", lambda profile: profile.marks.value),
    ("cache minimum, tokens", lambda profile: f"{profile.cache_minimum:,}"),
    ("cached tokens in", lambda profile: profile.usage.value),
    ("response format", lambda profile: profile.response_format.value),
    ("forced tool while thinking", lambda profile: _yes(profile.forced_tool_while_thinking)),
    ("`include_usage`", lambda profile: _yes(profile.include_usage)),
)
_FIELDS: tuple[_Column, ...] = (
    ("a mark", lambda profile: _fields({} if profile.marks is CacheMarks.NONE else profile.mark)),
    ("thinking on", lambda profile: _fields(profile.thinking.on if profile.thinking else {})),
    ("thinking off", lambda profile: _fields(profile.thinking.off if profile.thinking else {})),
    ("reasoning echo", lambda profile: _names(profile.reasoning_field)),
    ("always sent", lambda profile: _fields(profile.always)),
    ("headers", lambda profile: _fields(profile.headers)),
    ("routing key", lambda profile: _names("prompt_cache_key" if profile.cache_key else None)),
    ("limit of the answer", lambda profile: _names(profile.max_tokens_field)),
    ("left out", lambda profile: _names(*sorted(profile.left_out))),
)


def _table(columns: tuple[_Column, ...]) -> str:
    rows = [("profile", *(name for name, _ in columns)), ("---",) * (len(columns) + 1)]
    rows += [(f"**{profile.name}**", *(shown(profile) for _, shown in columns)) for profile in PROFILES.values()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _names(*names: str | None) -> str:
    return ", ".join(f"`{name}`" for name in names if name) or "–"


def _fields(fields: object) -> str:
    return f"`{exact_json(fields)}`" if fields else "–"


def _yes(value: bool) -> str:
    return "yes" if value else "no"
