"""What the demo says about itself, each time with the observation that makes it true or false."""

from devstack.terminal.screen import Screen


class Claims:
    """Prints every claim with its verdict, and remembers the false ones."""

    def __init__(self, screen: Screen) -> None:
        self._screen = screen
        self.false: list[str] = []
        self.made = 0

    def check(self, words: str, holds: bool, seen: object = None) -> None:
        """`seen` is what was observed; it is shown where the claim is false."""
        self.made += 1
        if holds:
            self._screen.line(f"  ✓ {words}", "green")
            return
        self.false.append(words)
        self._screen.line(f"  ✗ {words}", "bold red")
        self._screen.line(f"    seen: {seen}", "red")

    def verdict(self) -> bool:
        """Whether all were true; tells which were not."""
        self._screen.line("")
        if self.false:
            self._screen.line(f"{len(self.false)} 条不成立 · claims that are false:", "bold red")
            for words in self.false:
                self._screen.line(f"  ✗ {words}", "red")
            return False
        self._screen.line(f"{self.made} 条都成立 · all claims are true", "bold green")
        return True
