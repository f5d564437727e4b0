"""The agent service: one model in one loop answers a turn.

Start reading at `app.py` (what there is) and `turns/worker.py` (the life of a turn).
"""
