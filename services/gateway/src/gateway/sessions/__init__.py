"""A user's sessions: open, list, end, their turns and what they cost."""
