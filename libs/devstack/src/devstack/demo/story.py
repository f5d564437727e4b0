"""The story: a new user's words become facts, the facts work in another session, and what is deleted stays gone."""

from collections.abc import Awaitable, Callable
from decimal import Decimal

from redis.asyncio import Redis

from common.memory_api.turns import ModelCallKind
from common.memory_api.usage import TurnModelCall
from devstack.demo.claims import Claims
from devstack.demo.products import about_nuts, excludes_nuts, listed_products, not_shipped_to, over_budget, with_nuts
from devstack.demo.record import TurnRecord
from devstack.demo.resending import all_consumed, recorded_events, resend
from devstack.errors import StackError
from devstack.gateway_client import GatewayClient
from devstack.terminal.screen import Screen
from devstack.terminal.tables import show_facts
from devstack.terminal.turn_view import TurnView
from devstack.terminal.usage_tables import show_model_calls
from devstack.waiting import eventually

BACKPACK = "我对坚果过敏，东西都寄德国。想找一个通勤双肩包，500 元以内"
SNACKS = "推荐几样办公室零食"
LEATHER = "请记住：我不要真皮的东西。再看看通勤双肩包"

SHIP_TO_KEY = "default_ship_to"

_SETTLE_SECONDS = 30.0


class Story:
    """`user_id` is the user of the client's token; `check_invariants` raises StackError when one is broken."""

    def __init__(
        self,
        client: GatewayClient,
        redis: Redis,
        user_id: str,
        check_invariants: Callable[[], Awaitable[str]],
        screen: Screen,
    ) -> None:
        self._client = client
        self._redis = redis
        self._user_id = user_id
        self._check_invariants = check_invariants
        self._screen = screen
        self._claims = Claims(screen)
        self._sessions: dict[str, str] = {}

    async def tell(self) -> bool:
        """Whether everything that was claimed was true."""
        await self._first_session()
        await self._another_session()
        await self._save_memory()
        await self._delete_one()
        await self._clear_and_resend()
        await self._costs()
        return self._verdict()

    async def _first_session(self) -> None:
        self._screen.title("1 · 第一次见面 · a first session")
        turn = await self._turn("A", BACKPACK)
        listed = listed_products(turn.items)
        over = over_budget(listed, Decimal(500), "CNY")
        far = not_shipped_to(listed, "DE")
        check = self._claims.check
        check("给出了清单 · there is a list", turn.completed and len(listed) >= 2, turn.items)
        check("都不超过 500 元 · nothing over 500 CNY", not over, over)
        check("都能寄到德国 · everything ships to Germany", not far, far)

        facts = await self._client.preferences()
        show_facts(self._screen, facts)
        keys = {fact["key"] for fact in facts}
        check(
            "坚果过敏已作为 constraint 记下 · the nut allergy is kept as a constraint", bool(about_nuts(facts)), facts
        )
        check("收货国已记下 · so is the destination", SHIP_TO_KEY in keys, sorted(keys))
        told = {outcome.get("key") for outcome in turn.curated}
        check("记住的都告诉了用户 · the user was told of all of it", keys <= told, turn.curated)
        passing = [fact for fact in facts if "500" in fact["value"]]
        check("一次性的预算没有被记住 · this turn's budget is not remembered", not passing, passing)

    async def _another_session(self) -> None:
        self._screen.title("2 · 换一个会话 · a new session: nothing is repeated, the rule still holds")
        turn = await self._turn("B", SNACKS)
        listed = listed_products(turn.items)
        nuts = with_nuts(listed)
        layers = await self._prompt_layers("B")
        check = self._claims.check
        check("记忆块进入了提示词 (L5) · the memory block is in the prompt", "L5" in layers, sorted(layers))
        searches = turn.arguments_of("item_search")
        check("搜索参数里排除了坚果 · the search excludes nuts", excludes_nuts(searches), searches)
        check("给出了清单 · there is a list", turn.completed and len(listed) >= 2, turn.items)
        check("清单里没有坚果 · no nut product is listed", not nuts, nuts)

    async def _save_memory(self) -> None:
        self._screen.title("3 · 当场记住 · saved, and visible in its own turn")
        session_id = await self._session("C")
        turn_id = await self._client.post_turn(session_id, LEATHER)
        self._screen.line(f"用户 · user: {LEATHER}", "bold")
        record, view = TurnRecord(session_id, turn_id), TurnView(self._screen)
        seen_at_once: list[str] = []
        async for event in self._client.events(turn_id):
            record.add(event)
            view.show(event)
            if event.kind == "memory.saved" and not record.ended_as:
                seen_at_once = [fact["key"] for fact in await self._client.preferences()]
        saved = [fact["key"] for fact in record.saved]
        check = self._claims.check
        check("模型调用了 save_memory · the model saved it", bool(saved), record.calls)
        check(
            "说「记住了」时已经能查到 · when the user is told, it can already be read",
            bool(saved) and saved[0] in seen_at_once,
            seen_at_once,
        )
        searches = record.arguments_of("item_search")
        leather = any("真皮" in word for search in searches for word in search.get("exclude") or [])
        check("同一轮的搜索已经照办 · the search of the same turn obeys it", leather, searches)
        check("这一轮正常结束 · the turn completed", record.completed, record.ended_as)
        show_facts(self._screen, await self._client.preferences())

    async def _delete_one(self) -> None:
        self._screen.title("4 · 删掉一条 · the user deletes one fact")
        await self._client.delete_preference(self._user_id, SHIP_TO_KEY)
        facts = await self._client.preferences()
        show_facts(self._screen, facts)
        keys = [fact["key"] for fact in facts]
        self._claims.check("收货国没有了 · the destination is gone", SHIP_TO_KEY not in keys, keys)
        self._claims.check("其余还在 · the rest is still there", bool(about_nuts(facts)), keys)
        await self._resend_everything()
        keys = [fact["key"] for fact in await self._client.preferences()]
        self._claims.check("它没有回来 · it has not come back", SHIP_TO_KEY not in keys, keys)

    async def _clear_and_resend(self) -> None:
        self._screen.title("5 · 全部清空 · the user clears all memory")
        await self._client.clear_preferences(self._user_id)
        facts = await self._client.preferences()
        show_facts(self._screen, facts)
        self._claims.check("什么也没有了 · nothing is left", not facts, facts)
        await self._resend_everything()
        facts = await self._client.preferences()
        self._claims.check("没有一条回来 · nothing has come back", not facts, facts)

        self._screen.line("同一个问题，新的会话 · the same question in a new session")
        turn = await self._turn("D", SNACKS)
        searches = turn.arguments_of("item_search")
        layers = await self._prompt_layers("D")
        check = self._claims.check
        check("服务照常工作 · the services are at work", turn.completed and bool(turn.items), turn.ended_as)
        check("提示词里没有记忆块 · no memory block in the prompt", bool(layers) and "L5" not in layers, layers)
        check("搜索不再排除坚果 · the search excludes nuts no more", not excludes_nuts(searches), searches)

    async def _resend_everything(self) -> None:
        calls_before = await self._all_calls()
        events = await recorded_events(self._redis, self._sessions.values())
        await resend(self._redis, events)
        self._screen.line(f"重发了 {len(events)} 条旧事件 · {len(events)} old events sent once more")
        check = self._claims.check
        check("有旧事件可重发 · there were events to send", bool(events), events)
        consumed = await eventually(lambda: all_consumed(self._redis), _SETTLE_SECONDS)
        check("都被消费并确认 · all were consumed and acknowledged", consumed)
        calls = await self._all_calls()
        check("没有再问一次模型 · the model was not asked again", calls == calls_before, (calls_before, calls))

    async def _costs(self) -> None:
        self._screen.title("6 · 不变量与花费 · invariants, and what it cost")
        try:
            kept = (await self._check_invariants()).splitlines()
            self._screen.line(f"  memory check-invariants --settled: {len(kept)} invariants", "dim")
            broken = ""
        except StackError as error:
            broken = str(error)
        self._claims.check("数据库的不变量都成立 · the database's invariants hold", not broken, broken)
        calls = await self._all_calls()
        show_model_calls(self._screen, calls)
        self._claims.check("每个会话都有调用记录 · every session has its calls", all(calls.values()), calls)

    def _verdict(self) -> bool:
        self._screen.line("")
        if self._claims.false:
            self._screen.line(f"{len(self._claims.false)} 条不成立 · claims that are false:", "bold red")
            for words in self._claims.false:
                self._screen.line(f"  ✗ {words}", "red")
            return False
        self._screen.line(f"{self._claims.made} 条都成立 · all claims are true", "bold green")
        return True

    async def _session(self, label: str) -> str:
        session_id = await self._client.create_session()
        self._sessions[label] = session_id
        self._screen.line(f"会话 · session {label}", "dim")
        return session_id

    async def _turn(self, label: str, text: str) -> TurnRecord:
        """One turn in a new session, shown while it happens; returns once its curation is over too."""
        session_id = await self._session(label)
        self._screen.line(f"用户 · user: {text}", "bold")
        record = TurnRecord(session_id, await self._client.post_turn(session_id, text))
        view = TurnView(self._screen)
        async for event in self._client.events(record.turn_id):
            record.add(event)
            view.show(event)
        return record

    async def _prompt_layers(self, label: str) -> set[str]:
        """The layers of which the session's main prompts were made, as the agent recorded them."""
        usage = await self._client.usage(self._sessions[label])
        return {layer for call in usage.calls if call.kind is ModelCallKind.MAIN for layer in call.layer_hashes}

    async def _all_calls(self) -> dict[str, list[TurnModelCall]]:
        """The model calls of every session so far."""
        return {label: (await self._client.usage(session)).calls for label, session in self._sessions.items()}
