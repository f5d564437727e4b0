"""What one user may have open at once."""

import pytest

from common.memory_api.base import Owner
from gateway.limits.concurrency import NoSlotLeft, Slots

ALICE = Owner(tenant_id="shop", user_id="alice")
BOB = Owner(tenant_id="shop", user_id="bob")
OTHER_ALICE = Owner(tenant_id="other", user_id="alice")


def test_users_have_slots_of_their_own() -> None:
    slots = Slots(per_user=1)
    with slots.take(ALICE), slots.take(BOB), slots.take(OTHER_ALICE), pytest.raises(NoSlotLeft):
        slots.take(ALICE).__enter__()


def test_a_slot_comes_back_also_after_an_error() -> None:
    slots = Slots(per_user=1)
    with pytest.raises(KeyError), slots.take(ALICE):
        raise KeyError
    with slots.take(ALICE):
        pass
