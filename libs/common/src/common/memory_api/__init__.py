"""The memory service's internal HTTP contract and its typed client (design section 12).

`operations.py` is the table of what can be asked; the other modules hold the shapes.
"""
