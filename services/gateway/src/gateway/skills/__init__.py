"""Skills that users write for themselves."""
