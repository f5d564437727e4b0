"""What the user deletes is gone, and old events that are sent once more bring none of it back."""

from devstack.demo.chapters.first_meeting import SHIP_TO_KEY, SNACKS
from devstack.demo.products import about_nuts, excludes_nuts
from devstack.demo.resending import all_consumed, recorded_events, resend
from devstack.demo.telling import Telling
from devstack.waiting import eventually

_SETTLE_SECONDS = 30.0


async def one_fact_deleted(telling: Telling) -> None:
    telling.chapter("删掉一条 · the user deletes one fact")
    await telling.client.delete_preference(telling.user_id, SHIP_TO_KEY)
    facts = await telling.facts()
    keys = [fact["key"] for fact in facts]
    telling.check("收货国没有了 · the destination is gone", SHIP_TO_KEY not in keys, keys)
    telling.check("其余还在 · the rest is still there", bool(about_nuts(facts)), keys)
    await _resend_everything(telling)
    keys = [fact["key"] for fact in await telling.client.preferences()]
    telling.check("它没有回来 · it has not come back", SHIP_TO_KEY not in keys, keys)


async def all_memory_cleared(telling: Telling) -> None:
    telling.chapter("全部清空 · the user clears all memory")
    await telling.client.clear_preferences(telling.user_id)
    facts = await telling.facts()
    check = telling.check
    check("什么也没有了 · nothing is left", not facts, facts)
    await _resend_everything(telling)
    facts = await telling.client.preferences()
    check("没有一条回来 · nothing has come back", not facts, facts)

    telling.screen.line("同一个问题，新的会话 · the same question in a new session")
    turn = await telling.says("Z", SNACKS)
    searches = turn.arguments_of("item_search")
    layers = await telling.prompt_layers("Z")
    check("服务照常工作 · the services are at work", turn.completed and bool(turn.items), turn.ended_as)
    check("提示词里没有记忆块 · no memory block in the prompt", bool(layers) and "L5" not in layers, layers)
    check("搜索不再排除坚果 · the search excludes nuts no more", not excludes_nuts(searches), searches)


async def _resend_everything(telling: Telling) -> None:
    calls_before = await telling.all_calls()
    events = await recorded_events(telling.redis, telling.sessions.values())
    await resend(telling.redis, events)
    telling.screen.line(f"重发了 {len(events)} 条旧事件 · {len(events)} old events sent once more")
    check = telling.check
    check("有旧事件可重发 · there were events to send", bool(events), events)
    consumed = await eventually(lambda: all_consumed(telling.redis), _SETTLE_SECONDS)
    check("都被消费并确认 · all were consumed and acknowledged", consumed)
    calls = await telling.all_calls()
    check("没有再问一次模型 · the model was not asked again", calls == calls_before, (calls_before, calls))
