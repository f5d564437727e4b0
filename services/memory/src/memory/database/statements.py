"""Statements that are compiled once.

Queries are written with SQLAlchemy Core over `schema.py`. What runs in every turn is a `Statement`, compiled when its
module is loaded: to build and compile a query anew costs several times what PostgreSQL needs to answer it.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from sqlalchemy import ARRAY, BindParameter, Executable, any_, bindparam, literal
from sqlalchemy.dialects.postgresql.asyncpg import dialect
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.elements import ClauseElement, ColumnElement

_DIALECT = dialect()  # type: ignore[no-untyped-call]
_OF_OWNER = object()


def owner_parameter(column: str) -> BindParameter[str]:
    """Stands for `tenant_id` or `user_id` of whom the transaction works for."""
    return bindparam(column, _OF_OWNER)


def among(column: ColumnElement[Any], values: Collection[Any]) -> ColumnElement[bool]:
    """Whether the column is one of the values: an array, and so the same statement for every number of them."""
    return column == any_(literal(list(values), ARRAY(column.type)))


class Statement:
    """A query with named parameters; values that stand in the query itself are kept with it.

    `columns` are those that an INSERT takes from its parameters. Values go to asyncpg as they are. A list that is known
    only later is one parameter, an array: `among`, or `column == any_(bindparam(…))`.
    """

    def __init__(self, query: Executable, columns: Iterable[str] = ()) -> None:
        keys = list(columns) or None
        compiled = _compile(query, keys)
        if compiled.post_compile_params:  # the values of an IN become parameters of their own
            compiled = _compile(query, keys, render_postcompile=True)
        self.sql = str(compiled)
        self._names = list(compiled.positiontup or ())
        self._known = frozenset(self._names)
        asked = {name for name, each in compiled.binds.items() if each.required or each.value is _OF_OWNER}
        own = compiled.construct_params(_check=False)
        self._own = {name: own[name] for name in self._names if name not in asked}

    def arguments(self, values: Mapping[str, Any], owner: Mapping[str, str]) -> list[Any]:
        """The values in the order of their places: given ones, the query's own, the owner's columns.

        Raises KeyError where one is missing, or given for no place: a misspelt column would be a lost write.
        """
        if not values.keys() <= self._known:
            raise KeyError(*sorted(values.keys() - self._known))
        own = self._own
        return [values[name] if name in values else own[name] if name in own else owner[name] for name in self._names]


def _compile(query: Executable, columns: list[str] | None, **options: Any) -> SQLCompiler:
    assert isinstance(query, ClauseElement)
    compiled = query.compile(dialect=_DIALECT, column_keys=columns, compile_kwargs=options)
    assert isinstance(compiled, SQLCompiler)
    return compiled
