"""Settings of the memory service, from the environment."""

import json
from pathlib import Path
from typing import Annotated

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from common.memory_api.operations import Service
from common.settings import ServiceSettings
from memory.facts.gate.operator_patterns import operator_rules

_CONSUMERS_NEED_DAYS = 7
"""Work on a turn (its curation, a replay) may still read it for this long."""


class MemorySettings(ServiceSettings):
    memory_database_url: SecretStr
    """The role `shoppingx_memory`: sees one user at a time."""
    memory_dispatch_database_url: SecretStr
    """The role `shoppingx_dispatch`: sees work records of all users, and no words."""
    redis_url: SecretStr
    memory_master_key_file: Path
    memory_previous_master_key_files: tuple[Path, ...] = ()
    """Master keys that users' keys may still be wrapped with; a JSON list. `python -m memory keys rotate` ends it."""
    key_database_url: SecretStr | None = None
    """Where the users' keys lie, if not beside their data: the same role in a database with a shorter backup life."""
    service_token_gateway: SecretStr
    service_token_agent: SecretStr
    service_token_curator: SecretStr
    service_token_operator: SecretStr
    database_pool_size: int = Field(default=10, ge=1)
    enable_memory: bool = True
    memory_pii_patterns: Annotated[dict[str, str], NoDecode] = Field(default_factory=dict)
    """What long-term memory refuses besides the built-in rules: a JSON object of names and RE2 patterns."""
    tokens_per_user_day: int = Field(default=0, ge=0)
    """Tokens of prompts and answers, as providers reported them, after which a user may begin no more turns on their
    day; 0 sets no limit. What is under way goes on."""
    memory_max_facts: int = Field(default=500, ge=1)
    """Facts of one user."""
    memory_max_candidates: int = Field(default=100, ge=1)
    """Candidates of one user that may wait for their word."""
    personal_skills_max: int = Field(default=20, ge=1)
    """Skills that one user may have written."""
    memory_retention_days: int = Field(default=365, ge=0, le=36_500)
    """Days after which a fact that nobody said again is unreadable; 0 keeps it. Constraints are always kept."""
    memory_decay_days: int = Field(default=180, ge=0, le=36_500)
    """Days after which a preference or context that no turn was shown is unreadable; 0 keeps it."""
    memory_candidate_days: int = Field(default=90, ge=1, le=36_500)
    """Days that a candidate waits for its user's word."""
    session_retention_days: int = Field(default=180, ge=_CONSUMERS_NEED_DAYS, le=36_500)
    """Days after its last activity that a session is kept, with its turns, its log and what was searched in it."""
    order_retention_days: int = Field(default=1095, ge=1, le=36_500)
    """Days that a confirmed order is kept, and the purchase in the behaviour history with it."""
    order_expiry_minutes: float = Field(default=30.0, gt=0, le=1_440)
    """How long a proposed order waits for the user."""
    retention_interval_seconds: float = Field(default=600.0, gt=0)
    """How often the retention job looks for users whose data is due; each is looked through once a day."""
    lease_seconds: float = Field(default=15.0, gt=0)
    turn_deadline_seconds: float = Field(default=120.0, gt=0)
    sweep_interval_seconds: float = Field(default=2.0, gt=0)
    backlog_interval_seconds: float = Field(default=5.0, gt=0)
    """How often the gauges of waiting work are read."""
    publish_grace_seconds: float = Field(default=5.0, ge=0)
    """How long the live publish may take before the sweeper wakes the work again."""
    republish_seconds: float = Field(default=60.0, gt=0)
    max_attempts: int = Field(default=5, ge=1)
    backoff_seconds: float = Field(default=2.0, gt=0)
    curation_wait_seconds: float = Field(default=1.5, ge=0)
    session_idle_minutes: float = Field(default=720.0, gt=0)
    """After its last activity a session without an open turn is closed."""
    replay_turns_per_second: float = Field(default=5.0, gt=0, le=1_000)
    """Of a replay job that does not say."""
    replay_retention_days: int = Field(default=30, ge=1, le=36_500)
    """Days after its end that a replay job is kept, with its report of every turn."""
    replay_interval_seconds: float = Field(default=0.5, gt=0)
    """How often the replay jobs move on."""
    circuit_window: int = Field(default=20, ge=1)
    """Attempts of a kind of work that are looked at to tell that nearly everything fails."""
    circuit_share: float = Field(default=0.8, gt=0, le=1)
    circuit_cool_down_seconds: float = Field(default=30.0, gt=0)
    """How long nothing of the kind is claimed then."""
    shutdown_seconds: float = Field(default=10.0, gt=0)
    """Time that open requests get at shutdown."""

    @field_validator("memory_pii_patterns", mode="before")
    @classmethod
    def _json_object(cls, given: object) -> object:
        if not isinstance(given, str):
            return given
        try:
            return json.loads(given or "{}")
        except json.JSONDecodeError as error:
            raise ValueError(f"MEMORY_PII_PATTERNS must be a JSON object of names and patterns: {error}") from None

    @field_validator("memory_pii_patterns")
    @classmethod
    def _usable(cls, patterns: dict[str, str]) -> dict[str, str]:
        operator_rules(patterns)
        return patterns

    @model_validator(mode="after")
    def _lease_fits_deadline(self) -> "MemorySettings":
        if self.lease_seconds >= self.turn_deadline_seconds:
            raise ValueError("LEASE_SECONDS must be shorter than TURN_DEADLINE_SECONDS")
        return self

    def service_tokens(self) -> dict[Service, SecretStr]:
        return {
            Service.GATEWAY: self.service_token_gateway,
            Service.AGENT: self.service_token_agent,
            Service.CURATOR: self.service_token_curator,
            Service.OPERATOR: self.service_token_operator,
        }


class MigrationSettings(ServiceSettings):
    database_url: SecretStr
    """The owner of the schema; it also creates the two service roles."""
    memory_app_password: SecretStr
    memory_dispatch_password: SecretStr
