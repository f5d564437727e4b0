"""The product catalogue: what is sold, and how it is found.

Start reading at `catalogue.py` (the port that the rest of the agent uses) and `opening.py` (how one is built and
opened). Products are data (`data/<domain>.jsonl`); vectors are made from them once, see `vector_file.py`.
"""
