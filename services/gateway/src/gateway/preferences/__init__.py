"""The user's view of their long-term memory: see, edit, delete, undo, clear, decide on candidates."""
