"""The body of POST /v1/chat/completions, and what makes one acceptable."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from offline_model.errors import InvalidRequest

_NonEmpty = Annotated[str, StringConstraints(min_length=1)]


class _Part(BaseModel):
    """OpenAI adds fields faster than anyone follows: unknown ones are ignored, as providers do."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class CacheMark(_Part):
    type: Literal["ephemeral"]


class ContentPart(_Part):
    type: str
    text: str = ""
    cache_control: CacheMark | None = None


class RequestedFunction(_Part):
    name: _NonEmpty
    arguments: str


class RequestedCall(_Part):
    id: _NonEmpty
    type: Literal["function"] = "function"
    function: RequestedFunction


class ChatMessage(_Part):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None
    reasoning_content: str | None = None
    tool_calls: list[RequestedCall] = Field(default_factory=list)
    tool_call_id: _NonEmpty | None = None

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any) -> Any:
        if isinstance(value, dict) and value.get("tool_calls", ...) is None:
            return {name: item for name, item in value.items() if name != "tool_calls"}
        return value

    @property
    def text(self) -> str:
        if isinstance(self.content, list):
            return "".join(part.text for part in self.content)
        return self.content or ""


class ToolFunction(_Part):
    name: _NonEmpty


class Tool(_Part):
    type: Literal["function"]
    function: ToolFunction
    cache_control: CacheMark | None = None


class JsonSchema(_Part):
    name: _NonEmpty
    definition: dict[str, Any] = Field(default_factory=dict, alias="schema")


class ResponseFormat(_Part):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: JsonSchema | None = None


class StreamOptions(_Part):
    include_usage: bool = False


class TemplateOptions(_Part):
    """What a request can set in Qwen's chat template."""

    enable_thinking: bool | None = None
    preserve_thinking: bool | None = None


class GivenAnswer(_Part):
    """An answer that was recorded elsewhere, for requests that are sent again."""

    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[RequestedCall] = Field(default_factory=list)


class ChatRequest(_Part):
    model: _NonEmpty
    messages: Annotated[list[ChatMessage], Field(min_length=1)]
    tools: list[Tool] | None = None
    response_format: ResponseFormat | None = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    n: Annotated[int, Field(ge=1, le=1)] | None = 1
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_completion_tokens: Annotated[int, Field(ge=1)] | None = None
    enable_thinking: bool | None = None
    preserve_thinking: bool | None = None
    chat_template_kwargs: TemplateOptions | None = None
    offline_answer: GivenAnswer | None = None
    """No provider's field: answer this, and play no role."""

    @property
    def thinks(self) -> bool:
        """Whether the model thinks before it answers; off unless asked for, with DashScope's field or vLLM's."""
        return bool(self._template_option("enable_thinking"))

    @property
    def preserves_thinking(self) -> bool:
        """Whether the thoughts of earlier turns stay in the prompt; on unless refused."""
        return self._template_option("preserve_thinking") is not False

    def _template_option(self, name: str) -> bool | None:
        own: bool | None = getattr(self, name)
        return own if own is not None else getattr(self.chat_template_kwargs, name, None)

    @property
    def token_limit(self) -> int | None:
        return self.max_completion_tokens or self.max_tokens

    @property
    def tool_names(self) -> frozenset[str]:
        return frozenset(tool.function.name for tool in self.tools or [])

    @property
    def schema_name(self) -> str | None:
        """Name of the JSON schema that the answer must follow, if one was given."""
        schema = self.response_format.json_schema if self.response_format else None
        return schema.name if schema else None

    @property
    def wants_usage(self) -> bool:
        return not self.stream or (self.stream_options is not None and self.stream_options.include_usage)


def check_tool_results(messages: list[ChatMessage]) -> None:
    """Every tool call has exactly one result before the conversation goes on, and every result has its call.

    Raises:
        InvalidRequest: as real providers refuse such a conversation.
    """
    unanswered: set[str] = set()
    for position, message in enumerate(messages):
        if message.role == "tool":
            if message.tool_call_id not in unanswered:
                raise InvalidRequest(f"messages[{position}]: this tool result answers no open tool call")
            unanswered.remove(message.tool_call_id)
            continue
        if unanswered:
            raise InvalidRequest(f"messages[{position}]: tool calls before it have no result")
        if message.tool_calls and message.role != "assistant":
            raise InvalidRequest(f"messages[{position}]: only the assistant calls tools")
        unanswered = {call.id for call in message.tool_calls}
        if len(unanswered) < len(message.tool_calls):
            raise InvalidRequest(f"messages[{position}]: two tool calls have the same id")
    if unanswered:
        raise InvalidRequest("the last tool calls have no result")
