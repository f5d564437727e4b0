"""The end of a session in this process."""
