"""Posting, reading and cancelling turns."""
