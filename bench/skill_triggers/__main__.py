"""Whether the catalogue of skills makes a model read the right one: `make eval-skills`. The last line is JSON.

`skills.<name>.should.right` counts requests whose first answer reads that skill and does nothing else, of `rows`;
`skills.<name>.should_not.right` near misses whose first answer leaves it. `failed` are requests whose main call failed
(right in neither), `without_plan` those whose planner did.

The model is the agent's: MODEL_BASE_URL, MODEL_API_KEY, MODEL_MAIN, MODEL_FAST and MODEL_PROFILE; without them the
offline model. A real endpoint is asked {calls} times.
"""

import argparse
import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

from bench.memory.aims import aims_met
from bench.memory.system import offline_model, side_by_side
from bench.skill_triggers.figures import Judged, aims, figures, table
from bench.skill_triggers.first_step import Models, first_step
from bench.skill_triggers.requests import Row, read_rows

from agent.skills.catalogue import builtin_skills
from common.clock import SystemClock
from common.ids import new_id
from common.logs import configure_logs
from devstack.model_endpoint import chosen_endpoint
from devstack.settings import DevstackSettings
from model_client.settings import ModelSettings, open_model_client


@asynccontextmanager
async def chosen_models() -> AsyncIterator[Models]:
    """The models that the environment names, as the agent is given them by `devstack`."""
    settings = DevstackSettings()
    async with AsyncExitStack() as closing:
        offline = "" if settings.model_base_url else await closing.enter_async_context(offline_model())
        endpoint = chosen_endpoint(settings, offline.removesuffix("/v1"))
        given = {name.lower(): value for name, value in endpoint.chat_environment.items()}
        client_settings = ModelSettings.model_validate(given)
        client = open_model_client(client_settings, SystemClock(), lambda: f"call_{new_id().hex}")
        closing.push_async_callback(client.close)
        yield Models(client, endpoint.main, endpoint.fast, client_settings.profile)


async def measure(rows: list[Row]) -> dict[str, Any]:
    async with chosen_models() as models:

        async def judge(row: Row) -> Judged:
            return Judged(row, await first_step(models, row.words))

        judged = await side_by_side(judge, rows)
    print(table(judged), flush=True)
    result = {**figures(judged), "model": models.main}
    return {**result, "aims_met": aims_met(result, aims(result["skills"]))}


def main() -> None:
    rows = read_rows(builtin_skills().names)
    argparse.ArgumentParser(
        description=(__doc__ or "").format(calls=2 * len(rows)), formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    configure_logs("bench", "error", "console")
    print(json.dumps(asyncio.run(measure(rows)), ensure_ascii=False, separators=(",", ":")))


if __name__ == "__main__":
    main()
