"""New log entries: each kind of message, as it is stored and sent, and the two kinds that replace messages."""

from collections.abc import Sequence
from uuid import UUID

from agent.context.fences import neutralise
from agent.context.replacements import Prune, Summary
from common.ids import IdFactory
from common.memory_api.sessions import EntryKind, Layer, NewLogEntry
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

    def turn_block(self, content: str, *, bears_memory: bool = False) -> NewLogEntry:
        """L2: what is for this turn only, as a message of its own."""
        return self._entry(Layer.L2, self._from_system(content), bears_memory=bears_memory)

    def memory_block(self, content: str, fact_ids: Sequence[UUID]) -> NewLogEntry:
        return self._entry(Layer.L5, self._from_system(content), fact_ids, bears_memory=True)

    def plan(self, content: str) -> NewLogEntry:
        return self._entry(Layer.L3, self._from_system(content))

    def answer(self, answer: ModelAnswer, *, bears_memory: bool) -> NewLogEntry:
        return self._entry(Layer.L3, answer.payload, bears_memory=bears_memory)

    def tool_result(
        self, call_id: str, content: str, fact_ids: Sequence[UUID] = (), *, bears_memory: bool = False
    ) -> NewLogEntry:
        payload = exact_json({"role": "tool", "tool_call_id": call_id, "content": content})
        return self._entry(Layer.L3, payload, fact_ids, bears_memory=bears_memory)

    def notice(self, text: str) -> NewLogEntry:
        """The text may quote others: an item's id, the name of a tool that the model made up, P_t."""
        return self._entry(Layer.L3, self._from_system(f"<system_notice>\n{neutralise(text)}\n</system_notice>"))

    def correction(self, code: str, text: str) -> NewLogEntry:
        content = f'<correction code="{code}">\n{neutralise(text)}\n</correction>'
        return self._entry(Layer.L3, self._from_system(content))

    def prune(self, positions: Sequence[int]) -> NewLogEntry:
        payload = exact_json(Prune(positions=tuple(positions)).model_dump(mode="json"))
        return self._entry(Layer.L3, payload, kind=EntryKind.PRUNE)

    def summary(self, content: str, kept: Sequence[int], tail_from: int) -> NewLogEntry:
        """The words of a summary are the user's side of the conversation: as the assistant's, a model would imitate
        them instead of calling tools."""
        message = well_formed(exact_json({"role": "user", "content": content}))
        return self._summary(Summary(message=message, kept=tuple(kept), tail_from=tail_from))

    def failed_summary(self) -> NewLogEntry:
        return self._summary(Summary(message=None))

    def _summary(self, summary: Summary) -> NewLogEntry:
        return self._entry(Layer.L3, exact_json(summary.model_dump(mode="json")), kind=EntryKind.SUMMARY)

    def _from_system(self, content: str) -> str:
        return exact_json({"role": self._profile.memory_role, "content": content})

    def _entry(
        self,
        layer: Layer,
        payload: str,
        fact_ids: Sequence[UUID] = (),
        *,
        bears_memory: bool = False,
        kind: EntryKind = EntryKind.MESSAGE,
    ) -> NewLogEntry:
        # The one place where payloads are made storable: memory refuses lone surrogates and NUL, and whatever
        # a model or a tool wrote must not cost the turn. (JSON writes NUL as an escape, so that only readers of the
        # message meet it; they replace it.)
        return NewLogEntry(
            entry_id=self._new_id(),
            kind=kind,
            layer=layer,
            payload=well_formed(payload),
            memory_fact_ids=list(fact_ids),
            bears_memory=bears_memory,
        )
