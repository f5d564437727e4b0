"""The curator's prompt as a provider sees it."""

import json

from curator.extraction.parsing import parse_facts
from curator.extraction.prompt import extraction_request, instructions
from offline_model.tokens import QwenTokens

SHORTEST_CACHED_PREFIX = 1_024
"""Tokens. Providers cache in blocks of 128 and nothing shorter than this."""


def test_the_part_that_never_changes_stands_first_and_is_long_enough_to_be_cached() -> None:
    first, second = (extraction_request("fast", words, "好", []) for words in ("我对坚果过敏", "推荐零食"))
    assert first.messages[0] == second.messages[0]
    assert len(QwenTokens().prompt([instructions()]).tokens) >= SHORTEST_CACHED_PREFIX + 128


def test_its_examples_are_what_the_parser_reads() -> None:
    examples = [line for line in instructions().splitlines() if line.startswith('{"facts":') and "…" not in line]
    assert len(examples) >= 5
    for example in examples:
        facts = parse_facts(example)
        assert len(facts) == len(json.loads(example)["facts"])
