"""The parts of a shortlist question around the workload: filters, budget, prices, economics, work."""

from __future__ import annotations

import re
from dataclasses import fields as dataclass_fields
from datetime import date

from app.catalog.snapshot import Snapshot
from app.core.engines import framework_names
from app.core.question import (
    CONDITIONS,
    NEEDS,
    REGIONS,
    WORK_UNITS,
    Budget,
    Economics,
    Filters,
    PriceRules,
    SeedQuestions,
    Work,
)
from app.core.workload import Range
from app.services.fields import Fields, given, shown
from app.services.money import to_cny
from app.services.names import find_gpu

MONEY = Range(0, 1e12, integer=False)
CARD_PRICE = Range(0.01, 1e9, integer=False)
ECONOMICS: dict[str, Range] = {
    "months": Range(1, 240, integer=False),
    "hours_per_month": Range(1, 744, integer=False),
    "electricity_cny_per_kwh": Range(0, 100, integer=False),
    "pue": Range(1, 5, integer=False),
    "utilisation": Range(0.001, 1, integer=False),
    "residual": Range(0, 1, integer=False),
    "host_cny_per_gpu": Range(0, 1e7, integer=False),
}
MAX_POWER_W = Range(1, 1e7, integer=False)
MAX_COUNT = Range(1, 4096)
MAX_AGE_DAYS = Range(1, 36_500)
DEADLINE_HOURS = Range(0.01, 1e6, integer=False)
WORK_AMOUNT = Range(1e-6, 1e18, integer=False)
OPERATING_SYSTEMS = ("linux", "windows", "wsl2", "macos")
TAXES = ("included", "excluded")
CURRENCIES = ("CNY", "USD")

_FRAMEWORK = re.compile(r"([a-z0-9.\-]+?)(?:==(\d{1,4}(?:\.\d{1,4}){0,3}))?")
_DRIVER = re.compile(r"\d{3}(?:\.\d{1,3}){0,2}")


def read_filters(fields: Fields | None, snapshot: Snapshot) -> Filters:
    """`filters`: what an option must satisfy."""
    if fields is None:
        return Filters()
    standard = Filters()
    filters = Filters(
        vendors=_vendors(fields, snapshot),
        conditions=fields.choices("conditions", CONDITIONS) or standard.conditions,
        regions=fields.choices("regions", REGIONS) or (),
        needs=fields.choices("needs", NEEDS) or (),
        frameworks=_frameworks(fields),
        os=given(fields.choice("os", OPERATING_SYSTEMS), ""),
        driver=_driver(fields),
        max_power_w=fields.number("max_power_w", MAX_POWER_W),
        max_count=fields.integer("max_count", MAX_COUNT),
        gpus=_gpus(fields, snapshot),
        max_cards_per_host=given(
            fields.integer("max_cards_per_host", MAX_COUNT), standard.max_cards_per_host
        ),
    )
    fields.close()
    return filters


def _vendors(fields: Fields, snapshot: Snapshot) -> tuple[str, ...]:
    known = {gpu.vendor.casefold(): gpu.vendor for gpu in snapshot.gpus}
    found: list[str] = []
    for index, value in enumerate(fields.items("vendors") or ()):
        vendor = known.get(value.strip().casefold()) if isinstance(value, str) else None
        if vendor is None:
            fields.fault(
                ("vendors", index), "unknown_value", value=shown(value), allowed=sorted(set(known.values()))
            )
        else:
            found.append(vendor)
    return tuple(dict.fromkeys(found))


def _gpus(fields: Fields, snapshot: Snapshot) -> tuple[str, ...]:
    found: list[str] = []
    for index, value in enumerate(fields.items("gpus") or ()):
        name = fields.check_text(("gpus", index), value)
        gpu = find_gpu(name, snapshot, fields, ("gpus", index)) if name is not None else None
        if gpu is not None:
            found.append(gpu.id)
    return tuple(dict.fromkeys(found))


def _frameworks(fields: Fields) -> tuple[str, ...]:
    found: list[str] = []
    for index, value in enumerate(fields.items("frameworks") or ()):
        match = _FRAMEWORK.fullmatch(value) if isinstance(value, str) and len(value) < 80 else None
        if match is None or match[1] not in framework_names():
            fields.fault(
                ("frameworks", index), "unknown_value", value=shown(value), allowed=list(framework_names())
            )
        else:
            found.append(value)
    return tuple(dict.fromkeys(found))


def _driver(fields: Fields) -> str:
    driver = fields.text("driver")
    if driver and not _DRIVER.fullmatch(driver):
        fields.fault("driver", "not_a_version", value=shown(driver))
    return driver or ""


def read_budget(
    fields: Fields | None, snapshot: Snapshot, as_of: date
) -> tuple[Budget | None, Budget | None]:
    """`budget` as stated, and in yuan at the rate of the day."""
    if fields is None:
        return None, None
    amount = fields.number("amount", MONEY, required=True)
    currency = given(fields.choice("currency", CURRENCIES), "CNY")
    fields.close()
    if amount is None:
        return None, None
    stated = Budget(amount, currency)
    if currency == "CNY":
        return stated, stated
    yuan = to_cny(amount, currency, snapshot, as_of)
    if yuan is None:
        fields.fault("currency", "no_exchange_rate", currency=currency, day=as_of.isoformat())
        return stated, None
    return stated, Budget(yuan)


def read_overrides(fields: Fields | None, snapshot: Snapshot) -> dict[str, float]:
    """`price_overrides`: the asker's own price per card, in yuan."""
    if fields is None:
        return {}
    prices: dict[str, float] = {}
    for name in list(fields.data):
        price = fields.number(name, CARD_PRICE)
        gpu = find_gpu(name, snapshot, fields, name)
        if gpu is None or price is None:
            continue
        if gpu.id in prices:
            fields.fault(name, "named_twice", value=gpu.name)
        prices[gpu.id] = price
    return prices


def read_price_rules(fields: Fields | None) -> PriceRules:
    """`price_rules`: which observations may count."""
    standard = PriceRules()
    if fields is None:
        return standard
    rules = PriceRules(
        max_age_days=given(fields.integer("max_age_days", MAX_AGE_DAYS), standard.max_age_days),
        refuse_stale=given(fields.boolean("refuse_stale"), standard.refuse_stale),
        tax=given(fields.choice("tax", TAXES), standard.tax),
        region=given(fields.choice("region", REGIONS), standard.region),
    )
    fields.close()
    return rules


def read_economics(fields: Fields | None) -> Economics:
    """`economics`: horizon, hours, electricity, residual value."""
    standard = Economics()
    if fields is None:
        return standard
    values = {
        f.name: given(fields.number(f.name, ECONOMICS[f.name]), getattr(standard, f.name))
        for f in dataclass_fields(Economics)
    }
    fields.close()
    return Economics(**values)


def read_work(fields: Fields | None) -> Work | None:
    """`work`: how much is to be done."""
    if fields is None:
        return None
    amount = fields.number("amount", WORK_AMOUNT, required=True)
    unit = given(fields.choice("unit", WORK_UNITS), "tokens")
    fields.close()
    return None if amount is None else Work(amount, unit)


def read_questions(fields: Fields | None) -> SeedQuestions:
    """`questions`: the four questions of the first story."""
    if fields is None:
        return SeedQuestions()
    answers = {f.name: fields.boolean(f.name) for f in dataclass_fields(SeedQuestions)}
    fields.close()
    return SeedQuestions(**answers)
