"""Shapes shared by all operations. Unknown fields are refused: a misspelt field is a lost write."""

from typing import Annotated
from uuid import UUID

from pydantic import BaseModel, ConfigDict, StringConstraints

from common.ids import TenantId, UserId
from common.text import StorableText

CallId = Annotated[StorableText, StringConstraints(min_length=1, max_length=128)]
"""A tool call, as the model named it: effects are keyed by (turn, call id)."""


class Message(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Owner(Message):
    """Whose data this is. The gateway takes it from the verified token, consumers from the work record."""

    tenant_id: TenantId
    user_id: UserId


class OwnedRequest(Message):
    owner: Owner


class TurnRequest(OwnedRequest):
    turn_id: UUID


class LeasedRequest(TurnRequest):
    """A write under a lease: only equality of the token decides who may write."""

    lease_token: UUID


class Done(Message):
    """The answer where there is nothing more to say."""
