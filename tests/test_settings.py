"""Settings come from the environment, are checked, and know when a variable is misspelt."""

from __future__ import annotations

import json
import logging

import pytest

from app.operations import JsonFormatter
from app.settings import Settings, SettingsProblem, load_settings, unknown_variables, variable_names


def test_defaults_serve_a_local_instance() -> None:
    settings = Settings()
    assert (settings.host, settings.port) == ("127.0.0.1", 8000)
    assert settings.database_url == "sqlite:///cardworth.db"
    assert settings.auto_seed and not settings.hsts and not settings.read_requires_key
    assert settings.cors_origins == ()
    assert (settings.comparisons_per_hour, settings.comparisons_per_day) == (120, 1_000)


def test_variables_override_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CARDWORTH_PORT", "9000")
    monkeypatch.setenv("CARDWORTH_CORS_ORIGINS", "https://a.example, https://b.example/")
    monkeypatch.setenv("CARDWORTH_LOG_LEVEL", "INFO")
    monkeypatch.setenv("CARDWORTH_HOST", "")
    settings = Settings()
    assert settings.port == 9000
    assert settings.cors_origins == ("https://a.example", "https://b.example")
    assert settings.log_level == "info"
    assert settings.host == "127.0.0.1"


@pytest.mark.parametrize(
    ("name", "value"),
    [("PORT", "70000"), ("PORT", "x"), ("MAX_BODY_BYTES", "1"), ("LOG_LEVEL", "loud"), ("HSTS", "maybe")],
)
def test_wrong_values_are_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(f"CARDWORTH_{name}", value)
    with pytest.raises(SettingsProblem, match=rf"^CARDWORTH_{name}='{value}': .*\.$"):
        load_settings()


def test_misspelt_variables_are_found() -> None:
    environ = {"CARDWORTH_PROT": "1", "CARDWORTH_PORT": "1", "CARDWORTH_CI": "1", "HOME": "/"}
    assert unknown_variables(environ) == ["CARDWORTH_PROT"]


def test_every_setting_has_a_description() -> None:
    for name, description in variable_names().items():
        assert description.endswith(".") or description.endswith("name."), name


def test_log_lines_are_json_and_copy_only_named_fields() -> None:
    record = logging.LogRecord("app", logging.INFO, "", 0, "line one\nline two %s", ("卡",), None)
    record.status = 200
    record.body = "secret"
    line = JsonFormatter().format(record)
    assert "\n" not in line
    assert json.loads(line)["message"] == "line one\nline two 卡"
    assert json.loads(line)["status"] == 200
    assert "secret" not in line
