"""Whether a proposed fact rests on what the user said of themself, in their own words, in that turn.

One place for the curator and for `save_memory`. It is synchronous, deterministic and without a model: it cuts the
words into statements, finds those that carry the value, and asks ordered rules whether they count.
"""
