"""`python -m memory`: serve, migrate, and an operator's commands."""

import argparse
import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from common.clock import SystemClock
from common.logs import configure_logs
from common.memory_api.dispatch import CheckInvariants, ListWork, WorkId, WorkKind, WorkState
from common.problems import ProblemError
from common.process.run import run_process
from common.process.web_server import WebServer, serve_until_stopped
from common.telemetry.metrics import Metrics
from common.telemetry.table import MEMORY
from memory.app import build, build_database
from memory.database.connection import DatabaseError
from memory.database.migrate import migrate
from memory.database.transactions import Database
from memory.dispatch.invariants import all_owners, check_invariants
from memory.dispatch.operating import discard_work, list_work, redrive_work, show_work
from memory.encryption.keys import CannotDecrypt
from memory.encryption.rotation import rotate_key
from memory.openapi import memory_openapi
from memory.policy import Policy
from memory.replay.command import add_replay_commands, run_replay_command
from memory.settings import MemorySettings, MigrationSettings

_CLOSING_SECONDS = 5.0
"""After the open requests: for the sweeper's last round and the connections."""


def main() -> int:
    arguments = _parser().parse_args()
    if arguments.command == "serve":
        return _serve()
    if arguments.command == "migrate":
        asyncio.run(migrate(MigrationSettings()))
        print("memory: the database is at the current schema")
        return 0
    if arguments.command == "openapi":
        print(json.dumps(memory_openapi(), indent=2, ensure_ascii=False))
        return 0
    if arguments.command == "check-invariants":
        return asyncio.run(_with_database(lambda database: _check(database, arguments.settled)))
    if arguments.command == "keys":
        return asyncio.run(_with_database(lambda database: _rotate(database, arguments.tenant, arguments.user)))
    if arguments.command == "replay":
        return asyncio.run(_with_database(lambda database: run_replay_command(database, arguments)))
    return asyncio.run(_with_database(lambda database: _work(database, arguments)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="memory", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="serve the internal API and sweep")
    commands.add_parser("migrate", help="make the roles and bring the schema up to date")
    commands.add_parser("openapi", help="print the description of the internal API")
    check = commands.add_parser("check-invariants", help="count the rows that break a promise; exit 1 if any")
    check.add_argument("--settled", action="store_true", help="also require that no work is open")
    keys = commands.add_parser("keys", help="give users a new key and seal their words anew")
    key_actions = keys.add_subparsers(dest="action", required=True)
    rotating = key_actions.add_parser("rotate", help="all users, or those of a tenant, or one")
    rotating.add_argument("--tenant")
    rotating.add_argument("--user")
    add_replay_commands(commands)
    work = commands.add_parser("work", help="list, show, drive again or discard work records")
    actions = work.add_subparsers(dest="action", required=True)
    listing = actions.add_parser("list")
    listing.add_argument("--state", type=WorkState, choices=list(WorkState))
    listing.add_argument("--kind", type=WorkKind, choices=list(WorkKind))
    listing.add_argument("--limit", type=int, default=50)
    for name in ("show", "redrive", "discard"):
        action = actions.add_parser(name)
        action.add_argument("kind", type=WorkKind, choices=list(WorkKind))
        action.add_argument("subject_id", type=UUID)
        action.add_argument("--run", type=int, default=0)
    return parser


def _serve() -> int:
    settings = MemorySettings()
    configure_logs("memory", settings.log_level, settings.log_format)
    metrics = Metrics(MEMORY)
    app = build(settings, metrics=metrics)
    server = WebServer(
        app,
        host=settings.host,
        port=settings.port,
        finish_seconds=settings.shutdown_seconds,
        stop_seconds=settings.shutdown_seconds + _CLOSING_SECONDS,
        begin_stopping=app.state.health.begin_stopping,
    )
    return run_process(MEMORY, settings, metrics, lambda: serve_until_stopped(server))


async def _with_database(use: Callable[[Database], Awaitable[int]]) -> int:
    settings = MemorySettings()
    database = build_database(settings, Policy.of(settings), SystemClock())
    try:
        return await use(database)
    except ProblemError as error:
        print(f"memory: {error.problem.title}: {error.problem.detail or error.code}", file=sys.stderr)
        return 2
    except DatabaseError as error:
        print(f"memory: the database cannot be used: {error}", file=sys.stderr)
        return 1
    finally:
        await database.close()


async def _check(database: Database, settled: bool) -> int:
    report = await check_invariants(database, CheckInvariants(settled=settled))
    for name, count in sorted(report.violations.items()):
        print(f"{'ok  ' if count == 0 else 'FAIL'} {name}: {count}")
    return 0 if report.clean else 1


async def _rotate(database: Database, tenant: str | None, user: str | None) -> int:
    """One user after the other. Interrupted, it may be started again; the retention job destroys the older keys."""
    failed = 0
    for owner in await all_owners(database):
        if tenant in (None, owner.tenant_id) and user in (None, owner.user_id):
            try:
                sealed = await rotate_key(database, owner)
                print(f"{owner.tenant_id} {owner.user_id}: {sealed} values sealed anew")
            except CannotDecrypt as error:
                failed += 1
                print(f"{owner.tenant_id} {owner.user_id}: {error} cannot be read", file=sys.stderr)
    return 1 if failed else 0


async def _work(database: Database, arguments: argparse.Namespace) -> int:
    if arguments.action == "list":
        listed = await list_work(database, ListWork(state=arguments.state, kind=arguments.kind, limit=arguments.limit))
        for record in listed.records:
            _print(record)
        return 0
    chosen = WorkId(kind=arguments.kind, subject_id=arguments.subject_id, run=arguments.run)
    action = {"show": show_work, "redrive": redrive_work, "discard": discard_work}[arguments.action]
    _print(await action(database, chosen))
    return 0


def _print(record: Any) -> None:
    print(json.dumps(record.model_dump(mode="json"), ensure_ascii=False))


if __name__ == "__main__":
    sys.exit(main())
