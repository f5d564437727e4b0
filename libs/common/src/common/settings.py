"""The base of every service's settings: read from the environment once, checked at start, printable."""

from typing import Any

from pydantic import SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict


class ServiceSettings(BaseSettings):
    model_config = SettingsConfigDict(extra="ignore", frozen=True, hide_input_in_errors=True)

    host: str = "127.0.0.1"
    port: int = 0
    log_level: str = "info"
    log_format: str = "json"

    def redacted(self) -> dict[str, Any]:
        """The effective configuration without secrets, for the first log line of a process.

        URLs may carry passwords, so only their presence is shown.
        """
        shown: dict[str, Any] = {}
        for name, value in self.model_dump().items():
            secret = isinstance(value, SecretStr) or name.endswith(("_url", "_token", "_key"))
            shown[name] = "(set)" if secret and value else value
        return shown
