"""Identifiers. New ones are UUIDv7 (RFC 9562): unguessable, and close to insertion order for indexes."""

from collections.abc import Callable
from typing import Annotated
from uuid import UUID

from pydantic import StringConstraints
from uuid_utils.compat import uuid7

_external_id = StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:@|-]{0,127}$")

TenantId = Annotated[str, _external_id]
UserId = Annotated[str, _external_id]

IdFactory = Callable[[], UUID]


def new_id() -> UUID:
    return uuid7()
