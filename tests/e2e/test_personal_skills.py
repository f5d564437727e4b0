"""A user's own skill on its way through every service: written over the API, told to the model, read in a turn."""

import json

import pytest
from tests.support.conversation import Conversation, conversation
from tests.support.processes import Processes

pytestmark = pytest.mark.timeout(180)

SKILL = {"name": "office-snacks", "description": "当我买办公室零食时读", "body": "1. 只看独立小包装。"}
READ = f"找点零食 [[offline:call=Skill|{json.dumps({'name': 'my/office-snacks'})}]]"


async def summaries(user: Conversation, text: str) -> list[str]:
    """What whoever watches the turn is told of its readings of skills."""
    events = [event async for event in user.events(await user.say(text))]
    finished = [event.data for event in events if event.name == "tool.finished" and event.data["tool"] == "Skill"]
    assert events[-1].name in ("turn.completed", "memory.updated"), events[-1].name
    return [data["summary"] for data in finished]


async def test_a_skill_is_read_by_its_user_alone_and_not_after_it_was_deleted(processes: Processes) -> None:
    async with conversation(processes) as user, conversation(processes) as other:
        assert (await user.client.post("/api/skills", json=SKILL)).status_code == 201
        assert "my/office-snacks" in await summaries(user, READ)
        assert "my/office-snacks: already loaded" in await summaries(user, READ)
        assert "my/office-snacks" not in await summaries(other, READ)
        assert (await user.client.delete("/api/skills/office-snacks")).status_code == 204
        await user.new_session()
        assert "my/office-snacks" not in await summaries(user, READ)
