"""docs/offline-model.md names everything that can be asked for."""

from pathlib import Path

import pytest

from offline_model.directives import DirectiveName
from offline_model.prefix_cache.policies import CachePolicy

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize("name", [*DirectiveName, *CachePolicy])
def test_every_directive_and_policy_is_documented(name: str) -> None:
    text = (ROOT / "docs" / "offline-model.md").read_text(encoding="utf-8")
    assert f"`{name}`" in text or f"`{name}=" in text


@pytest.mark.parametrize("policy", CachePolicy)
def test_every_policy_says_whose_rules_it_follows(policy: CachePolicy) -> None:
    text = (ROOT / "docs" / "decisions" / "0021-simulated-prefix-caches.md").read_text(encoding="utf-8")
    assert f"\n| `{policy}`" in text
