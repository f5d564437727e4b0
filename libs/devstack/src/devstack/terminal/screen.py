"""The terminal. Words that come from outside are printed as they are: never read as markup, never coloured."""

from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text


class Screen:
    """Coloured on a terminal, plain text elsewhere."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False, soft_wrap=True)

    def step(self, words: str) -> None:
        self._console.print(Text(f"  · {words}", style="dim"))

    def title(self, words: str) -> None:
        self._console.print()
        self._console.print(Text(words, style="bold cyan"))

    def line(self, words: str, style: str = "") -> None:
        self._console.print(Text(words, style=style))

    def part(self, words: str, style: str = "") -> None:
        """Without an end of line: more of the same line follows."""
        self._console.print(Text(words, style=style), end="")

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        table = Table(title=title, title_justify="left")
        for column in columns:
            table.add_column(column)
        for row in rows:
            table.add_row(*(Text(str(cell)) for cell in row))
        self._console.print(table)
