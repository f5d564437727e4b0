"""The base of every service's settings: read from the environment once, checked at start, printable."""

from typing import Any

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServiceSettings(BaseSettings):
    model_config = SettingsConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    host: str = "127.0.0.1"
    port: int = 0
    log_level: str = "info"
    log_format: str = "json"
    loop_stuck_seconds: float = Field(default=30.0, ge=0)
    """After this long without a beat of its event loop the process ends, to be started anew; 0: never."""

    def redacted(self) -> dict[str, Any]:
        """The effective configuration without secrets, for the first log line of a process.

        URLs may carry passwords, so only their presence is shown.
        """
        shown: dict[str, Any] = {}
        for name, value in self.model_dump().items():
            secret = isinstance(value, SecretStr) or name.endswith(("_url", "_token", "_key"))
            shown[name] = "(set)" if secret and value else value
        return shown
