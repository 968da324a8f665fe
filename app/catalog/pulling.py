"""Pulling rents and exchange rates from where they are published; one dead provider never breaks the rest."""

from __future__ import annotations

import csv
import io
import logging
import os
import urllib.request
from calendar import monthrange
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, Protocol
from xml.etree.ElementTree import ParseError

from sqlalchemy import Connection, Engine, select

from app.catalog import tables
from app.catalog.changes import Author
from app.catalog.db import reading
from app.catalog.importing import ImportOptions, ImportReport, import_items
from app.catalog.imports.references import References
from app.catalog.imports.values import CellFault, ImportRefused
from app.catalog.versions import table_of

KINDS = ("rates", "rentals")
TIMEOUT_SECONDS = 20
MAX_DOWNLOAD_BYTES = 20_000_000
MEMORY_TOLERANCE = 0.15
"""Providers state nominal, usable or rounded sizes of the same card."""
Fetch = Callable[[str], bytes]


class ProviderDown(RuntimeError):
    """A provider cannot be asked or gives nothing that can be read; the text is for the operator."""


class Provider(Protocol):
    """Who publishes rents or rates."""

    @property
    def name(self) -> str:
        """As it is asked for."""

    @property
    def kind(self) -> str:
        """rates or rentals."""

    def fetch(self, references: References, today: date) -> tuple[list[dict[str, Any]], Mapping[str, int]]:
        """Rows under the column names of an import, and how many were left out, by reason."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one provider gave."""

    provider: str
    error: str
    """Empty when it answered."""
    left_out: Mapping[str, int]
    report: ImportReport | None


def fetch_address(address: str) -> bytes:
    """The document at an https address, bounded in size and time.

    Errors
    ------
    ProviderDown when it cannot be had.
    """
    if not address.startswith("https://"):
        raise ProviderDown("only https addresses are fetched")
    request = urllib.request.Request(address, headers={"user-agent": "cardworth"})
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            content: bytes = answer.read(MAX_DOWNLOAD_BYTES + 1)
    except OSError as error:
        raise ProviderDown(f"{address} cannot be reached ({error})") from error
    if len(content) > MAX_DOWNLOAD_BYTES:
        raise ProviderDown(f"{address} is larger than {MAX_DOWNLOAD_BYTES} bytes")
    return content


@dataclass(frozen=True, slots=True)
class MonthlyMeans:
    """Monthly means of the Federal Reserve's H.10 series, in units for one dollar."""

    fetch_from: Fetch = fetch_address
    name: str = "fed-h10"
    kind: str = "rates"
    address: str = "https://raw.githubusercontent.com/datasets/exchange-rates/main/data/monthly.csv"
    source: str = "fed-h10-monthly"
    first_year: int = 2016

    COUNTRIES = {"China": "CNY", "Taiwan": "TWD", "Hong Kong": "HKD", "Euro": "EUR", "Japan": "JPY"}

    def fetch(self, references: References, today: date) -> tuple[list[dict[str, Any]], Mapping[str, int]]:
        """Rows of the months that are over: a mean of a running month still changes."""
        # The seed has these months already, under the address at which they were read.
        stated = {"source": self.source}
        if self.source not in references.sources:
            title = "Monthly means of the Federal Reserve H.10 series"
            stated = {"source": title, "source_url": self.address}
        try:
            text = self.fetch_from(self.address).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ProviderDown("the file is no text") from error
        reader = csv.DictReader(io.StringIO(text))
        if not {"Date", "Country", "Value"} <= set(reader.fieldnames or ()):
            raise ProviderDown("the file has other columns than Date, Country, Value")
        rows = []
        for line in reader:
            currency = self.COUNTRIES.get(line["Country"])
            if currency is None or not line["Value"] or int(line["Date"][:4]) < self.first_year:
                continue
            year, month = int(line["Date"][:4]), int(line["Date"][5:7])
            last = date(year, month, monthrange(year, month)[1])
            if last <= today:
                rows.append(
                    {
                        "base": "USD",
                        "quote": currency,
                        "rate": line["Value"],
                        "observed_on": last.isoformat(),
                        "kind": "monthly mean",
                        **stated,
                    }
                )
        return rows, {}


@dataclass(frozen=True, slots=True)
class ReferenceRates:
    """Daily euro reference rates of the European Central Bank, crossed to the dollar."""

    fetch_from: Fetch = fetch_address
    name: str = "ecb"
    kind: str = "rates"
    address: str = "https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml"

    CURRENCIES = ("CNY", "HKD", "JPY")

    def fetch(self, references: References, today: date) -> tuple[list[dict[str, Any]], Mapping[str, int]]:
        """Yuan, Hong Kong dollars, yen and euros for one dollar."""
        del references
        from defusedxml import DefusedXmlException
        from defusedxml.ElementTree import fromstring

        try:
            root = fromstring(self.fetch_from(self.address))
        except (ParseError, DefusedXmlException) as error:
            raise ProviderDown("the document is no XML that can be trusted") from error
        rows = []
        for day in root.iter():
            observed_on = day.attrib.get("time", "")
            if not observed_on or observed_on > today.isoformat():
                continue
            euro = {c.attrib["currency"]: float(c.attrib["rate"]) for c in day if "currency" in c.attrib}
            dollar = euro.get("USD")
            if not dollar:
                raise ProviderDown("the document has no rate of the dollar")
            crossed = {c: euro[c] / dollar for c in self.CURRENCIES if c in euro} | {"EUR": 1 / dollar}
            rows += [
                {
                    "base": "USD",
                    "quote": currency,
                    "rate": round(rate, 6),
                    "observed_on": observed_on,
                    "kind": "daily",
                    "source": "European Central Bank, euro foreign exchange reference rates",
                    "source_url": self.address,
                    "note": "crossed over the euro",
                }
                for currency, rate in crossed.items()
            ]
        return rows, {}


@dataclass(frozen=True, slots=True)
class GpuHunt:
    """Offers of one cloud in the catalogue that the library gpuhunt publishes, in dollars."""

    name: str
    catalog: Any
    """A gpuhunt.Catalog."""
    kind: str = "rentals"

    def fetch(self, references: References, today: date) -> tuple[list[dict[str, Any]], Mapping[str, int]]:
        """One row for each instance; the lowest of its locations, which are named in the note."""
        try:
            offers = self.catalog.query(provider=self.name)
        except Exception as error:  # whatever the library or the provider behind it trips over
            raise ProviderDown(f"{type(error).__name__}: {error}") from error
        left_out: dict[str, int] = {}
        cheapest: dict[tuple[Any, ...], Any] = {}
        locations: dict[tuple[Any, ...], int] = {}
        for offer in offers:
            if not offer.gpu_count or not offer.gpu_name or offer.price <= 0:
                left_out["no_gpu"] = left_out.get("no_gpu", 0) + 1
                continue
            key = (offer.instance_name, offer.gpu_name, offer.gpu_memory, offer.gpu_count, offer.spot)
            locations[key] = locations.get(key, 0) + 1
            if key not in cheapest or offer.price < cheapest[key].price:
                cheapest[key] = offer
        rows: list[dict[str, Any]] = []
        for key, offer in cheapest.items():
            cards = cards_of(offer.gpu_name, offer.gpu_memory, references)
            if not cards:
                left_out["unknown_gpu"] = left_out.get("unknown_gpu", 0) + 1
            rows += [_rent(self.name, offer, card, len(cards) > 1, locations[key], today) for card in cards]
        return rows, left_out


def gpuhunt_providers(names: Sequence[str] = (), folder: Path | None = None) -> list[Provider]:
    """Clouds of the library gpuhunt.

    Parameters
    ----------
    names: only these; empty for all whose offers the library publishes as files.
    folder: catalogue files already at hand, `<provider>.csv`; None downloads them.

    Errors
    ------
    ProviderDown when the library is not installed or nothing can be downloaded.
    """
    try:
        import gpuhunt
    except ImportError as error:
        raise ProviderDown("gpuhunt is not installed: pip install 'cardworth[rentals]'") from error
    catalog = gpuhunt.Catalog(auto_reload=False)
    if folder is not None:
        found = sorted(path.stem for path in folder.glob("*.csv"))
        return [
            GpuHunt(name, _FolderCatalog(catalog, folder)) for name in found if not names or name in names
        ]
    with _failures() as failed:
        try:
            catalog.load()
        except gpuhunt.GPUHuntError as error:
            if not failed:
                raise ProviderDown(str(error)) from error
    wanted = names or sorted({*catalog.catalog, *failed})
    return [
        Unreachable(name, failed[name])
        if name in failed and name not in catalog.catalog
        else GpuHunt(name, catalog)
        for name in wanted
    ]


@dataclass(frozen=True, slots=True)
class Unreachable:
    """A cloud whose offers could not be downloaded."""

    name: str
    why: str
    kind: str = "rentals"

    def fetch(self, references: References, today: date) -> tuple[list[dict[str, Any]], Mapping[str, int]]:
        """Nothing but the reason."""
        del references, today
        raise ProviderDown(self.why)


@contextmanager
def _failures() -> Iterator[dict[str, str]]:
    """By provider, why gpuhunt could not load it: it says so to its log only, each with a stack trace."""
    found: dict[str, str] = {}

    class Kept(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            error = record.exc_info[1] if record.exc_info else None
            name = record.args[0] if isinstance(record.args, tuple) and record.args else "gpuhunt"
            reason = getattr(error, "reason", error) or record.getMessage()
            found[str(name)] = f"its offers cannot be downloaded ({reason})"

    logger, handler = logging.getLogger("gpuhunt"), Kept(logging.WARNING)
    before = logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield found
    finally:
        logger.removeHandler(handler)
        logger.propagate = before


class _FolderCatalog:
    """Catalogue files on this machine; the library takes their folder from the environment only."""

    VARIABLE = "GPUHUNT_CATALOG_DIR"

    def __init__(self, catalog: Any, folder: Path) -> None:
        self.catalog = catalog
        self.folder = folder

    def query(self, provider: str) -> list[Any]:
        before = os.environ.get(self.VARIABLE)
        os.environ[self.VARIABLE] = str(self.folder)
        try:
            return list(self.catalog.query(provider=provider))
        finally:
            os.environ.pop(self.VARIABLE)
            if before is not None:
                os.environ[self.VARIABLE] = before


def pull(
    engine: Engine, providers: Iterable[Provider], author: Author, options: ImportOptions
) -> list[Outcome]:
    """Ask each provider and import what it gives, each in a transaction of its own.

    Notes
    -----
    The rows pass the checks of an import. Those that are far from the known are kept and held back, unless
    `options.confirm` says otherwise: nobody stands by to confirm them one by one.
    """
    outcomes = []
    for provider in providers:
        with reading(engine) as connection:
            references = References.read(connection)
            references.memory_gib = _memory_of_cards(connection)
        try:
            rows, left_out = provider.fetch(references, options.today)
        except (ProviderDown, LookupError, ValueError, OSError) as error:
            outcomes.append(Outcome(provider.name, str(error) or type(error).__name__, {}, None))
            continue
        try:
            report = import_items(engine, provider.kind, rows, author, replace(options, hold=True))
        except ImportRefused as refused:
            outcomes.append(Outcome(provider.name, refused.code, left_out, None))
            continue
        outcomes.append(Outcome(provider.name, "", left_out, report))
    return outcomes


def cards_of(name: str, memory_gib: float | None, references: References) -> list[str]:
    """Cards that a provider's name and size may mean; several where it does not say which variant."""
    attempts = [name]
    if memory_gib:
        attempts.insert(0, f"{name} {memory_gib:g}GB")
    found: list[str] = []
    for text in attempts:
        try:
            found = [references.gpu(text)]
        except CellFault as fault:
            found = list(fault.params.get("candidates", ()))
        if found:
            break
    sizes = references.memory_gib
    return [
        card
        for card in found
        if card in references.gpu_ids
        and (not memory_gib or card not in sizes or abs(sizes[card] / memory_gib - 1) <= MEMORY_TOLERANCE)
    ]


def _rent(provider: str, offer: Any, card: str, assumed: bool, locations: int, today: date) -> dict[str, Any]:
    return {
        "gpu_id": card,
        "name_as_written": f"{offer.gpu_name} {offer.gpu_memory or ''}".strip(),
        "provider": provider,
        "instance": offer.instance_name,
        "gpu_count": offer.gpu_count,
        "per_hour": offer.price,
        "currency": "USD",
        "billing": "spot" if offer.spot else "on-demand",
        "region": "global",
        "observed_on": today.isoformat(),
        "source": "gpuhunt catalogue of cloud offers",
        "source_url": "https://github.com/dstackai/gpuhunt",
        "variant_assumed": assumed,
        "note": f"lowest of {locations} locations: {offer.location}" if locations > 1 else offer.location,
    }


def _memory_of_cards(connection: Connection) -> dict[str, float]:
    """Nameplate memory [GiB] of every card that has it."""
    table = table_of(tables.GpuFigureRow)
    rows = connection.execute(select(table).where(table.c.chosen, table.c.figure == "memory_gib"))
    return {r.gpu_id: r.value for r in rows}
