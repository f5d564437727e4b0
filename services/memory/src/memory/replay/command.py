"""`python -m memory replay start|show|list|cancel`: an operator's side of a replay job.

The job is moved on by the running service; this command only writes it down, and watches.
"""

import argparse
import asyncio
import sys
from datetime import UTC, datetime
from uuid import UUID

from pydantic import ValidationError

from common.ids import new_id
from common.memory_api.base import Message
from common.memory_api.replay import (
    CancelReplay,
    ListReplays,
    ReplayJob,
    ReplaySelection,
    ReplayState,
    ReplayTurnState,
    ShowReplay,
    StartReplay,
)
from memory.database.transactions import Database
from memory.replay.jobs import COUNTS, cancel_replay, list_replays, show_replay, start_replay

_LOOK_SECONDS = 0.5
_BAR = 24
_MOST_TURNS = 10_000


def add_replay_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    replay = commands.add_parser("replay", help="put finished turns through today's curator and rules again")
    actions = replay.add_subparsers(dest="action", required=True)
    start = actions.add_parser("start", help="start a job and watch it; it goes on when this command is stopped")
    start.add_argument("--tenant")
    start.add_argument("--user", help="within --tenant")
    start.add_argument("--session", type=UUID)
    start.add_argument("--since", type=_time, help="ISO 8601; turns that ended then or later")
    start.add_argument("--until", type=_time, help="ISO 8601; turns that ended before")
    start.add_argument("--failed", action="store_true", help="only turns whose curation is dead")
    start.add_argument("--dry-run", action="store_true", help="report what would change, and change nothing")
    start.add_argument("--rate", type=float, help="turns per second; REPLAY_TURNS_PER_SECOND without it")
    start.add_argument("--detach", action="store_true", help="do not watch")
    show = actions.add_parser("show", help="a job and its turns")
    show.add_argument("job", type=UUID)
    show.add_argument("--turns", type=int, default=_MOST_TURNS, help="how many turns to list")
    show.add_argument("--watch", action="store_true", help="until the job has ended")
    listing = actions.add_parser("list", help="the newest jobs")
    listing.add_argument("--limit", type=int, default=20)
    cancel = actions.add_parser("cancel", help="begin no further turn, and discard what is under way")
    cancel.add_argument("job", type=UUID)
    for action in (start, show, listing, cancel):
        action.add_argument("--json", action="store_true", help="JSON on the last line")


async def run_replay_command(database: Database, arguments: argparse.Namespace) -> int:
    """Returns the exit code: 1 where turns have failed. Raises ProblemError."""
    match arguments.action:
        case "start":
            return await _start(database, arguments)
        case "show":
            return await _show(database, arguments)
        case "list":
            replays = await list_replays(database, ListReplays(limit=arguments.limit))
            _print(arguments, replays, *(f"{job.created_at:%Y-%m-%d %H:%M} {line_of(job)}" for job in replays.jobs))
            return 0
        case _:
            job = await cancel_replay(database, CancelReplay(job_id=arguments.job))
            _print(arguments, job, line_of(job))
            return 0


async def _start(database: Database, arguments: argparse.Namespace) -> int:
    try:
        request = StartReplay(
            job_id=new_id(),
            selection=ReplaySelection(
                tenant_id=arguments.tenant,
                user_id=arguments.user,
                session_id=arguments.session,
                since=arguments.since,
                until=arguments.until,
                failed_only=arguments.failed,
            ),
            dry_run=arguments.dry_run,
            turns_per_second=arguments.rate,
        )
    except ValidationError as error:
        for each in error.errors():
            print(f"memory: {' '.join(map(str, each['loc']))} {each['msg']}".replace("  ", " "), file=sys.stderr)
        return 2
    job = await start_replay(database, request)
    if not arguments.detach:
        print(f"{job.job_id}: {job.total} turns; Ctrl-C stops the watching only", file=sys.stderr)
        job = await _watch(database, job.job_id)
    _print(arguments, job, line_of(job))
    return _exit_code(job)


async def _show(database: Database, arguments: argparse.Namespace) -> int:
    if arguments.watch:
        await _watch(database, arguments.job)
    report = await show_replay(database, ShowReplay(job_id=arguments.job, turns=arguments.turns))
    turns = (
        f"{turn.tenant_id} {turn.user_id} {turn.seq:>6} {turn.turn_id} {turn.state:<8} {_counts(turn.counts)}"
        for turn in report.turns
    )
    _print(arguments, report, *turns, line_of(report.job))
    return _exit_code(report.job)


async def _watch(database: Database, job_id: UUID) -> ReplayJob:
    """A bar on a terminal, a line whenever something has moved elsewhere; on stderr, so that JSON stays alone."""
    on_terminal, shown = sys.stderr.isatty(), ""
    while True:
        job = (await show_replay(database, ShowReplay(job_id=job_id))).job
        line = line_of(job)
        if line != shown:
            print(f"\r\x1b[K{line}" if on_terminal else line, end="" if on_terminal else "\n", file=sys.stderr)
            sys.stderr.flush()
            shown = line
        if job.state is not ReplayState.RUNNING:
            if on_terminal:
                print(file=sys.stderr)
            return job
        await asyncio.sleep(_LOOK_SECONDS)


def line_of(job: ReplayJob) -> str:
    """One line: the bar, the numbers of turns, and what came of them."""
    done = _BAR if not job.total else _BAR * job.ended // job.total
    failed, gone = job.turns[ReplayTurnState.FAILED], job.turns[ReplayTurnState.GONE]
    kind = "dry run" if job.dry_run else "replay"
    bar = "#" * done + "." * (_BAR - done)
    return (
        f"{job.job_id} {kind} {job.state:<9} [{bar}] {job.ended}/{job.total} turns, {failed} failed, {gone} gone: "
        f"{_counts(job.counts)}"
    )


def _counts(counts: Message) -> str:
    return " ".join(f"{name} {getattr(counts, name)}" for name in COUNTS)


def _exit_code(job: ReplayJob) -> int:
    return 1 if job.turns[ReplayTurnState.FAILED] else 0


def _print(arguments: argparse.Namespace, answer: Message, *lines: str) -> None:
    for line in (answer.model_dump_json(),) if arguments.json else lines:
        print(line)


def _time(text: str) -> datetime:
    """Without a zone it is UTC, as everywhere in the logs."""
    time = datetime.fromisoformat(text)
    return time if time.tzinfo is not None else time.replace(tzinfo=UTC)
