"""A request to the model, as the exact text that is sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from model_client.cache_marks import marked_messages
from model_client.exact_json import exact_json
from model_client.profiles import GENERIC, ProviderProfile, ResponseFormats


@dataclass(frozen=True)
class ModelRequest:
    """`messages` and `tools` are JSON texts: they go out as they are, so that a request whose messages extend
    an earlier one's extends its bytes too. `options` are further fields of the body (`response_format`, …).

    `thinking` switches it on or off where the provider can (None: its default), `max_tokens` limits the answer, and
    `cache_key` names requests that share a prefix, for providers that route by it.
    """

    model: str
    messages: tuple[str, ...]
    tools: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    taken_call_ids: frozenset[str] = frozenset()
    thinking: bool | None = None
    max_tokens: int | None = None
    cache_key: str | None = None

    def body(self, profile: ProviderProfile = GENERIC) -> bytes:
        """The request body. What a session's requests share comes first, the growing list of messages last."""
        parts = [f'"model":{exact_json(self.model)}']
        if self.tools is not None:
            parts.append(f'"tools":{self.tools}')
        parts.extend(f"{exact_json(name)}:{exact_json(value)}" for name, value in sorted(self._fields(profile).items()))
        parts.append('"stream":true')
        if profile.include_usage:
            parts.append('"stream_options":{"include_usage":true}')
        parts.append(f'"messages":[{",".join(marked_messages(self.messages, self.tools, profile))}]')
        return ("{" + ",".join(parts) + "}").encode()

    def with_more_room(self) -> "ModelRequest":
        """The same with twice the limit, if it has one: for an answer that was cut off."""
        return self if self.max_tokens is None else replace(self, max_tokens=2 * self.max_tokens)

    def _fields(self, profile: ProviderProfile) -> dict[str, Any]:
        fields = dict(profile.always)
        if self.thinking is not None and profile.thinking is not None:
            fields |= profile.thinking.on if self.thinking else profile.thinking.off
        if self.max_tokens is not None:
            fields[profile.max_tokens_field] = self.max_tokens
        if self.cache_key is not None and profile.cache_key:
            fields["prompt_cache_key"] = self.cache_key
        return fields | self._accepted_options(profile)

    def _accepted_options(self, profile: ProviderProfile) -> dict[str, Any]:
        accepted = {name: value for name, value in self.options.items() if name not in profile.left_out}
        if "response_format" in accepted and profile.response_format is ResponseFormats.JSON_OBJECT:
            accepted["response_format"] = {"type": "json_object"}
        if profile.response_format is ResponseFormats.PROMPT:
            accepted.pop("response_format", None)
        forced = accepted.get("tool_choice") not in (None, "auto", "none")
        if forced and self.thinking is not False and not profile.forced_tool_while_thinking:
            del accepted["tool_choice"]
        return accepted
