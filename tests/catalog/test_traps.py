"""The 21 traps that concern data, of the market notes (m1..m10) and of other tools' bug reports (u29..u39).

====  ==========================================================  ===========================================
m1    rent in units of ten thousand, wrong for three days         test_m1_…
m2    tenfold bandwidth of the MetaX C500                         test_m2_…, planted "18 TB/s for 1.8"
m3    sparse beside dense; fp16 accumulate beside fp32            test_m3_…, planted "H800 sparse"
m4    A100 ranked by its vector rate                              test_m4_…
m5    bins of one chip                                            test_m5_…
m6    cards of one vendor listed under another                    test_m6_…
m7    Taiwan dollars read as yuan                                 test_m7_…, planted "NT$ as yuan"
m8    a year's rent read as a month's                             test_m8_…, planted "yearly rent as monthly"
m9    list price against bare metal, averaged                     test_m9_…
m10   a price without stock                                       test_m10_…
u29   sparse headline in the place of the dense rate              test_m3_…, planted "sparse rate"
u30   sparse and dense mixed between cards of one family          test_m3_… (H200), lint dense_ratio
u31   fp8 sparse beside bf16 dense                                test_m3_… (L40S), lint fp8_ratio
u32   GeForce halves fp32 accumulate                              test_m3_… (RTX 4090, RTX 3090)
u33   a figure bent to suit a correction factor                   test_m3_… (A100 at 624)
u34   GB against GiB, driver totals                               test_u34_…
u35   sizes that a card does not have                             test_u35_…, lint memory_size
u36   variants taken for each other, laptop for desktop           test_u36_…
u37   consumer, export and domestic cards missing                 test_u37_…
u38   stale, per node, unscaled prices; spread not shown          test_u38_… (three), planted "8-card price …"
u39   no history, no price of a year ago                          test_u39_…
====  ==========================================================  ===========================================

Beside them: u40, measurements that no card can reach, and a rate that must not be a constant.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, insert, text, update

from app.catalog import tables
from app.catalog.backup import back_up_file
from app.catalog.changes import Author
from app.catalog.columns import CATALOG_ROWS
from app.catalog.columns.cells import BASES, FIGURE_UNITS
from app.catalog.db import create_engine_from_url, sqlite_path, upgrade
from app.catalog.importing import ImportOptions, ImportReport, import_items
from app.catalog.lint import lint_database
from app.catalog.seed import load_seed
from app.catalog.snapshot import Snapshot
from app.catalog.snapshot_load import load_snapshot
from app.catalog.tables import ModelRow
from app.catalog.versions import table_of
from app.core.decide.market import seller
from app.core.faults import InputFault
from app.core.question import CONDITIONS, PriceRules

DAY = date(2026, 11, 30)
AUTHOR = Author("tester")


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = create_engine_from_url(f"sqlite:///{tmp_path_factory.mktemp('traps') / 'catalog.db'}")
    upgrade(engine)
    load_seed(engine)
    yield engine
    engine.dispose()


@pytest.fixture(scope="module")
def snapshot(shipped: Engine) -> Snapshot:
    return load_snapshot(shipped)


def dry(engine: Engine, kind: str, *items: dict[str, Any]) -> ImportReport:
    return import_items(engine, kind, items, AUTHOR, ImportOptions(DAY, dry_run=True))


def price(gpu: str, amount: Any, **more: Any) -> dict[str, Any]:
    base = {"gpu": gpu, "condition": "new", "amount": amount, "currency": "CNY", "region": "CN"}
    return base | {"observed_on": "2026-11-20", "source": "A shop"} | more


def rent(gpu: str, per_gpu_hour: float, **more: Any) -> dict[str, Any]:
    base = {"gpu": gpu, "provider": "A cloud", "per_gpu_hour": per_gpu_hour, "currency": "CNY"}
    return base | {"observed_on": "2026-11-20", "source": "A shop"} | more


# The eight errors that the requirements plant. Each is put into the stored rows, past every check of an
# import, and must be found there; the transaction is taken back.
FIGURE = table_of(tables.GpuFigureRow)
PRICE = table_of(tables.PriceRow)
RENTAL = table_of(tables.RentalRow)


def figure(gpu: str, name: str, value: float) -> Any:
    return (
        update(FIGURE)
        .where(FIGURE.c.gpu_id == gpu, FIGURE.c.figure == name, FIGURE.c.chosen)
        .values(value=value)
    )


def newest_price(engine: Engine, gpu: str) -> str:
    query = text(
        "SELECT id FROM price WHERE gpu_id = :gpu AND condition = 'new' AND currency = 'CNY' "
        "AND per = 'card' AND held = '' AND channel_kind <> 'launch' ORDER BY observed_on DESC, id LIMIT 1"
    )
    with engine.connect() as connection:
        return str(connection.execute(query, {"gpu": gpu}).scalar_one())


def planted(name: str, engine: Engine) -> tuple[list[Any], str, str]:
    """Statements, the rule that must object, and the card."""
    if name == "sparse rate":
        return [figure("a100-sxm4-80gb", "fp16_tflops", 624.0)], "dense_ratio", "a100-sxm4-80gb"
    if name == "A10 figures on A10G":
        rates = [figure("a10g", f"{kind}_tflops", 125.0) for kind in ("fp16", "bf16")]
        return rates, "known_deviation", "a10g"
    if name == "doubled bandwidth":
        return [figure("h800-sxm5-80gb", "bandwidth_gb_s", 6700.0)], "bandwidth", "h800-sxm5-80gb"
    if name == "18 TB/s for 1.8":
        with engine.connect() as connection:
            of_bandwidth = FIGURE.select().where(FIGURE.c.figure == "bandwidth_gb_s")
            known = dict(connection.execute(of_bandwidth).mappings().first() or {})
        slipped = known | {"id": "planted", "gpu_id": "metax-c500-pcie", "value": 18000.0, "chosen": True}
        return [insert(FIGURE).values(slipped)], "bandwidth", "metax-c500-pcie"
    if name == "H800 sparse":
        rates = [figure("h800-sxm5-80gb", f"{kind}_tflops", 1979.0) for kind in ("fp16", "bf16")]
        return rates, "dense_ratio", "h800-sxm5-80gb"
    if name == "8-card price on one card":
        row = newest_price(engine, "rtx4090")
        return (
            [update(PRICE).where(PRICE.c.id == row).values(amount=PRICE.c.amount * 8)],
            "price_history",
            "rtx4090",
        )
    if name == "NT$ as yuan":
        row = newest_price(engine, "rtx5090")
        return [update(PRICE).where(PRICE.c.id == row).values(region="TW")], "currency", "rtx5090"
    with engine.connect() as connection:
        query = text(
            "SELECT id FROM rental WHERE gpu_id = 'rtx4090' AND currency = 'CNY' AND held = '' "
            "ORDER BY per_gpu_hour LIMIT 1"
        )
        row = str(connection.execute(query).scalar_one())
    # What is paid for a year, taken for a month's.
    return (
        [update(RENTAL).where(RENTAL.c.id == row).values(per_gpu_hour=RENTAL.c.per_gpu_hour * 12)],
        "rent_share",
        "rtx4090",
    )


@pytest.mark.parametrize(
    "name",
    [
        "sparse rate",
        "A10 figures on A10G",
        "doubled bandwidth",
        "18 TB/s for 1.8",
        "H800 sparse",
        "8-card price on one card",
        "NT$ as yuan",
        "yearly rent as monthly",
    ],
)
def test_lint_finds_the_planted_error(shipped: Engine, tmp_path: Path, name: str) -> None:
    statements, rule, gpu = planted(name, shipped)
    path = sqlite_path(shipped.url)
    assert path is not None
    back_up_file(path, tmp_path / "copy.db")
    copy = create_engine_from_url(f"sqlite:///{tmp_path / 'copy.db'}")
    with copy.begin() as connection:
        for statement in statements:
            assert connection.execute(statement).rowcount == 1
    found = [(f.rule, f.gpu_id) for f in lint_database(copy).unexplained]
    copy.dispose()
    assert (rule, gpu) in found


def test_lint_finds_nothing_else_in_what_ships(shipped: Engine) -> None:
    assert [str(f) for f in lint_database(shipped).unexplained] == []


DATES = {
    "gpu_figure": "as_of",
    "gpu_fact": "as_of",
    "price": "observed_on",
    "rental": "observed_on",
    "exchange_rate": "observed_on",
    "benchmark": "observed_on",
    "memory_case": "observed_on",
    "model": "as_of",
    "framework_support": "as_of",
    "availability": "from_on",
    "engine_support": "dated",
    "host_class": "observed_on",
}
WITHOUT_FIGURES = {"source", "gpu", "alias", "quote"}


def test_every_figure_has_source_date_unit_and_basis(shipped: Engine) -> None:
    """Walks every row of every table of the catalogue; a table that is neither here nor there fails."""
    counted: Counter[str] = Counter()
    with shipped.connect() as connection:
        sources = {r.id: r for r in connection.execute(text("SELECT * FROM source"))}
        for table in map(table_of, CATALOG_ROWS):
            assert (table.name in DATES) != (table.name in WITHOUT_FIGURES), table.name
            if table.name not in DATES:
                continue
            for row in connection.execute(table.select()).mappings():
                counted[table.name] += 1
                where = (table.name, row["id"])
                source = sources[row["source_id"]]
                assert source.title and source.publisher and source.kind and source.read_on, where
                assert row[DATES[table.name]] or source.read_on, where
                assert has_unit_and_basis(table.name, row), where
    assert set(counted) == set(DATES)
    assert counted.total() > 15_500
    assert counted["gpu_fact"] > 400 and counted["availability"] > 80


def has_unit_and_basis(table: str, row: Any) -> bool:
    """What a row of a table must say of the kind of its figure."""
    if table in ("gpu_figure", "gpu_fact", "model") and not (
        row["basis"] in BASES and (row["basis"] != "derived" or row["formula"])
    ):
        return False
    if table == "gpu_figure":
        return bool(row["unit"]) and row["unit"] == FIGURE_UNITS[row["figure"]]
    if table == "price":
        return bool(row["currency"] and row["per"] and row["condition"] and row["channel_kind"])
    if table == "rental":
        return bool(row["currency"] and row["gpu_count"] and row["provider"])
    if table == "exchange_rate":
        return bool(row["base"] and row["quote"] and row["kind"])
    if table == "benchmark":
        return bool(row["unit"] and row["gpu_count"] and row["task"])
    if table == "host_class":
        return bool(row["basis"] and row["quality"] and row["note"])
    if table == "engine_support":
        return bool(row["engine"] and row["hardware"] and row["status"] and row["evidence"])
    if table == "availability":
        return bool(row["text"] and row["text_zh"] and row["status"])
    return True


def test_the_formula_of_derived_parameters_gives_them(shipped: Engine) -> None:
    """Those written in the dimensions of the model are worked out; the others name what they start from."""
    table = table_of(ModelRow)
    with shipped.connect() as connection:
        rows = connection.execute(table.select().where(table.c.basis == "derived")).mappings().all()
    worked = 0
    for row in rows:
        if not row["formula"].startswith("embedding_parameters"):
            assert row["family"] == "vision" and any(c.isdigit() for c in row["formula"])
            continue
        terms = row["formula"]
        for name in sorted(row["architecture"], key=len, reverse=True):
            terms = re.sub(rf"\b{name}\b", str(row["architecture"][name]), terms)
        assert re.fullmatch(r"[0-9 ()*+^]+", terms), terms
        assert eval(terms.replace("^", "**")) == row["parameters"], row["id"]
        worked += 1
    assert worked == 13


@pytest.mark.parametrize("slip", [500.0, 55.0])
def test_m1_a_rent_in_units_of_ten_thousand_is_held(shipped: Engine, slip: float) -> None:
    """An 8 x 5090 server at 500, later 55, in place of 1.2 (x 10,000 yuan a month)."""
    month = {"gpu": "rtx5090", "provider": "x", "gpu_count": 8, "period": "month", "currency": "CNY"}
    right = month | {"amount": "1.2万", "observed_on": "2026-11-20", "source": "A shop"}
    assert dry(shipped, "rentals", right).ok
    wrong = dry(shipped, "rentals", right | {"amount": f"{slip}万"})
    assert [f.code for f in wrong.faults] in (["likely_yearly_rent"], ["far_from_history"])


def test_m2_a_tenfold_bandwidth_needs_confirmation(shipped: Engine) -> None:
    item = {"gpu": "metax-c500-pcie", "figure": "bandwidth_gb_s", "value": 18000, "basis": "exact"}
    report = dry(shipped, "figures", item | {"as_of": "2026-11-30", "source": "A copy"})
    assert [(f.code, f.confirmable) for f in report.faults] == [("lint", True)]


@pytest.mark.parametrize(
    ("gpu", "name", "value"),
    [
        # m3, u29: sparse figures beside dense ones; u30, u31: fp8 sparse beside bf16 dense.
        ("h800-sxm5-80gb", "fp16_tflops", 1979),
        ("h100-sxm5-80gb", "bf16_tflops", 1979),
        ("l40s", "fp8_tflops", 1466),
        ("h200-sxm-141gb", "bf16_tflops", 1979),
        # u33: a "fix" of the A100 to suit a correction factor.
        ("a100-sxm4-80gb", "bf16_tflops", 624),
        # u32, m3: the rate with fp16 accumulate in the place of the one with fp32.
        ("rtx4090", "fp16_tflops", 330.3),
        ("rtx3090", "fp16_tflops", 142),
    ],
)
def test_m3_u29_u33_a_wrong_rate_needs_confirmation(
    shipped: Engine, snapshot: Snapshot, gpu: str, name: str, value: float
) -> None:
    gpu_id = snapshot.resolve_gpu(gpu)
    item = {"gpu": gpu_id, "figure": name, "value": value, "basis": "exact"}
    report = dry(shipped, "figures", item | {"as_of": "2026-11-30", "source": "A table"})
    assert {f.code for f in report.faults} == {"lint"}


def test_m4_a_tflops_per_yuan_figure_rests_on_the_tensor_rate(snapshot: Snapshot) -> None:
    """19.5 TFLOPS per 70,000 yuan is 0.28 per thousand; 312 is 4.46."""
    rate = snapshot.gpu("a100-sxm4-80gb").rate_tflops("bf16_tflops")
    assert rate is not None and rate / 70 == pytest.approx(4.46, abs=0.01)


@pytest.mark.parametrize(
    ("bin_", "tflops", "memory"), [("b1", 400, 64), ("b2", 376, 64), ("b3", 313, 64), ("b4", 280, 32)]
)
def test_m5_bins_of_one_chip_are_cards_of_their_own(
    snapshot: Snapshot, bin_: str, tflops: float, memory: float
) -> None:
    gpu = snapshot.gpu(f"ascend-910{bin_}")
    assert gpu.memory_gib == memory
    stated = {e.figure.value for e in snapshot.all_figures(gpu.id) if e.name == "fp16_tflops"}
    assert any(abs(value - tflops) <= 0.01 * tflops for value in stated), stated
    with pytest.raises(InputFault, match="ambiguous_name"):
        snapshot.resolve_gpu("昇腾910B")


def test_m6_iluvatar_cards_are_not_birens(snapshot: Snapshot) -> None:
    cards = [g for g in snapshot.gpus if "天垓" in " ".join((g.name, *g.aliases))]
    assert cards and all("Biren" not in g.vendor for g in cards)
    assert all("Iluvatar" in g.vendor or "天数" in g.vendor for g in cards)


@pytest.mark.parametrize("amount", ["59,990元", 59990])
def test_m7_taiwan_dollars_are_not_yuan(shipped: Engine, amount: Any) -> None:
    report = dry(shipped, "prices", price("rtx4090", amount, region="台湾"))
    assert [f.code for f in report.faults] == ["likely_twd"]
    right = price("rtx4090", "NT$59,990", region="TW", currency="TWD")
    assert "likely_twd" not in {f.code for f in dry(shipped, "prices", right).faults}
    contradiction = dry(shipped, "prices", price("rtx4090", "NT$59,990", region="TW"))
    assert [f.code for f in contradiction.faults] == ["currency_conflict"]


def test_m8_a_yearly_rent_is_not_a_monthly_one(shipped: Engine) -> None:
    assert dry(shipped, "rentals", rent("rtx4090", 2.0)).ok
    wrong = dry(shipped, "rentals", rent("rtx4090", 24.0))
    assert [f.code for f in wrong.faults] == ["likely_yearly_rent"]


def test_m9_channels_are_never_averaged(snapshot: Snapshot) -> None:
    """Each choice rests on observations of one seller, currency and tax basis of one day."""
    checked = 0
    for (gpu_id, _), choice in snapshot.price_choices(DAY, None, CONDITIONS).items():
        rows = [r for r in snapshot.price_rows(gpu_id) if r.id in choice.observation_ids]
        assert len({(seller(r.channel), r.currency, r.tax, r.observed_on) for r in rows}) == 1
        checked += 1
    assert checked > 50


def test_m10_sold_out_offers_are_held(snapshot: Snapshot) -> None:
    sold_out = [r for r in snapshot.rentals if "sold out" in f"{r.held} {r.note}".lower()]
    assert sold_out and all(r.held for r in sold_out)


def test_u34_memory_as_the_driver_prints_it(snapshot: Snapshot) -> None:
    """nvidia-smi: H100 81,559 MiB, L4 23,034, A10 23,028, T4 15,360."""
    for gpu, mib in (("h100-sxm5-80gb", 81559), ("l4", 23034), ("a10", 23028), ("t4", 15360)):
        total = snapshot.gpu(gpu).driver_total_gib
        assert total is not None and total * 1024 == pytest.approx(mib, rel=0.005), gpu


def test_u35_a_size_that_a_card_does_not_have_needs_confirmation(shipped: Engine) -> None:
    item = {"gpu": "l4", "figure": "memory_gib", "value": 22.35, "basis": "exact"}
    report = dry(shipped, "figures", item | {"as_of": "2026-11-30", "source": "A cloud"})
    assert {f.code for f in report.faults} == {"lint"}


def test_u36_variants_are_rows_of_their_own_and_names_are_exact(snapshot: Snapshot) -> None:
    sizes = {
        "rtx4090": 24,
        "rtx4090d": 24,
        "rtx4090-48gb-mod": 48,
        "a100-sxm4-40gb": 40,
        "a100-sxm4-80gb": 80,
    }
    for gpu, size in sizes.items():
        assert snapshot.gpu(snapshot.resolve_gpu(gpu)).memory_gib == size
    # A laptop's chip of the same name is another card: fewer cores, less memory, less power.
    for laptop, desktop in (("RTX 4090 Laptop", "RTX 4090"), ("5090 笔记本", "RTX 5090")):
        small, large = snapshot.gpu(snapshot.resolve_gpu(laptop)), snapshot.gpu(snapshot.resolve_gpu(desktop))
        assert small.form_factor == "laptop" and large.form_factor == "PCIe card"
        assert (small.memory_gib or 0) < (large.memory_gib or 0)
    for name in ("RTX 409", "RTX 4090x", "rtx 4O90", "A1000 80GB SXM"):
        with pytest.raises(InputFault):
            snapshot.resolve_gpu(name)


def test_u37_consumer_export_and_domestic_cards_are_there(snapshot: Snapshot) -> None:
    for name in (
        "RTX 4090",
        "RTX 3090",
        "RTX A5000",
        "A10",
        "A800 80GB PCIe",
        "H20 96GB",
        "L20",
        "Ascend 910B4",
    ):
        assert snapshot.resolve_gpu(name)


def test_u38_a_price_says_unit_date_and_source(shipped: Engine, snapshot: Snapshot) -> None:
    for missing, code in (
        ("source", "source_missing"),
        ("observed_on", "required"),
        ("currency", "currency_missing"),
    ):
        item = price("rtx4090", 16000)
        del item[missing]
        assert [f.code for f in dry(shipped, "prices", item).faults] == [code]
    servers = snapshot.server_choices(DAY, None, CONDITIONS)
    cards = snapshot.price_choices(DAY, None, CONDITIONS)
    assert all(choice.per == "server-8" for choice in servers.values())
    assert all(choice.per == "card" for choice in cards.values())


def test_u38_an_unscaled_price_of_eight_is_held(shipped: Engine, snapshot: Snapshot) -> None:
    usual = snapshot.price_choices(DAY)["rtx4090", "new"].amount_cny
    report = dry(shipped, "prices", price("rtx4090", round(usual * 8)))
    assert [f.code for f in report.faults][0] in ("likely_server_price", "far_from_history")


def test_u38_the_range_and_number_stand_beside_a_price(snapshot: Snapshot) -> None:
    for choice in snapshot.price_choices(DAY, None, CONDITIONS).values():
        assert choice.n >= 1
        if choice.evidence != "none":
            assert choice.low_cny and choice.expected_cny and choice.high_cny
            assert choice.low_cny <= choice.expected_cny <= choice.high_cny


def test_u39_yesterday_can_be_asked_for(snapshot: Snapshot) -> None:
    """A price of a year ago is what was known a year ago, not today's."""
    card = snapshot.cards["rtx4090"]
    then = card.choose(date(2025, 11, 30), PriceRules(), "new", snapshot.rates)
    now = card.choose(DAY, PriceRules(), "new", snapshot.rates)
    assert then is not None and now is not None
    assert then.observed_on <= "2025-11-30" < now.observed_on


def test_an_old_rate_is_marked_and_the_dollar_is_not_seven_point_two(snapshot: Snapshot) -> None:
    """Mid-2026 the dollar cost 6.78 yuan: a constant of 7.2 is six per cent wrong."""
    use = snapshot.rates.to_cny("USD", date(2026, 7, 15))
    assert use is not None and use.rate == pytest.approx(6.78, abs=0.02)
    late = snapshot.rates.to_cny("USD", DAY)
    assert late is not None and late.old


def measured(gpu: str, value: float, **more: Any) -> dict[str, Any]:
    base = {"gpu": gpu, "model": "llama-3.1-8b", "task": "inference", "phase": "decode", "precision": "bf16"}
    return base | {"value": value, "unit": "tokens_per_s", "date": "2026-11-20", "source": "A blog"} | more


def test_u40_a_measurement_above_the_roofline_needs_confirmation(shipped: Engine) -> None:
    """16.06 GFLOP a token: an H100 at 1979 dense FP8 TFLOPS computes at most 123,000 tokens a second."""
    assert dry(shipped, "benchmarks", measured("h100-sxm5-80gb", 9_000)).ok
    absurd = dry(shipped, "benchmarks", measured("h100-sxm5-80gb", 900_000))
    assert [(f.code, f.confirmable) for f in absurd.faults] == [("above_roofline", True)]
    assert absurd.faults[0].params["ratio"] == pytest.approx(900_000 * 16.06e9 / 1979e12, rel=0.01)
    eight = dry(shipped, "benchmarks", measured("h100-sxm5-80gb", 900_000, gpu_count=8))
    assert eight.ok or eight.faults[0].code == "far_from_history"
    assert dry(shipped, "benchmarks", measured("h100-sxm5-80gb", 900_000, confirm=True)).ok


def test_u40_a_measurement_ten_times_off_its_neighbours_needs_confirmation(
    shipped: Engine, snapshot: Snapshot
) -> None:
    rows = [
        b.value / b.gpu_count
        for b in snapshot.benchmarks_of_gpu("v100-sxm2-16gb")
        if (b.model_id, b.task, b.phase, b.unit, b.flag) == ("resnet-50", "training", "", "images_per_s", "")
    ]
    assert len(rows) >= 3
    item = measured("v100-sxm2-16gb", min(rows) / 11, model="resnet-50", unit="images_per_s")
    item |= {"task": "training", "phase": "", "precision": "fp16"}
    assert [f.code for f in dry(shipped, "benchmarks", item).faults] == ["far_from_history"]
    assert dry(shipped, "benchmarks", item | {"value": min(rows) / 5}).ok
