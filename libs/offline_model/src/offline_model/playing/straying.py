"""Whether the model is to do what it must not: told so by a directive, until the system has told it better."""

from collections.abc import Callable

from offline_model.directives import STUBBORN, DirectiveName
from offline_model.playing.reproofs import LAST_ANSWER, Reproof
from offline_model.playing.scene import Scene

_OF_NO_CONDUCT = ("drift", "skipped_skill", "unknown_tool")
"""Corrections that say nothing about searches, constraints and claims."""


def strays(scene: Scene, name: DirectiveName) -> bool:
    """A model that is stubborn goes on whatever it is told, so that hard limits can be seen to hold."""
    arguments = scene.directed(name)
    if not arguments:
        return False
    return arguments[-1] == STUBBORN or not any(map(_told_better(name), scene.reproofs))


def _told_better(name: DirectiveName) -> Callable[[Reproof], bool]:
    match name:
        case DirectiveName.SKIP_SKILL:
            return lambda reproof: reproof.code == "skipped_skill"
        case DirectiveName.LOOP:
            return lambda reproof: reproof.code == LAST_ANSWER
        case DirectiveName.IGNORE_CONSTRAINT | DirectiveName.CONFIRM_ORDER:
            return lambda reproof: reproof.corrects and reproof.code not in _OF_NO_CONDUCT
        case DirectiveName.ALTERNATE:
            # Every second of two steps by turns repeats one, which is told first.
            return lambda reproof: reproof.code not in (*_OF_NO_CONDUCT, "repeated_call")
        case _:
            return lambda reproof: reproof.code not in _OF_NO_CONDUCT
