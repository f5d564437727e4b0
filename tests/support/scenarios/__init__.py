"""Scenarios in YAML: what a user says, and what the assistant must have done about it."""
