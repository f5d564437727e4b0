"""What a client posts as a turn, and what it is told at once."""

from uuid import UUID

from pydantic import ConfigDict

from common.memory_api.base import Message
from common.memory_api.turns import TurnReference, TurnStatus
from common.text import UserText


class NewTurn(Message):
    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "我对坚果过敏，东西都寄德国。想找一个通勤双肩包，500 元以内"}]}
    )

    text: UserText


class PostedTurn(Message):
    turn_id: UUID
    session_id: UUID
    seq: int
    status: TurnStatus
    events_url: str

    @classmethod
    def of(cls, turn: TurnReference) -> "PostedTurn":
        return cls(
            turn_id=turn.turn_id,
            session_id=turn.session_id,
            seq=turn.seq,
            status=turn.status,
            events_url=f"{turn_url(turn.turn_id)}/events",
        )


def turn_url(turn_id: UUID) -> str:
    return f"/api/turns/{turn_id}"
