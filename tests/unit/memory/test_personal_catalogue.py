"""The catalogue of a user's own skills in a claim: the same skills, the same order, whatever the database does."""

import json
from types import SimpleNamespace

from memory.skills.personal_skills import open_catalogue


class Opened:
    """Stands for the user's cipher; what it opens was not sealed."""

    def decrypt(self, stored: bytes, _: object) -> str:
        return stored.decode()


def test_by_name_in_the_order_of_the_characters() -> None:
    names = ["b-1", "b1", "a", "b", "10", "9"]
    stored = json.dumps([{"skill_id": "i", "name": name, "description": b"when".hex()} for name in names])
    found = open_catalogue(SimpleNamespace(cipher=Opened()), stored)  # type: ignore[arg-type]
    assert [entry.name for entry in found] == ["10", "9", "a", "b", "b-1", "b1"]


def test_nothing_stored_is_no_skill() -> None:
    assert open_catalogue(SimpleNamespace(cipher=Opened()), None) == []  # type: ignore[arg-type]
