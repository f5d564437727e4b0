"""The order card in the terminal, from the shape that the gateway promises."""

from tests.support.released_shapes import PROGRESS_EXAMPLES

from common.streams.progress import ProgressEvent
from devstack.terminal.orders import order_lines


def test_a_card_shows_what_where_to_how_much_and_what_to_do() -> None:
    card = PROGRESS_EXAMPLES[ProgressEvent.ORDER_CARD].model_dump(mode="json")["card"]
    shown = "\n".join(order_lines(card))
    for part in ("通勤双肩包", "2 ×", "DE", "798.00 CNY", "/confirm", card["order_id"]):
        assert part in shown
    assert "/confirm" not in "\n".join(order_lines({**card, "state": "confirmed"}))
