"""The embedded servers are the real ones, closed to strangers, and never outlive who started them."""

import os
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import jwt
import pytest
from redis.asyncio import Redis
from redis.exceptions import AuthenticationError, RedisError
from tests.support.servers import SERVER_PASSWORD
from tests.support.waiting import wait_for

from common.streams.names import ALL_GROUPS
from devstack.children import Child, Program, launch_command
from devstack.database import RolePasswords, create_database, database_url, drop_database
from devstack.errors import StackError, StartFailed
from devstack.ports import free_port
from devstack.secrets import load_secrets
from devstack.servers.operating_user import owned_directory, reachable_copy, remove_directory, server_user
from devstack.servers.postgres import EmbeddedPostgres
from devstack.servers.valkey import EmbeddedValkey
from devstack.stream_groups import create_stream_groups
from devstack.tokens import AUDIENCE, ISSUER, SigningKeys

only_as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root has to run the server as another user")
only_on_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends children with their parent")


async def test_postgres_is_18_with_its_extensions(postgres: str) -> None:
    connection = await asyncpg.connect(postgres)
    rows = await connection.fetch("SELECT name FROM pg_available_extensions")
    version = connection.get_server_version()
    await connection.close()
    assert version.major >= 18
    assert {"vector", "pg_trgm"} <= {row["name"] for row in rows}


async def test_postgres_refuses_a_wrong_password(postgres: str) -> None:
    if SERVER_PASSWORD not in postgres:
        pytest.skip("a given server has its own passwords")
    with pytest.raises(asyncpg.InvalidPasswordError):
        await asyncpg.connect(postgres.replace(SERVER_PASSWORD, "wrong"))


async def test_postgres_keeps_its_data_over_a_restart(tmp_path: Path) -> None:
    directory = tmp_path / "postgres"
    for number_of_starts in (1, 2):
        server = EmbeddedPostgres(directory, "secret", tmp_path / "postgres.log", durable=False)
        await server.start()
        try:
            connection = await asyncpg.connect(server.url)
            await connection.execute("CREATE TABLE IF NOT EXISTS starts AS SELECT 1 WHERE false")
            await connection.execute("INSERT INTO starts VALUES (1)")
            assert await connection.fetchval("SELECT count(*) FROM starts") == number_of_starts
            await connection.close()
        finally:
            await server.stop()
    remove_directory(directory)


async def test_a_database_is_created_once_and_dropped_under_its_users(postgres: str) -> None:
    name = f"twice_{os.getpid()}"
    for _ in range(2):
        assert await create_database(postgres, name) == database_url(postgres, name)
    user = await asyncpg.connect(database_url(postgres, name))
    await drop_database(postgres, name)
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await user.fetchval("SELECT 1")
    user.terminate()


async def test_only_harmless_database_names_reach_a_statement(postgres: str) -> None:
    with pytest.raises(ValueError, match="not a database name"):
        await create_database(postgres, 'x"; DROP DATABASE postgres; --')


async def test_valkey_asks_for_a_password_and_never_evicts(valkey: str) -> None:
    if SERVER_PASSWORD not in valkey:
        pytest.skip("a given server has its own configuration")
    async with Redis.from_url(valkey, decode_responses=True) as client:
        configuration = await client.config_get("maxmemory-policy", "save", "appendonly")
    assert configuration == {"maxmemory-policy": "noeviction", "save": "", "appendonly": "no"}
    async with Redis.from_url(valkey.replace(f":{SERVER_PASSWORD}@", "")) as stranger:
        with pytest.raises(AuthenticationError):
            await stranger.ping()


async def test_valkey_forgets_everything_when_killed(tmp_path: Path) -> None:
    server = EmbeddedValkey(tmp_path / "valkey", "secret", tmp_path / "valkey.log")
    await server.start()
    try:
        async with Redis.from_url(server.url) as client:
            await client.set("word", "kept?")
        server.kill()
        with pytest.raises(RedisError):
            async with Redis.from_url(server.url) as client:
                await client.ping()
        await server.start()
        async with Redis.from_url(server.url) as client:
            assert await client.dbsize() == 0
    finally:
        await server.stop()


async def test_groups_start_before_the_first_event(redis_url: str) -> None:
    async with Redis.from_url(redis_url, decode_responses=True) as client:
        for wanted in ALL_GROUPS:
            await client.xadd(wanted.stream, {"published": "before anybody reads"})
        for _ in range(2):
            await create_stream_groups(redis_url)
        for wanted in ALL_GROUPS:
            (group,) = await client.xinfo_groups(wanted.stream)
            assert (group["name"], group["last-delivered-id"]) == (wanted.group, "0-0")


_PARENT = """
import asyncio, os, sys, time
from pathlib import Path
from devstack.servers.postgres import EmbeddedPostgres
from devstack.servers.valkey import EmbeddedValkey

async def main():
    directory = Path(sys.argv[1])
    servers = [
        EmbeddedPostgres(directory / "postgres", "secret", directory / "postgres.log", durable=False),
        EmbeddedValkey(directory / "valkey", "secret", directory / "valkey.log"),
    ]
    for server in servers:
        await server.start()
        print(server.pid, flush=True)
    print("started", flush=True)
    time.sleep(600)

asyncio.run(main())
"""


@only_on_linux
async def test_servers_die_with_a_parent_that_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: ASYNC220 - the loop has nothing else to do
        [sys.executable, "-c", _PARENT, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as parent:
        assert parent.stdout is not None
        try:
            pids = [int(line) for line in iter(parent.stdout.readline, "started\n")]
            assert len(pids) == 2
            assert all(_runs(pid) for pid in pids)
        finally:
            parent.kill()

    # The next one may come while the killed one's server is still closing its files.
    successor = EmbeddedPostgres(tmp_path / "postgres", "secret", tmp_path / "postgres.log", durable=False)
    try:
        await successor.start()
    finally:
        await successor.stop()
    await wait_for(lambda: not any(_runs(pid) for pid in pids), "both servers ended")
    assert (tmp_path / "postgres.log").read_text().count("database system is shut down") == 2
    remove_directory(tmp_path / "postgres")


@only_on_linux
def test_a_child_whose_parent_is_already_gone_does_not_start(tmp_path: Path) -> None:
    started = tmp_path / "started"
    command = launch_command([sys.executable, "-c", f"open({str(started)!r}, 'w')"])
    someone_else = f"--parent={os.getppid()}"
    orphan = [someone_else if word.startswith("--parent=") else word for word in command]
    assert subprocess.run(orphan, capture_output=True, check=False).returncode == 1
    assert not started.exists()
    assert subprocess.run(command, check=False).returncode == 0
    assert started.exists()


async def test_a_child_that_ignores_the_stop_signal_is_killed(tmp_path: Path) -> None:
    stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('ready'); time.sleep(60)"
    child = Child(_python(tmp_path, stubborn))
    await wait_for(lambda: "ready" in (tmp_path / "log").read_text(), "the child ignores SIGTERM")
    await child.stop(timeout=0.2)
    assert child.exit_code == -signal.SIGKILL


async def test_a_child_that_ends_early_is_reported_with_its_log(tmp_path: Path) -> None:
    child = Child(_python(tmp_path, "raise SystemExit('no such port')"))

    async def never() -> bool:
        return False

    with pytest.raises(StartFailed, match=r"ended with code 1(.|\n)*no such port"):
        await child.wait_until(never, timeout=20)


async def test_a_child_that_ends_while_it_is_asked_is_asked_again(tmp_path: Path) -> None:
    child = Child(_python(tmp_path, "import time; time.sleep(60)"))
    asked = 0

    async def ended() -> bool:
        nonlocal asked
        asked += 1
        if asked == 1:
            child.kill()
        return asked == 2

    await child.wait_until(ended, 10.0)


async def test_a_child_is_told_only_what_it_should_know(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "of the developer")
    child = Child(_python(tmp_path, "import os; print(sorted(os.environ))"))
    assert await child.wait(20) == 0
    seen = (tmp_path / "log").read_text()
    assert "DATABASE_URL" not in seen
    assert "TOLD" in seen


def _python(directory: Path, program: str) -> Program:
    return Program("child", [sys.executable, "-c", program], directory / "log", {"TOLD": "yes"})


@only_as_root
def test_data_of_the_server_user_lies_where_it_can_be_reached(tmp_path: Path) -> None:
    user = server_user()
    assert user is not None
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    try:
        place = owned_directory(closed / "data", user)
        assert (closed / "data").resolve() == place
        assert owned_directory(closed / "data", user) == place
        assert place.stat().st_uid == user.uid
        touch = ["/usr/bin/touch", str(place / "written")]
        assert subprocess.run(launch_command(touch, user), cwd="/", check=False).returncode == 0
        # Nothing that was closed is open now.
        assert closed.stat().st_mode & 0o077 == 0
    finally:
        remove_directory(closed / "data")
    assert not place.exists()
    assert not os.path.lexists(closed / "data")


@only_as_root
def test_a_clone_does_not_find_the_data_of_one_that_was_deleted_here(tmp_path: Path) -> None:
    user = server_user()
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    before = owned_directory(closed / "data", user)
    try:
        (before / "cluster").touch()
        (closed / "data").unlink()  # as `rm -rf` of the clone does
        place = owned_directory(closed / "data", user)
        assert list(place.iterdir()) == []
    finally:
        remove_directory(closed / "data")
    assert not before.exists()


@only_as_root
def test_programs_that_cannot_be_reached_are_copied(tmp_path: Path) -> None:
    user = server_user()
    for part in ("programs", "libraries"):
        (tmp_path / part).mkdir(mode=0o700)
    (tmp_path / "libraries" / "code").write_text("7")
    program = tmp_path / "programs" / "program"
    program.write_text('#!/bin/sh\nexit $(cat "$(dirname "$0")/../libraries/code")\n')
    program.chmod(0o700)
    copy = reachable_copy(tmp_path, ("programs", "libraries"), user)
    try:
        command = launch_command([str(copy / "programs" / "program")], user)
        assert subprocess.run(command, cwd="/", check=False).returncode == 7
        assert reachable_copy(tmp_path, ("programs", "libraries"), user) == copy
    finally:
        remove_directory(copy.parent)


@only_as_root
def test_a_strangers_directory_is_not_used(tmp_path: Path) -> None:
    user = server_user()
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o700)
    place = owned_directory(closed / "data", user)
    try:
        os.chown(place.parent, 1234, 1234)
        with pytest.raises(StackError, match="only root can write to"):
            owned_directory(closed / "data", user)
    finally:
        remove_directory(closed / "data")


def test_free_ports_differ_and_can_be_listened_on() -> None:
    ports = {free_port() for _ in range(20)}
    assert len(ports) == 20
    assert all(port < 32_768 for port in ports)


def test_secrets_are_made_once_and_closed_to_others(tmp_path: Path) -> None:
    file = tmp_path / "secrets.json"
    first = load_secrets(file)
    assert load_secrets(file) == first
    assert file.stat().st_mode & 0o077 == 0
    assert first.role_passwords == RolePasswords(first.memory_app_password, first.memory_dispatch_password)


def test_a_token_is_what_the_gateway_expects(tmp_path: Path) -> None:
    keys = SigningKeys.in_directory(tmp_path / "keys")
    token = keys.token("acme", "u1", datetime.now(UTC))
    claims = jwt.decode(token, keys.public_file.read_text(), algorithms=["EdDSA"], audience=AUDIENCE, issuer=ISSUER)
    assert (claims["sub"], claims["tenant"]) == ("u1", "acme")
    assert jwt.get_unverified_header(token)["typ"] == "at+jwt"
    assert SigningKeys.in_directory(tmp_path / "keys").public_file.read_bytes() == keys.public_file.read_bytes()
    assert keys.private_file.stat().st_mode & 0o077 == 0


def _runs(pid: int) -> bool:
    """Whether the process is there and not merely waiting to be collected."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"
