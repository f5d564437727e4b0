"""The loop: open the turn, then model and tools in turn until there is an answer (design section 6)."""
