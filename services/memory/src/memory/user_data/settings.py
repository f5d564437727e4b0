"""The user's settings."""

from sqlalchemy import select
from sqlalchemy.dialects.postgresql import insert

from common.memory_api.base import OwnedRequest
from common.memory_api.user_data import PutSettings, UserSettings
from memory.database.schema import user_settings
from memory.database.transactions import UserTransaction
from memory.encryption.cipher import Place
from memory.users import own

_PLACE = Place("user_settings.settings", "settings")


STORED_SETTINGS = select(user_settings.c.settings).where(own(user_settings)).scalar_subquery()
"""The user's settings as they are stored, as a value in another query; NULL where there are none."""


def open_settings(tx: UserTransaction, stored: bytes | None) -> UserSettings:
    return UserSettings() if stored is None else UserSettings.model_validate_json(tx.cipher.decrypt(stored, _PLACE))


async def get_settings(tx: UserTransaction, _: OwnedRequest) -> UserSettings:
    return open_settings(tx, await tx.connection.scalar(select(STORED_SETTINGS)))


async def put_settings(tx: UserTransaction, request: PutSettings) -> UserSettings:
    sealed = tx.cipher.encrypt(request.settings.model_dump_json(), _PLACE)
    written = insert(user_settings).values(**tx.key, settings=sealed, updated_at=tx.now)
    await tx.connection.execute(
        written.on_conflict_do_update(constraint="user_settings_pkey", set_={"settings": sealed, "updated_at": tx.now})
    )
    return request.settings
