"""The gateway's settings; each field is the environment variable of the same name in upper case."""

from pathlib import Path

from pydantic import Field, SecretStr

from common.settings import ServiceSettings


class GatewaySettings(ServiceSettings):
    memory_url: str
    service_token: SecretStr
    redis_url: str

    jwt_public_key_file: Path = Field(description="PEM of the issuer's Ed25519 public key")
    jwt_issuer: str
    jwt_audience: str
    jwt_leeway_seconds: int = Field(default=60, ge=0, le=60)

    body_limit_bytes: int = Field(default=64 * 1024, ge=1)
    import_limit_bytes: int = Field(
        default=1024 * 1024, ge=1, description="Of an import of facts, in place of the above"
    )
    requests_per_user: int = Field(default=8, ge=1, description="In flight at once, per process")
    event_streams_per_user: int = Field(default=6, ge=1, description="Open at once, per process")

    turns_per_minute: int = Field(default=120, ge=1, description="Turns one user may begin, over all replicas")
    backlog_limit: int = Field(default=1_000, ge=0, description="Turns that may wait for an agent before 503")

    memory_retry_seconds: float = Field(default=3.0, ge=0.0)
    announce_timeout_seconds: float = Field(
        default=0.2, gt=0.0, description="Time for telling Redis; the sweeper tells what this time did not suffice for"
    )

    silence_seconds: float = Field(
        default=5.0, gt=0.0, description="After this long without an event the memory service is asked"
    )
    heartbeat_seconds: float = Field(default=15.0, gt=0.0)
    after_end_seconds: float = Field(
        default=10.0, gt=0.0, description="How long a stream waits for the curation of a turn that has ended"
    )
    curation_check_seconds: float = Field(default=2.0, gt=0.0)
    event_stream_seconds: float = Field(default=600.0, gt=0.0, description="Longest life of one connection")
    event_queue_length: int = Field(
        default=256, ge=1, description="Events that may wait for one client; a slower one is dropped"
    )
    send_timeout_seconds: float = Field(default=30.0, gt=0.0)
    shutdown_seconds: int = Field(default=10, ge=1, description="Time that open requests get at shutdown")
