"""Picking: what of a search's results suits this session, and what contradicts what the user ruled out for good."""
