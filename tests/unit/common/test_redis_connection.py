"""A connection to Redis that broke a moment ago fails with an error of redis-py, also under uvloop."""

import asyncio

import pytest
import uvloop
from redis.exceptions import ConnectionError as RedisConnectionError

from common.streams.connection import RedisConnection, RedisTlsConnection, connection_class


async def until_the_other_side_ends(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        await reader.read()
    except ConnectionError:
        pass
    finally:
        writer.close()


async def write_to_a_broken_connection() -> None:
    async with await asyncio.start_server(until_the_other_side_ends, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        connection = RedisConnection(host="127.0.0.1", port=port, socket_timeout=1.0)
        connection._reader, connection._writer = await asyncio.open_connection("127.0.0.1", port)
        connection._writer.transport.abort()
        await asyncio.sleep(0)  # the loop closes it
        await connection.send_packed_command(b"PING", check_health=False)


def test_it_is_an_outage_under_uvloop() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, pytest.raises(RedisConnectionError):
        runner.run(write_to_a_broken_connection())


def test_tls_stays_tls() -> None:
    assert connection_class("rediss://redis:6379/0") is RedisTlsConnection
    assert connection_class("redis://redis:6379/0") is RedisConnection
