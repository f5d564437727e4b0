"""The chapters of the story, a file each (two that belong together share one). `story.py` has their order."""
