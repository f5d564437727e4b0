"""Expand and contract: a migration may only add, so that the release before it keeps working while it is rolled out.

What takes away, renames, retypes or tightens belongs into a later release, when nothing reads or writes the old shape
any more; it then carries a comment that says why that is safe, on its line or the one above:

    # contract: nobody writes turns.old_state since 2.4
    op.drop_column("turns", "old_state")
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

_MARKER = re.compile(r"#\s*contract:\s*\S.{9,}")

_TAKES_AWAY = frozenset({"drop_column", "drop_table", "drop_constraint", "rename_table", "drop_table_comment"})
_TIGHTENS = frozenset(
    {"create_unique_constraint", "create_check_constraint", "create_foreign_key", "create_exclude_constraint"}
)
_CONTRACTING_SQL = re.compile(
    r"\b(?:DROP|RENAME|TRUNCATE|REVOKE)\b"
    r"|\bDELETE\s+FROM\b"
    r"|\bALTER\s+(?:COLUMN\s+)?\S+\s+(?:SET\s+DATA\s+)?TYPE\b"
    r"|\bSET\s+NOT\s+NULL\b"
    r"|\bADD\s+(?:CONSTRAINT|CHECK|UNIQUE|PRIMARY|FOREIGN|EXCLUDE)\b"
    r"|\bCREATE\s+UNIQUE\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Finding:
    line: int
    why: str


def contracting_changes(source: str) -> list[Finding]:
    """What in a migration's `upgrade` breaks the release before it and carries no marker."""
    tree = ast.parse(source)
    if _is_the_first(tree):
        return []
    lines = source.splitlines()
    created = {_first_text(call) for call in _operations(tree) if _name(call) == "create_table"}
    return [
        Finding(call.lineno, why)
        for call in _operations(tree)
        if (why := _why(call, created)) is not None and not _is_marked(lines, call)
    ]


def _is_the_first(tree: ast.Module) -> bool:
    """Nothing ran before the first migration."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        if isinstance(target, ast.Name) and target.id == "down_revision":
            return isinstance(node.value, ast.Constant) and node.value.value is None
    return False


def _operations(tree: ast.Module) -> Iterator[ast.Call]:
    """Every call of Alembic's operations outside `downgrade`."""
    for top in tree.body:
        if isinstance(top, ast.FunctionDef) and top.name == "downgrade":
            continue
        for node in ast.walk(top):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                yield node


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else ""


def _why(call: ast.Call, created: set[str | None]) -> str | None:
    name = _name(call)
    if name in _TAKES_AWAY:
        return f"{name} takes away what the release before may still use"
    if name in _TIGHTENS and not _is_on(call, created):
        return f"{name} refuses what the release before may still write"
    if name == "create_index" and _keyword(call, "unique") is True and not _is_on(call, created):
        return "a unique index refuses what the release before may still write"
    if name == "alter_column":
        return _why_altered(call)
    if name == "add_column" and _adds_required_column(call):
        return "a required column without a default refuses the rows of the release before"
    if name == "execute":
        return _why_executed(call)
    return None


def _why_altered(call: ast.Call) -> str | None:
    given = {keyword.arg for keyword in call.keywords}
    if "new_column_name" in given:
        return "a renamed column is missing for the release before"
    if "type_" in given:
        return "the release before reads and writes the old type"
    if _keyword(call, "nullable") is False:
        return "the release before may still write no value"
    return None


def _adds_required_column(call: ast.Call) -> bool:
    columns = [node for node in ast.walk(call) if isinstance(node, ast.Call) and _name(node) == "Column"]
    return any(
        _keyword(column, "nullable") is False and not any(each.arg == "server_default" for each in column.keywords)
        for column in columns
    )


def _why_executed(call: ast.Call) -> str | None:
    texts = [node.value for node in ast.walk(call) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    if not texts:
        return "a statement that is not written out cannot be judged"
    found = _CONTRACTING_SQL.search(" ".join(texts))
    return None if found is None else f"{' '.join(found[0].upper().split())} in a statement"


def _is_on(call: ast.Call, tables: set[str | None]) -> bool:
    """Whether the table (second argument of all of these) was made by the same migration."""
    table = call.args[1] if len(call.args) > 1 else None
    return isinstance(table, ast.Constant) and table.value in tables


def _first_text(call: ast.Call) -> str | None:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None


def _keyword(call: ast.Call, name: str) -> object:
    value = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    return value.value if isinstance(value, ast.Constant) else None


def _is_marked(lines: list[str], call: ast.Call) -> bool:
    last = call.end_lineno or call.lineno
    return any(_MARKER.search(line) for line in lines[max(0, call.lineno - 2) : last])
