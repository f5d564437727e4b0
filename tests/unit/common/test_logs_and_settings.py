"""Logs and the printed configuration hold no secret and no message of an exception."""

import json
import subprocess
import sys

from pydantic import SecretStr

from common.settings import ServiceSettings

LOGGING = """
from common.logs import configure_logs, get_logger
configure_logs("test", "info", "json")
try:
    raise ValueError("the user said 13800138000")
except ValueError as error:
    get_logger("m").error("it.failed", error=error, turn_id="t")
import logging
logging.getLogger("a.library").error("the user said 13800138000")
"""


def test_an_exception_is_logged_by_type_and_place() -> None:
    printed = subprocess.run([sys.executable, "-c", LOGGING], capture_output=True, text=True, check=True)
    assert "13800138000" not in printed.stdout + printed.stderr
    line = json.loads(printed.stdout)
    assert (line["event"], line["error_type"], line["service"], line["turn_id"]) == (
        "it.failed",
        "ValueError",
        "test",
        "t",
    )


class Example(ServiceSettings):
    example_url: str
    example_token: SecretStr


def test_the_printed_configuration_hides_secrets_and_addresses() -> None:
    settings = Example(example_url="postgresql://u:secret@host/db", example_token=SecretStr("secret"))
    assert "secret" not in json.dumps(settings.redacted(), default=str)
