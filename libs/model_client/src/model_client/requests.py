"""A request to the model, as the exact text that is sent."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from model_client.exact_json import exact_json


@dataclass(frozen=True)
class ModelRequest:
    """`messages` and `tools` are JSON texts: they go out as they are, so that a request whose messages extend
    an earlier one's extends its bytes too. `options` are further fields of the body (`response_format`, …)."""

    model: str
    messages: tuple[str, ...]
    tools: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    taken_call_ids: frozenset[str] = frozenset()

    def body(self) -> bytes:
        """The request body. What a session's requests share comes first, the growing list of messages last."""
        parts = [f'"model":{exact_json(self.model)}']
        if self.tools is not None:
            parts.append(f'"tools":{self.tools}')
        parts.extend(f"{exact_json(name)}:{exact_json(value)}" for name, value in sorted(self.options.items()))
        parts.append('"stream":true,"stream_options":{"include_usage":true}')
        parts.append(f'"messages":[{",".join(self.messages)}]')
        return ("{" + ",".join(parts) + "}").encode()
