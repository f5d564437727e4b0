"""What is written about providers is what the code does."""

from pathlib import Path

from model_client.documentation import page


def test_the_page_of_providers_is_current() -> None:
    assert Path("docs/providers.md").read_text(encoding="utf-8") == page(), "run `make providers`"
