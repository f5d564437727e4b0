"""Who calls: bearer tokens, and the caller that routes are given."""
