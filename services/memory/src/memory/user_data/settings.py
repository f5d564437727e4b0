"""The user's settings."""

from datetime import tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from common.memory_api.base import OwnedRequest
from common.memory_api.user_data import PutSettings, UserSettings
from common.problems import ProblemCode, ProblemError
from memory.database.schema import user_settings
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.users import lock_user, own

_PLACE = Place("user_settings.settings", "settings")


STORED_SETTINGS = select(user_settings.c.settings).where(own(user_settings)).scalar_subquery()
"""The user's settings as they are stored, as a value in another query; NULL where there are none."""


_STORED = Statement(select(STORED_SETTINGS))


def open_settings(tx: UserTransaction, stored: bytes | None) -> UserSettings:
    return UserSettings() if stored is None else UserSettings.model_validate_json(tx.cipher.decrypt(stored, _PLACE))


async def get_settings(tx: UserTransaction, _: OwnedRequest) -> UserSettings:
    return open_settings(tx, await tx.connection.scalar(_STORED))


async def time_zone(tx: UserTransaction) -> tzinfo:
    """Where the user's days end."""
    settings = open_settings(tx, await tx.connection.scalar(_STORED))
    return _zone(settings.time_zone) or ZoneInfo(UserSettings().time_zone)


async def put_settings(tx: UserTransaction, request: PutSettings) -> UserSettings:
    """Raises ProblemError where nobody knows the time zone."""
    if _zone(request.settings.time_zone) is None:
        raise ProblemError(ProblemCode.INVALID_REQUEST, "time_zone is no name of the IANA time zone database")
    await lock_user(tx)
    sealed = tx.cipher.encrypt(request.settings.model_dump_json(), _PLACE)
    written = insert(user_settings).values(**tx.key, settings=sealed, updated_at=tx.now)
    await tx.connection.execute(
        written.on_conflict_do_update(constraint="user_settings_pkey", set_={"settings": sealed, "updated_at": tx.now})
    )
    return request.settings


def _zone(name: str) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):  # also a path, or a directory of zones
        return None
