"""Whether the database's invariants hold, and what all of it cost."""

from devstack.demo.telling import Telling
from devstack.errors import StackError
from devstack.terminal.usage_tables import show_model_calls


async def costs(telling: Telling) -> None:
    telling.chapter("不变量与花费 · invariants, and what it cost")
    try:
        kept = (await telling.check_invariants()).splitlines()
        telling.screen.line(f"  memory check-invariants --settled: {len(kept)} invariants", "dim")
        broken = ""
    except StackError as error:
        broken = str(error)
    telling.check("数据库的不变量都成立 · the database's invariants hold", not broken, broken)
    calls = await telling.all_calls()
    show_model_calls(telling.screen, calls)
    telling.check("每个会话都有调用记录 · every session has its calls", all(calls.values()), calls)
