"""What is remembered: a value per key, ordered by who said it when, and kept away by the user's later word.

Only what turns need of it. Each value here is said in the user's own words, and says the same under one key only.
"""

from tests.integration.memory.turn_life.specification.state import Fact, User
from tests.integration.memory.turn_life.vocabulary import Saying

from common.memory_api.facts import FactAction

_STANDS = frozenset({FactAction.ADDED, FactAction.UPDATED, FactAction.SUPPORTED})


def told_again(user: User, saying: Saying, seq: int, at_first: str) -> str:
    """What a repeated save is answered: what became of it, unless the user has deleted it since."""
    return FactAction.DELETED_BY_USER if at_first in _STANDS and is_buried(user, saying, seq) else at_first


def is_buried(user: User, saying: Saying, seq: int) -> bool:
    """Whether the user has deleted it later than what this seq orders."""
    return user.buried.get(saying.key, -1) >= seq


def write(user: User, saying: Saying, order: tuple[int, int, int], turn: str | None) -> str:
    """What became of it; `turn` supports the fact, once, however often it is written."""
    seq, rank, _ = order
    if is_buried(user, saying, seq):
        return FactAction.DELETED_BY_USER
    known = user.facts.get(saying.key)
    if known is not None and order < known.order:
        return FactAction.OUTDATED
    if known is None:
        known = user.facts[saying.key] = Fact(saying.value, order)
        action = FactAction.ADDED
    elif known.value == saying.value:
        # A curator that says it again takes it over from nobody of the same turn.
        if rank > 0 or seq > known.order[0]:
            known.order = order
        action = FactAction.SUPPORTED
    else:
        known.value, known.order = saying.value, order
        action = FactAction.UPDATED
    if turn is not None:
        known.evidence.add(turn)
    return action


def bury(user: User, key: str) -> bool:
    """Delete a fact on its user's word; False where there was none, and never had been."""
    if user.facts.pop(key, None) is None:
        return key in user.buried
    user.seq += 1
    user.buried[key] = user.seq
    return True
