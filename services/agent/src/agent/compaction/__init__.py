"""Compaction: two ways to make a long session shorter, each once and deep, because each ends the cached prefix."""
