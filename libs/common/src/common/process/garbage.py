"""When this process looks for garbage that refers to itself. All other goes at once, by counting references.

A full search stops the event loop: in a gateway for 0.2 s with 1,000 open event streams, each of them 230 objects. With
Python's own thresholds one came every five seconds of traffic, because of what is in flight, and found nothing.
"""

import gc

YOUNG_OBJECTS = 10_000
"""New objects that are there before they are searched, which takes about 5 ms."""


def search_rarely() -> None:
    """To be called before the work begins: what is there by now, mostly modules, stays and is not searched again."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG_OBJECTS)
