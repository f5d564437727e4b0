"""What whoever watches a turn is told while it runs. Nothing depends on it."""
