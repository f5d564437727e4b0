"""A connection to Redis that broke a moment ago fails with an error of redis-py, also under uvloop."""

import asyncio

import pytest
import uvloop
from redis.exceptions import ConnectionError as RedisConnectionError

from common.streams.connection import RedisConnection, RedisTlsConnection, connection_class


async def write_to_a_broken_connection() -> None:
    server = await asyncio.start_server(lambda _reader, _writer: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    connection = RedisConnection("127.0.0.1", port, socket_timeout=1.0)
    connection._reader, connection._writer = await asyncio.open_connection("127.0.0.1", port)
    connection._writer.transport.abort()
    await asyncio.sleep(0)  # the loop closes it
    try:
        async with asyncio.timeout(5.0):
            await connection.send_packed_command(b"PING", check_health=False)
    finally:
        server.close()


def test_it_is_an_outage_under_uvloop() -> None:
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner, pytest.raises(RedisConnectionError):
        runner.run(write_to_a_broken_connection())


def test_tls_stays_tls() -> None:
    assert connection_class("rediss://redis:6379/0") is RedisTlsConnection
    assert connection_class("redis://redis:6379/0") is RedisConnection
