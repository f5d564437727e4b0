"""New log entries: each kind of message, as it is stored and sent."""

from collections.abc import Sequence
from uuid import UUID

from common.ids import IdFactory
from common.memory_api.sessions import Layer, NewLogEntry
from model_client.answers import ModelAnswer
from model_client.exact_json import exact_json, well_formed
from model_client.profiles import ProviderProfile


class EntryFactory:
    """Makes entries with ids of their own. System messages in mid-conversation take the profile's role."""

    def __init__(self, new_id: IdFactory, profile: ProviderProfile) -> None:
        self._new_id = new_id
        self._profile = profile

    def user_message(self, content: str, *, bears_memory: bool = False) -> NewLogEntry:
        return self._entry(Layer.L4, exact_json({"role": "user", "content": content}), bears_memory=bears_memory)

    def memory_block(self, content: str, fact_ids: Sequence[UUID]) -> NewLogEntry:
        payload = exact_json({"role": self._profile.memory_role, "content": content})
        return self._entry(Layer.L5, payload, fact_ids, bears_memory=True)

    def answer(self, answer: ModelAnswer, *, bears_memory: bool) -> NewLogEntry:
        return self._entry(Layer.L3, answer.payload, bears_memory=bears_memory)

    def tool_result(
        self, call_id: str, content: str, fact_ids: Sequence[UUID] = (), *, bears_memory: bool = False
    ) -> NewLogEntry:
        payload = exact_json({"role": "tool", "tool_call_id": call_id, "content": content})
        return self._entry(Layer.L3, payload, fact_ids, bears_memory=bears_memory)

    def notice(self, text: str) -> NewLogEntry:
        content = f"<system_notice>\n{text}\n</system_notice>"
        return self._entry(Layer.L3, exact_json({"role": self._profile.memory_role, "content": content}))

    def _entry(
        self, layer: Layer, payload: str, fact_ids: Sequence[UUID] = (), *, bears_memory: bool = False
    ) -> NewLogEntry:
        # The one place where payloads are made storable: memory refuses lone surrogates and NUL, and whatever
        # a model or a tool wrote must not cost the turn. (JSON writes NUL as an escape, so that only readers of the
        # message meet it; they replace it.)
        return NewLogEntry(
            entry_id=self._new_id(),
            layer=layer,
            payload=well_formed(payload),
            memory_fact_ids=list(fact_ids),
            bears_memory=bears_memory,
        )
