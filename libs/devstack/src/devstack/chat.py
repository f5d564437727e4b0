"""`python -m devstack chat`: talk to a running stack, or to one that is started for the talk."""

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Any

from common.streams.progress import ProgressEvent
from devstack.errors import StackError
from devstack.gateway_client import GatewayClient, RequestRefused
from devstack.joining import joined_gateway
from devstack.settings import DevstackSettings
from devstack.terminal.lines import InputLines
from devstack.terminal.orders import show_order, show_orders
from devstack.terminal.screen import Screen
from devstack.terminal.tables import show_facts
from devstack.terminal.turn_view import TurnView
from devstack.terminal.usage_tables import show_usage

_PROMPT = "\n你 · you> "
_HELP = """\
  /new            新会话 · a new session
  /facts          长期记忆 · what is remembered about you
  /forget KEY     删掉一条 · delete one fact
  /clear          清空记忆 · clear all memory
  /orders         订单 · your orders
  /confirm [ID]   确认订单卡 · confirm the order card shown last
  /cancel [ID]    不要了 · turn it down
  /usage          模型调用 · this session's model calls
  /quit           结束 · end
  Ctrl-C 取消这一轮 · cancels the turn that runs"""

_NO_CARD = "这里没有待确认的订单卡，全部订单见 /orders · there is no pending order here; /orders lists all"


async def chat(settings: DevstackSettings, screen: Screen, tenant: str, user: str) -> int:
    async with joined_gateway(settings, screen, tenant, user) as client:
        await Chat(client, user, screen).talk()
    return 0


class Chat:
    def __init__(self, client: GatewayClient, user_id: str, screen: Screen) -> None:
        self._client = client
        self._user_id = user_id
        self._screen = screen
        self._session_id: str | None = None
        self._open_turn: str | None = None
        self._order_id = ""
        """Of the card shown last."""
        self._cancelling: asyncio.Task[None] | None = None

    async def talk(self) -> None:
        """Until the input ends, `/quit`, or Ctrl-C at the prompt."""
        self._screen.line(_HELP, "dim")
        talking = asyncio.current_task()
        assert talking is not None
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt, talking)
        lines = InputLines()
        try:
            self._screen.part(_PROMPT, "bold")
            while (line := await lines.next()) not in (None, "/quit"):
                if line:
                    await self.answer(line)
                self._screen.part(_PROMPT, "bold")
        finally:
            lines.close()
            loop.remove_signal_handler(signal.SIGINT)

    async def answer(self, line: str) -> None:
        """Do what a line asks for; what goes wrong is said."""
        try:
            if line.startswith("/"):
                await self._command(line)
            else:
                await self._turn(line)
        except RequestRefused as refused:
            if refused.code == "session-ended":
                self._session_id = None
                self._screen.line("会话已结束，请再说一遍 · the session has ended, please say it again", "yellow")
            else:
                self._screen.line(str(refused), "red")
        except StackError as error:
            self._screen.line(str(error), "red")

    async def _turn(self, text: str) -> None:
        if self._session_id is None:
            self._session_id = await self._client.create_session()
        self._open_turn = await self._client.post_turn(self._session_id, text)
        view = TurnView(self._screen)
        try:
            async for event in self._client.events(self._open_turn):
                view.show(event)
                if event.kind == ProgressEvent.ORDER_CARD:
                    self._order_id = str(event.data["card"]["order_id"])
        finally:
            self._open_turn = None

    async def _command(self, line: str) -> None:
        command, _, argument = line.partition(" ")
        match command:
            case "/new":
                self._session_id = None
                self._screen.line("新会话 · a new session begins with what you say next", "dim")
            case "/facts":
                show_facts(self._screen, await self._client.preferences())
            case "/forget" if argument.strip():
                await self._client.delete_preference(self._user_id, argument.strip())
                self._screen.line(f"已删除 · deleted: {argument.strip()}", "green")
            case "/clear":
                await self._client.clear_preferences(self._user_id)
                self._session_id = None
                self._screen.line("长期记忆已清空，会话已结束 · all memory is cleared, the session has ended", "green")
            case "/orders":
                show_orders(self._screen, await self._client.orders())
            case "/confirm":
                await self._settle(self._client.confirm_order, argument.strip())
            case "/cancel":
                await self._settle(self._client.cancel_order, argument.strip())
            case "/usage" if self._session_id is not None:
                show_usage(self._screen, self._session_id, await self._client.usage(self._session_id))
            case _:
                self._screen.line(_HELP, "dim")

    async def _settle(self, how: Callable[[str], Awaitable[dict[str, Any]]], order_id: str) -> None:
        """Without an id, the card shown last. Cards of other chats are for whoever names them: nobody has looked at
        them here."""
        named = order_id or self._order_id
        if not named:
            self._screen.line(_NO_CARD, "yellow")
            return
        show_order(self._screen, await how(named))
        if named == self._order_id:
            self._order_id = ""

    def _interrupt(self, talking: asyncio.Task[None]) -> None:
        """Ctrl-C: cancels the open turn on the server; at the prompt, ends the chat."""
        if self._open_turn is None:
            talking.cancel()
        else:
            self._cancelling = asyncio.ensure_future(self._cancel(self._open_turn))

    async def _cancel(self, turn_id: str) -> None:
        try:
            await self._client.cancel_turn(turn_id)
        except StackError as error:
            self._screen.line(str(error), "red")
