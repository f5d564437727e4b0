"""Finds, in the source of the memory service, what could write a remembered value past `validate_fact`.

Remembered values live in `memory_facts`, its versions and the candidates. The type `ValidFact` says that a fact has
passed the gate, so three things are held together: only the gate makes a `ValidFact`; only two modules write those
tables; and whatever in them leads to a write starts from a `ValidFact`.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

GUARDED = frozenset({"memory_facts", "memory_fact_versions", "memory_candidates"})
WRITERS = frozenset({"memory.facts.upserting", "memory.facts.candidates"})
GATE = "memory.facts.gate.fact"

_VALID = "ValidFact"
_VERBS = frozenset({"insert", "update"})
_READERS = frozenset({"select", "delete", "own", "exists"})
_REMEMBERED_COLUMNS = frozenset({"value", "fact_key"})
_WRITING_SQL = re.compile(
    rf"\b(?:INSERT\s+INTO|UPDATE|MERGE\s+INTO|COPY)\s+(?:\w+\.)?(?:{'|'.join(sorted(GUARDED))})\b", re.IGNORECASE
)


@dataclass(frozen=True)
class Finding:
    module: str
    line: int
    why: str


def ways_past_the_gate(module: str, source: str) -> list[Finding]:
    scan = _Scan(module, ast.parse(source))
    return [*scan.made_valid(), *scan.written_elsewhere(), *scan.written_without_gate()]


class _Scan:
    def __init__(self, module: str, tree: ast.Module) -> None:
        self._module = module
        self._tree = tree
        self._parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
        self._verbs = set(_imported(tree, "sqlalchemy", _VERBS))
        self._tables = set(_imported(tree, "memory.database.schema", GUARDED))

    def made_valid(self) -> Iterator[Finding]:
        """A `ValidFact` made, or its key or value replaced, outside the gate."""
        if self._module == GATE:
            return
        for call in self._calls():
            name = _name(call.func)
            if name == _VALID:
                yield self._finding(call, "only the gate makes a ValidFact")
            if name == "replace" and any(keyword.arg in (None, "key", "value") for keyword in call.keywords):
                yield self._finding(call, "a key or value is replaced after the gate")

    def written_elsewhere(self) -> Iterator[Finding]:
        """A write of a guarded table outside its modules, or a table handed to something that might write it."""
        if self._module in WRITERS:
            return
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _WRITING_SQL.search(node.value):
                yield self._finding(node, "SQL text writes a guarded table")
            elif self._is_guarded(node) and (why := self._misused(node)) is not None:
                yield self._finding(node, why)

    def written_without_gate(self) -> Iterator[Finding]:
        """In the writing modules: a public function that leads to a write and takes no `ValidFact`."""
        if self._module not in WRITERS:
            return
        definitions = {name: node for node in self._tree.body for name in _defined(node)}
        leads = {name for name, node in definitions.items() if self._writes(node)}
        while more := {name for name, node in definitions.items() if _names_in(node) & leads} - leads:
            leads |= more
        for name in sorted(leads):
            node = definitions[name]
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or name.startswith("_"):
                continue
            if not _takes_valid_fact(node):
                yield self._finding(node, f"{name} writes without a {_VALID}")

    def _misused(self, table: ast.AST) -> str | None:
        parent = self._parents[table]
        if isinstance(parent, ast.Attribute):
            return "a table's own method writes" if parent.attr in _VERBS else None
        if not isinstance(parent, ast.Call):
            return (
                None if self._verbs <= {"delete"} else "a guarded table under another name, where something is written"
            )
        name = _name(parent.func)
        if name in self._verbs:
            return None if self._changes_no_value(parent) else "a guarded table is written outside its modules"
        harmless = name in _READERS or "delete" in (name or "") or not self._verbs
        return None if harmless else f"a guarded table is handed to {name}"

    def _changes_no_value(self, verb: ast.Call) -> bool:
        """`update(...).values(...)` that names its columns, and neither key nor value is among them."""
        link: ast.AST = verb
        while isinstance(parent := self._parents[link], ast.Attribute | ast.Call) and link is not self._argument(
            parent
        ):
            link = parent
            if isinstance(link, ast.Call) and isinstance(link.func, ast.Attribute) and link.func.attr == "values":
                named = {keyword.arg for keyword in link.keywords}
                return not link.args and None not in named and not named & _REMEMBERED_COLUMNS
        return False

    @staticmethod
    def _argument(node: ast.AST) -> ast.AST | None:
        return node.args[0] if isinstance(node, ast.Call) and node.args else None

    def _writes(self, node: ast.AST) -> bool:
        return any(
            _name(call.func) in self._verbs and call.args and self._is_guarded(call.args[0])
            for call in ast.walk(node)
            if isinstance(call, ast.Call)
        )

    def _is_guarded(self, node: ast.AST) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr in GUARDED
        return isinstance(node, ast.Name) and node.id in self._tables

    def _calls(self) -> Iterator[ast.Call]:
        return (node for node in ast.walk(self._tree) if isinstance(node, ast.Call))

    def _finding(self, node: ast.AST, why: str) -> Finding:
        return Finding(self._module, getattr(node, "lineno", 0), why)


def _imported(tree: ast.Module, package: str, wanted: frozenset[str]) -> Iterator[str]:
    """The local names of what is imported from a package or below it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[
            : package.count(".") + 1
        ] == package.split("."):
            yield from (each.asname or each.name for each in node.names if each.name in wanted)


def _name(function: ast.expr) -> str | None:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None


def _takes_valid_fact(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(_VALID in ast.dump(each.annotation) for each in function.args.args if each.annotation is not None)


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return [node.name]
    if isinstance(node, ast.Assign):
        return [target.id for target in node.targets if isinstance(target, ast.Name)]
    return []


def _names_in(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
