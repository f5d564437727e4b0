"""The progress of a turn as server-sent events.

`reader.py` tails the turns' streams, `delivery.py` decides what one client gets of them, `follow.py` fills gaps
from the memory service, `format.py` and `stream_response.py` put it on the wire.
"""
