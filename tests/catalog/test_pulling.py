"""Pulling rents and rates: checked like an import, and one dead provider never breaks the rest."""

from __future__ import annotations

import logging
from datetime import date
from pathlib import Path
from urllib.error import URLError

import gpuhunt
import pytest
from gpuhunt._internal import storage
from gpuhunt._internal.catalog import OFFLINE_PROVIDERS
from sqlalchemy import Engine

from app.catalog.changes import Author
from app.catalog.db import create_engine_from_url, upgrade
from app.catalog.importing import ImportOptions
from app.catalog.pulling import (
    MonthlyMeans,
    Outcome,
    Provider,
    ProviderDown,
    ReferenceRates,
    fetch_address,
    gpuhunt_providers,
    pull,
)
from app.catalog.seed import load_seed
from app.catalog.snapshot_load import load_snapshot

# The library leaves closing its files to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
DAY = date(2026, 11, 30)
MEANS = b"""Date,Country,Value
2015-01-01,China,6.2181
2026-06-01,China,6.7758
2026-10-01,China,6.7100
2026-10-01,Taiwan,31.2
2026-10-01,Austria,1.0
2026-12-01,China,6.7
"""
EURO = b"""<?xml version="1.0"?><Envelope xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref"><Cube>
<Cube time="2026-11-27"><Cube currency="USD" rate="1.1600"/><Cube currency="CNY" rate="7.8300"/></Cube>
</Cube></Envelope>"""
LAUGHS = b'<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>'


def down(address: str) -> bytes:
    raise ProviderDown(f"{address} is down")


def offer(
    provider: str, instance: str, gpu: str, memory: float, count: int, price: float, **more: object
) -> gpuhunt.CatalogItem:
    values = {"location": "us-east-1", "cpu": 8, "memory": 64.0, "spot": False, "disk_size": None} | more
    return gpuhunt.CatalogItem(
        provider=provider,
        instance_name=instance,
        gpu_name=gpu,
        gpu_memory=memory,
        gpu_count=count,
        price=price,
        gpu_vendor=gpuhunt.AcceleratorVendor.NVIDIA,
        **values,  # type: ignore[arg-type]
    )


@pytest.fixture
def shipped(tmp_path: Path) -> Engine:
    engine = create_engine_from_url(f"sqlite:///{tmp_path / 'shipped.db'}")
    upgrade(engine)
    load_seed(engine)
    return engine


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Catalogue files written by the library itself, one of them broken."""
    made = tmp_path / "catalogues"
    made.mkdir()
    aws = [
        offer("aws", "p5.48xlarge", "H100", 80, 8, 98.32),
        offer("aws", "p5.48xlarge", "H100", 80, 8, 95.00, location="us-west-2"),
        offer("aws", "g6.xlarge", "L4", 24, 1, 0.8048),
        offer("aws", "wrong", "L4", 48, 1, 0.9),
    ]
    runpod = [
        offer("runpod", "4090", "RTX4090", 24, 1, 0.69),
        offer("runpod", "yearly", "RTX4090", 24, 1, 4500.0),
        offer("runpod", "odd", "NoSuchCard", 24, 1, 0.5),
    ]
    storage.dump(aws, str(made / "aws.csv"))
    storage.dump(runpod, str(made / "runpod.csv"))
    (made / "gcp.csv").write_bytes(b"\xff\xfe broken")
    return made


def run(engine: Engine, providers: list[Provider]) -> dict[str, Outcome]:
    return {o.provider: o for o in pull(engine, providers, Author("pull"), ImportOptions(DAY))}


def test_rents_of_every_cloud_that_answers(shipped: Engine, folder: Path) -> None:
    found = run(shipped, gpuhunt_providers(folder=folder))
    assert found["gcp"].report is None and "UnicodeDecodeError" in found["gcp"].error
    aws, runpod = found["aws"].report, found["runpod"].report
    assert aws is not None and runpod is not None and aws.ok and runpod.ok
    # A size that the card does not have is not guessed at.
    assert found["aws"].left_out == {"unknown_gpu": 1} and found["runpod"].left_out == {"unknown_gpu": 1}
    rents = [r for r in load_snapshot(shipped).rentals if r.observed_on == DAY.isoformat()]
    h100 = [r for r in rents if r.instance == "p5.48xlarge"]
    assert {(r.per_hour, r.per_gpu_hour, r.gpu_count) for r in h100} == {(95.0, 11.875, 8)}
    assert all(r.variant_assumed for r in h100) and len(h100) >= 2
    held = {r.instance: r.held for r in rents if r.provider == "runpod"}
    assert held == {"4090": "", "yearly": "likely_yearly_rent"}
    again = run(shipped, gpuhunt_providers(folder=folder))["aws"].report
    assert again is not None and (again.inserted, again.stored) == (0, False)


def test_a_cloud_that_is_not_known_is_named(shipped: Engine, folder: Path) -> None:
    (folder / "nobody.csv").write_text("x\n", encoding="utf-8")
    found = run(shipped, gpuhunt_providers(["nobody", "aws"], folder))
    assert "Unknown provider" in found["nobody"].error
    assert found["aws"].report is not None and found["aws"].report.ok


def test_clouds_that_cannot_be_reached_are_named_without_a_trace(
    shipped: Engine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: object) -> None:
        raise URLError("no way out")

    monkeypatch.setattr(gpuhunt.Catalog, "_load_provider", refuse)
    found = run(shipped, gpuhunt_providers())
    assert len(found) == len(OFFLINE_PROVIDERS) and all(o.report is None for o in found.values())
    assert found["aws"].error == "its offers cannot be downloaded (no way out)"
    assert caplog.records == []
    assert logging.getLogger("gpuhunt").propagate


def test_rates_join_the_months_that_are_there(shipped: Engine) -> None:
    found = run(shipped, [ReferenceRates(down), MonthlyMeans(lambda _: MEANS)])
    assert "is down" in found["ecb"].error
    report = found["fed-h10"].report
    # June is in the seed; the rest is new; a month still to come and one before 2016 are left out.
    assert report is not None and (report.inserted, report.unchanged) == (2, 1)
    use = load_snapshot(shipped).rates.to_cny("USD", DAY)
    assert use is not None and (use.rate, use.observed_on) == (6.71, date(2026, 10, 31))


def test_daily_rates_are_crossed_over_the_euro(shipped: Engine) -> None:
    report = run(shipped, [ReferenceRates(lambda _: EURO)])["ecb"].report
    assert report is not None and report.ok
    use = load_snapshot(shipped).rates.to_cny("USD", DAY)
    assert use is not None and use.rate == pytest.approx(7.83 / 1.16, abs=1e-6)


def test_a_rate_the_wrong_way_round_is_not_taken(shipped: Engine) -> None:
    upside_down = MEANS.replace(b"6.7100", b"0.1490")
    report = run(shipped, [MonthlyMeans(lambda _: upside_down)])["fed-h10"].report
    assert report is not None and not report.stored
    assert [(f.code, f.confirmable) for f in report.faults] == [("far_from_history", True)]


@pytest.mark.parametrize("content", [b"", b"<a>", LAUGHS, b"Date,Other\n", b"\xff\xfe\x00"])
def test_rubbish_is_one_providers_trouble(shipped: Engine, content: bytes) -> None:
    found = run(shipped, [MonthlyMeans(lambda _: content), ReferenceRates(lambda _: content)])
    assert all(o.error or o.report is not None for o in found.values())
    assert found["ecb"].report is None or found["ecb"].report.inserted == 0


@pytest.mark.parametrize("address", ["http://example.org/x", "file:///etc/passwd", "ftp://example.org"])
def test_only_https_is_fetched(address: str) -> None:
    with pytest.raises(ProviderDown):
        fetch_address(address)
