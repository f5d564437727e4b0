"""A user's budget of tokens for a day: whoever has used it up begins no more turns until their midnight.

It is counted from what providers reported, so a call without figures counts nothing, and from what has been stored:
turns that are under way at once may exceed it. Replays are the operator's, and not counted.
"""

from datetime import timedelta

from sqlalchemy import bindparam, func, select

from common.problems import ProblemCode, ProblemError
from memory.database.schema import model_calls
from memory.database.statements import Statement
from memory.database.transactions import UserTransaction
from memory.facts.lifetime import end_of_day
from memory.user_data.settings import time_zone
from memory.users import own

_USED = Statement(
    select(
        func.coalesce(
            func.sum(func.coalesce(model_calls.c.prompt_tokens, 0) + func.coalesce(model_calls.c.completion_tokens, 0)),
            0,
        )
    ).where(own(model_calls), model_calls.c.created_at >= bindparam("since"), model_calls.c.run == 0)
)


async def must_have_tokens(tx: UserTransaction) -> None:
    """Raises ProblemError, with the seconds until the user's midnight."""
    budget = tx.policy.tokens_per_user_day
    if budget is None:
        return
    zone = await time_zone(tx)
    if int(await tx.connection.scalar(_USED, {"since": end_of_day(tx.now, -1, zone)})) < budget:
        return
    left = end_of_day(tx.now, 0, zone) - tx.now
    raise ProblemError(
        ProblemCode.TOKEN_BUDGET,
        f"at most {budget} tokens a day; the day ends at midnight in the time zone of your settings",
        retry_after=max(1, -(-left // timedelta(seconds=1))),
    )
