"""How we reach Redis: redis-py's connections, but for one error.

Under uvloop, writing to a connection that broke a moment ago raises a RuntimeError ("the handler is closed"), where the
loop that redis-py is written for says so with the next read. Nobody who is ready for an outage of Redis expects that
type; a consumer's watch died of it. Here it is the broken pipe that it means, which redis-py then handles.
"""

from collections.abc import Iterable

from redis.asyncio import Connection, SSLConnection


class RedisConnection(Connection):
    async def _send_packed_command(self, command: Iterable[bytes]) -> None:
        try:
            await super()._send_packed_command(command)
        except RuntimeError as error:
            raise BrokenPipeError("the connection is closed") from error


class RedisTlsConnection(RedisConnection, SSLConnection):
    pass


def connection_class(redis_url: str) -> type[Connection]:
    """For `Redis.from_url` and `RedisBroker`, which would choose by the URL's scheme as well."""
    return RedisTlsConnection if redis_url.startswith("rediss://") else RedisConnection
