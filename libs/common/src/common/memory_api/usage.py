"""What model calls cost, per session."""

from uuid import UUID

from common.memory_api.base import Message
from common.memory_api.turns import ModelCall


class TurnModelCall(ModelCall):
    turn_id: UUID
    turn_seq: int


class Usage(Message):
    calls: list[TurnModelCall]
