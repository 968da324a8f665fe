"""Settings: every one comes from an environment variable CARDWORTH_NAME and has a working default."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

PREFIX = "CARDWORTH_"
# Variables with the prefix that steer the build and the tests, not the running application.
_OTHER_VARIABLES = frozenset({"CARDWORTH_CI", "CARDWORTH_ASSETS_DEV"})


class Settings(BaseSettings):
    """The settings of one instance."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_ignore_empty=True, frozen=True)

    host: str = Field("127.0.0.1", description="Address that the server listens on.")
    port: int = Field(8000, ge=0, le=65535, description="Port that the server listens on.")
    database_url: str = Field(
        "sqlite:///cardworth.db",
        description="SQLAlchemy address of the database; a relative SQLite path is relative to the working "
        "directory. PostgreSQL: postgresql+psycopg://user:password@host/name.",
    )
    auto_seed: bool = Field(
        True, description="Migrate and seed a database that is still empty when the server starts."
    )
    max_body_bytes: int = Field(
        6_000_000,
        ge=1_000,
        description="Largest request body accepted, in bytes; a larger one gets a 413. A config.json may "
        "list every module of a model: 3 MB.",
    )
    max_import_bytes: int = Field(
        20_000_000, ge=1_000, description="Largest file accepted for import through the API, in bytes."
    )
    calculations_per_minute: int = Field(
        600, ge=1, description="Calculations that one address may ask for in a minute without an API key."
    )
    comparisons_per_hour: int = Field(
        120, ge=1, description="Frozen comparisons that one address may create in an hour."
    )
    comparisons_per_day: int = Field(
        1_000, ge=1, description="Frozen comparisons that one address may create in a day."
    )
    read_requires_key: bool = Field(
        False,
        description="Close reading: the API asks for an API key, the pages ask to sign in (or for a key).",
    )
    session_idle_minutes: int = Field(
        120, ge=1, le=43_200, description="Minutes without a request after which an editor is signed out."
    )
    session_hours: int = Field(
        12, ge=1, le=720, description="Hours after which an editor has to sign in again in any case."
    )
    cors_origins: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Origins, separated by commas, whose pages may call the API from a browser; none by "
        "default.",
    )
    allowed_hosts: Annotated[tuple[str, ...], NoDecode] = Field(
        (),
        description="Host names, separated by commas, that the server answers under beside localhost and the "
        "address it listens on; .example.org for all below it, * for any.",
    )
    forwarded_allow_ips: str = Field(
        "127.0.0.1",
        description="Addresses, separated by commas, of the reverse proxies whose X-Forwarded headers count.",
    )
    hsts: bool = Field(
        False, description="Send Strict-Transport-Security; only when every visitor comes by https."
    )
    static_cache: bool = Field(
        True,
        description="Let browsers keep static files with a hash in their address for a year; "
        "switch off while editing them.",
    )
    default_language: Literal["", "en", "zh"] = Field(
        "", description="Language when the browser states none that we have: zh or en; empty means zh."
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="Least severe log line that is written."
    )

    @field_validator("allowed_hosts", mode="before")
    @classmethod
    def _split_hosts(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip().lower() for part in value.split(",") if part.strip())
        return value

    @field_validator("cors_origins", mode="before")
    @classmethod
    def _split_origins(cls, value: Any) -> Any:
        if isinstance(value, str):
            return tuple(part.strip().rstrip("/") for part in value.split(",") if part.strip())
        return value

    @field_validator("log_level", mode="before")
    @classmethod
    def _lower_case(cls, value: Any) -> Any:
        return value.lower() if isinstance(value, str) else value


class SettingsProblem(ValueError):
    """A variable of the environment holds what its setting cannot be; the text says which and why."""


def load_settings() -> Settings:
    """The settings of the environment.

    Errors
    ------
    SettingsProblem with one line for each wrong variable.
    """
    try:
        return Settings()
    except ValidationError as error:
        lines = [
            f"{PREFIX}{str(fault['loc'][0]).upper()}={fault['input']!r}: {fault['msg']}."
            for fault in error.errors()
        ]
        raise SettingsProblem("\n".join(lines)) from None


def variable_names() -> dict[str, str]:
    """Environment variable -> description, in the order of the fields."""
    return {
        f"{PREFIX}{name.upper()}": field.description or "" for name, field in Settings.model_fields.items()
    }


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Variables with our prefix that no setting reads: most likely a slip of the pen."""
    known = _OTHER_VARIABLES | variable_names().keys()
    return sorted(name for name in environ if name.startswith(PREFIX) and name not in known)
