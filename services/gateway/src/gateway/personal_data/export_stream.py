"""An export as JSON lines, page after page, so that nobody holds it whole.

It ends with a line that says so: `{"type": "end", "lines": …}`. One that breaks off ends with
`{"type": "incomplete", …}` or with nothing at all, because its status was sent long before.
"""

import json
from collections.abc import AsyncIterator
from typing import Any

from common.memory_api.base import Owner
from common.memory_api.operations import EXPORT_DATA
from common.memory_api.personal_data import ExportData, ExportedPage
from common.problems import ProblemError
from gateway.memory_service import MemoryService


async def first_page(memory: MemoryService, owner: Owner) -> ExportedPage:
    """Asked for before anything is answered. Raises ProblemError."""
    return await memory.ask(EXPORT_DATA, ExportData(owner=owner))


async def export_lines(memory: MemoryService, owner: Owner, page: ExportedPage) -> AsyncIterator[bytes]:
    lines = 0
    while True:
        for record in page.records:
            yield record.model_dump_json().encode() + b"\n"
        lines += len(page.records)
        if page.next_cursor is None:
            yield _line({"type": "end", "lines": lines})
            return
        try:
            page = await memory.ask(EXPORT_DATA, ExportData(owner=owner, cursor=page.next_cursor))
        except ProblemError as error:
            yield _line({"type": "incomplete", "lines": lines, "code": error.code})
            return


def _line(record: dict[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"
