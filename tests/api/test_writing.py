"""Writing through the API: keys and scopes, all or nothing, faults by pointer, quotes end to end."""

from __future__ import annotations

import hashlib
import io
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from fastapi.testclient import TestClient

from app.api.schemas.writing import EXAMPLES
from app.services import access, maintenance
from app.settings import Settings

AS_OF = "2026-11-30"
SHORTLIST = {
    "workload": {
        "model": {"preset": "llama-3.1-8b"},
        "task": "inference",
        "precision": "bf16",
        "batch_size": 1,
        "sequence_length": 8192,
    },
    "filters": {"gpus": ["rtx4090"], "conditions": ["new"]},
    "counts": [1],
    "as_of": AS_OF,
}


@dataclass(frozen=True)
class Writer:
    client: TestClient
    key: dict[str, str]
    reader: dict[str, str]

    def post(self, path: str, body: Any, query: str = "") -> Any:
        route = path.replace("engine_support", "engine-support")
        return self.client.post(f"/api/v1/{route}{query}", json=body, headers=self.key)


@contextmanager
def writer_of(seeded_database: Path, folder: Path) -> Iterator[Writer]:
    from app.main import create_app

    path = folder / "cardworth.db"
    shutil.copyfile(seeded_database, path)
    url = f"sqlite:///{path}"
    with maintenance.open_database(url) as engine:
        write = access.create_key(engine, "buyer", ("write",)).secret
        read = access.create_key(engine, "reader", ("read",)).secret
    with TestClient(create_app(Settings(database_url=url)), headers={"accept-language": "en"}) as client:
        yield Writer(client, {"x-api-key": write}, {"x-api-key": read})


@pytest.fixture(scope="module")
def api(seeded_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writer]:
    """A database that the tests of this module share."""
    with writer_of(seeded_database, tmp_path_factory.mktemp("writing")) as made:
        yield made


@pytest.fixture
def fresh(seeded_database: Path, tmp_path: Path) -> Iterator[Writer]:
    """A database of its own."""
    with writer_of(seeded_database, tmp_path) as made:
        yield made


@pytest.mark.parametrize("kind", sorted(EXAMPLES))
def test_writing_needs_a_key_with_the_scope(api: Writer, kind: str) -> None:
    body = EXAMPLES[kind]
    assert api.client.post(f"/api/v1/{kind.replace('_', '-')}", json=body).status_code == 401
    refused = api.client.post(f"/api/v1/{kind.replace('_', '-')}", json=body, headers=api.reader)
    assert (refused.status_code, refused.json()["type"]) == (403, "scope-missing")
    assert refused.headers["content-type"] == "application/problem+json"
    answer = api.post(kind, body)
    assert answer.status_code == 201, answer.text
    assert answer.json()["items"][0]["status"] == "new"
    again = api.post(kind, {"items": [body]})
    assert (again.status_code, again.json()["unchanged"]) == (200, 1)


def test_a_batch_is_stored_whole_or_not_at_all(api: Writer) -> None:
    before = api.client.get("/api/v1/prices?limit=1")
    good = EXAMPLES["prices"]
    rows = [good | {"note": f"row {n}"} for n in range(5)]
    rows[3] = rows[3] | {"amount": "面议"}
    rows[4] = rows[4] | {"gpu": "RTX 4O90", "colour": "green"}
    answer = api.post("prices", {"items": rows})
    assert answer.status_code == 422
    errors = {(e["pointer"], e["code"]) for e in answer.json()["errors"]}
    assert errors == {
        ("/items/3/amount", "not_a_number"),
        ("/items/4/gpu", "unknown_gpu"),
        ("/items/4/colour", "unknown_field"),
    }
    after = api.client.get("/api/v1/prices?limit=1")
    assert after.json()["total"] == before.json()["total"]
    assert after.headers["etag"] == before.headers["etag"]
    assert api.post("prices", {"items": rows[:3]}).json()["inserted"] == 3
    assert api.client.get("/api/v1/prices?limit=1").json()["total"] == before.json()["total"] + 3
    assert api.client.get("/api/v1/prices?limit=1").headers["etag"] != before.headers["etag"]


def test_cards_and_models_are_added_and_their_faults_named(api: Writer) -> None:
    card, model = EXAMPLES["gpus"], EXAMPLES["models"]
    rows = [card | {"id": "example-a"}, card | {"id": "example-b", "memory_gib": "much"}]
    answer = api.post("gpus", {"items": rows})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == "/items/1/memory_gib"
    assert api.client.get("/api/v1/gpus/example-a").status_code == 404
    assert api.post("gpus", rows[0], "?dry_run=true").json()["stored"] is False
    assert api.post("gpus", rows[0]).status_code == 201
    added = api.client.get("/api/v1/gpus/example-a").json()
    assert added["figures"]["bf16_tflops"]["value"] == 182.2
    refused = api.post("models", model | {"id": "example-m", "family": "oracle"})
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, "/family")
    assert (
        api.post("models", {"items": [model | {"id": "example-m", "name": "Example M"}]}).status_code == 201
    )
    found = api.client.get("/api/v1/models/example-m").json()
    assert (found["architecture"]["layers"], found["parameters"]) == (32, 7_240_000_000)
    workload = {"model": {"preset": "example-m"}, "task": "inference", "precision": "bf16"}
    fit = api.client.post("/api/v1/fit", json={"workload": workload, "gpu": "example-a", "count": 1})
    assert fit.status_code == 200, fit.text


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("bandwidth_gb_s", -5, "too_small"),
        ("fp16_tflops", 0, "out_of_range"),
        ("tdp_w", -1, "too_small"),
        ("tdp_w", 1e30, "out_of_range"),
        ("memory_gib", -1, "too_small"),
        ("pcie_lanes", 0, "out_of_range"),
        ("basis", "guess", "unknown_value"),
        ("basis", "derived", "formula_required"),
    ],
)
def test_a_figure_of_a_new_card_obeys_the_rules_of_figures(
    api: Writer, name: str, value: Any, code: str
) -> None:
    card = EXAMPLES["gpus"] | {"id": "example-z", "confirm": True, name: value}
    answer = api.post("gpus", card)
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    pointer = "/formula" if code == "formula_required" else f"/{name}"
    assert (error["pointer"], error["code"]) == (pointer, code)
    assert api.client.get("/api/v1/gpus/example-z").status_code == 404


def test_a_doubtful_figure_is_named_by_the_column_that_was_sent(api: Writer) -> None:
    text = "gpu,figure,value,basis,as_of,source\nl40s,fp8_tflops,1466,exact,2026-11-30,A table\n"
    refused = api.client.post("/api/v1/imports/figures", content=text.encode(), headers=api.key)
    assert [e["pointer"] for e in refused.json()["errors"]] == ["/lines/2/value"]


def test_a_card_without_a_compute_capability_is_not_refused(fresh: Writer) -> None:
    card = {k: v for k, v in EXAMPLES["gpus"].items() if k != "compute_capability"} | {"id": "example-y"}
    assert fresh.post("gpus", card).status_code == 201
    workload = {"model": {"preset": "llama-3.1-8b"}, "task": "inference", "precision": "bf16"}
    asked = {"workload": workload, "filters": {"gpus": ["example-y"]}, "price_overrides": {"example-y": 9000}}
    asked |= {"counts": [1], "as_of": AS_OF}
    for language, words in (("en", "is not known"), ("zh", "计算能力未登记")):
        found = fresh.client.post("/api/v1/shortlist", json=asked, params={"lang": language}).json()
        assert [o["gpu"]["id"] for o in found["options"]] == ["example-y"], found
        flags = {f["code"]: f["text"] for f in found["options"][0]["flags"]}
        assert words in flags["framework_capability_unknown"] and "  " not in str(flags)
    wrong = card | {"id": "example-x", "compute_capability": "sm_89"}
    assert fresh.post("gpus", wrong).json()["errors"][0]["pointer"] == "/compute_capability"


def test_a_bare_year_is_seen_from_its_first_day_and_never_fresh(fresh: Writer) -> None:
    price = EXAMPLES["prices"] | {"observed_on": "2026", "note": "of that year", "confirm": True}
    rent = EXAMPLES["rentals"] | {"observed_on": "2026", "provider": "Of that year"}
    assert fresh.post("prices", price).status_code == 201
    assert fresh.post("rentals", rent).status_code == 201

    def found(kind: str, day: str) -> list[dict[str, Any]]:
        body = fresh.client.get(f"/api/v1/{kind}?gpu=rtx4090&as_of={day}&limit=200").json()
        return [row for row in body["items"] if row["observed_on"] == "2026"]

    for kind in ("prices", "rentals"):
        assert found(kind, "2025-12-31") == []
        assert [row["age_days"] for row in found(kind, "2026-03-01")] == [59]
        assert [row["age_days"] for row in found(kind, "2027-01-31")] == [31]
    assert found("prices", "2026-01-02")[0]["stale"] is True


def test_a_single_object_has_short_pointers_and_messages_in_the_readers_language(api: Writer) -> None:
    body = EXAMPLES["prices"] | {"observed_on": "7/1/2026"}
    answer = api.client.post("/api/v1/prices?lang=zh", json=body, headers=api.key)
    assert answer.json()["errors"] == [
        {
            "pointer": "/observed_on",
            "detail": "7/1/2026 可能是两个日期，请先写年份：2026-07-01。",
            "code": "ambiguous_date",
        }
    ]


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ([], "", "not_an_object"),
        ({"items": []}, "/items", "empty_list"),
        ({"items": {}}, "/items", "not_a_list"),
        ({"items": [1]}, "/items/0", "not_an_object"),
        ({"items": [{}], "x": 1}, "/x", "unknown_field"),
    ],
)
def test_bodies_of_another_shape(api: Writer, body: Any, pointer: str, code: str) -> None:
    answer = api.post("prices", body)
    assert answer.status_code == 422
    assert (answer.json()["errors"][0]["pointer"], answer.json()["errors"][0]["code"]) == (pointer, code)


def test_what_is_no_json_is_said_to_be_none(api: Writer) -> None:
    for content in (b"{", b"\xff", b"[" * 100_000, b'{"amount": NaN}'):
        answer = api.client.post("/api/v1/prices", content=content, headers=api.key)
        assert (answer.status_code, answer.json()["errors"][0]["code"]) == (422, "not_json")


def test_a_far_price_needs_confirmation_and_then_counts(fresh: Writer) -> None:
    api = fresh
    body = EXAMPLES["prices"] | {"amount": 3000, "observed_on": "2026-11-29"}
    answer = api.post("prices", body)
    assert (answer.status_code, answer.json()["type"]) == (422, "needs-confirmation")
    assert answer.json()["errors"][0]["code"] == "far_from_history"
    assert api.post("prices", body | {"confirm": True}).status_code == 201
    option = api.client.post("/api/v1/shortlist", json=SHORTLIST).json()["options"][0]
    assert option["price"]["amount"] == 3000
    assert api.post("prices", body).json()["unchanged"] == 1


def test_a_quote_drives_the_shortlist_until_it_is_withdrawn(fresh: Writer) -> None:
    api = fresh
    body = EXAMPLES["quotes"] | {"unit_price": 15555, "quoted_on": "2026-11-28"}
    made = api.post("quotes", body).json()["items"][0]["id"]
    price = api.client.post("/api/v1/shortlist", json=SHORTLIST).json()["options"][0]["price"]
    assert (price["amount"], price["channel"]) == (15555, body["supplier"])
    listed = api.client.get(f"/api/v1/quotes?gpu=rtx4090&as_of={AS_OF}").json()
    assert [(q["id"], q["state"], q["flags"]) for q in listed["items"]] == [(made, "valid", [])]
    assert listed["items"][0]["net_cny_per_card"] == pytest.approx(15555 / 1.13, abs=0.01)
    assert api.client.delete(f"/api/v1/quotes/{made}").status_code == 401
    assert api.client.delete(f"/api/v1/quotes/{made}", headers=api.key).status_code == 200
    assert api.client.delete("/api/v1/quotes/abc", headers=api.key).status_code == 404
    answer = api.client.post("/api/v1/shortlist", json=SHORTLIST).json()
    assert 15555 not in [option["price"]["amount"] for option in answer["options"]]
    # Without the quote nothing says that the card can be bought at a price of today.
    assert answer["options"] or answer["rejected"][0]["code"] in ("availability", "evidence")


def test_quotes_side_by_side_per_tflops_and_per_unit_of_work(api: Writer) -> None:
    rows = [
        EXAMPLES["quotes"] | {"supplier": name, "unit_price": amount}
        for name, amount in (("A", 16000), ("B", 17000), ("C", 18000))
    ]
    rows.append(EXAMPLES["quotes"] | {"supplier": "D", "unit_price": 140000, "per": "server-8"})
    made = api.post("quotes", {"items": rows}).json()["items"]
    body = {"workload": SHORTLIST["workload"], "ids": [row["id"] for row in made]}
    groups = api.client.post(f"/api/v1/quotes/compare?as_of={AS_OF}", json=body).json()["groups"]
    assert [(g["per"], g["valid"]) for g in groups] == [("card", 3), ("server-8", 1)]
    cards = groups[0]
    assert cards["lowest_cny"] == pytest.approx(16000 / 1.13, abs=0.01)
    assert cards["spread"] == pytest.approx(18000 / 16000 - 1, abs=1e-3)
    assert all(q["cost_cny_per_sustained_tflops"] > 0 for q in cards["quotes"])
    assert {q["cost_per_unit"]["unit"] for q in cards["quotes"]} == {"million_tokens"}
    # Where batch and length are open, eight users of 8,192 tokens would fit no single card.
    open_load = {"model": {"preset": "qwen3-14b"}, "precision": "fp8"}
    asked = {"workload": open_load, "ids": [row["id"] for row in made]}
    (alone, _) = api.client.post(f"/api/v1/quotes/compare?as_of={AS_OF}", json=asked).json()["groups"]
    assert all(q["cost_cny_per_sustained_tflops"] > 0 for q in alone["quotes"])
    unknown = api.client.post("/api/v1/quotes/compare", json={"ids": ["nothing"]})
    assert unknown.json()["errors"][0]["pointer"] == "/ids"


def test_files_are_imported_raw_or_as_a_form_after_a_dry_run(api: Writer) -> None:
    text = "显卡,成色,价格,日期,来源\nrtx4090,新,1.6万元,2026/11/1,京东\nrtx4090,新,面议,2026/11/1,京东\n"
    address = "/api/v1/imports/prices"
    assert api.client.post(address, content=text.encode()).status_code == 401
    report = api.client.post(f"{address}?dry_run=true", content=text.encode(), headers=api.key)
    assert report.status_code == 200
    assert [(f["line"], f["column"], f["value"], f["code"]) for f in report.json()["faults"]] == [
        (3, "价格", "面议", "not_a_number")
    ]
    refused = api.client.post(address, content=text.encode(), headers=api.key)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/lines/3/价格"
    good = text.rsplit("rtx4090", 1)[0].encode()
    files = {"file": ("prices.csv", good, "text/csv")}
    assert api.client.post(f"{address}?dry_run=true", files=files, headers=api.key).json()["inserted"] == 1
    assert api.client.post(address, files=files, headers=api.key).status_code == 201
    assert api.client.post(address, content=good, headers=api.key).json()["unchanged"] == 1
    assert api.client.post("/api/v1/imports/secrets", content=good, headers=api.key).status_code == 404


def test_a_workbook_larger_than_other_bodies_may_be(api: Writer) -> None:
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    sheet.append(["gpu", "condition", "price", "currency", "date", "source", "note"])
    for n in range(12_000):
        # Incompressible, or the workbook would stay small.
        note = "".join(hashlib.sha256(f"{n} {part}".encode()).hexdigest() for part in range(4))
        sheet.append(["rtx4090", "new", 16000 + n % 700, "CNY", "2026-11-01", "shop", note])
    stream = io.BytesIO()
    book.save(stream)
    assert len(stream.getvalue()) > 1_000_000
    answer = api.client.post(
        "/api/v1/imports/prices?dry_run=true", content=stream.getvalue(), headers=api.key
    )
    assert (answer.status_code, answer.json()["inserted"]) == (200, 12_000)
    other = api.client.post("/api/v1/prices", content=b"x" * 6_000_001, headers=api.key)
    assert other.status_code == 413


def test_columns_and_templates_are_told(api: Writer) -> None:
    columns = api.client.get("/api/v1/imports/prices").json()["columns"]
    assert {"price", "价格"} <= set(next(c for c in columns if c["field"] == "amount")["headers"])
    empty = api.client.get("/api/v1/imports/quotes?template=true&lang=zh")
    assert empty.headers["content-type"].startswith("text/csv")
    assert empty.content.decode("utf-8-sig").startswith("供应商,型号,")
    assert api.client.get("/api/v1/imports/secrets").status_code == 404


def test_the_change_log_says_who_and_a_change_can_be_taken_back(api: Writer) -> None:
    total = api.client.get("/api/v1/prices?limit=1").json()["total"]
    api.post("prices", EXAMPLES["prices"] | {"note": "to be undone"}, "?why=weekly")
    assert api.client.get("/api/v1/changes").status_code == 401
    log = api.client.get("/api/v1/changes?table=price&limit=1", headers=api.key).json()
    entry = log["items"][0]
    assert entry["who"].startswith("buyer (") and entry["why"] == "weekly" and entry["action"] == "insert"
    undone = api.client.post(f"/api/v1/changes/{entry['id']}/undo", headers=api.key)
    assert undone.status_code == 200
    twice = api.client.post(f"/api/v1/changes/{entry['id']}/undo", headers=api.key)
    assert (twice.status_code, twice.json()["type"]) == (409, "already-undone")
    assert api.client.get("/api/v1/prices?limit=1").json()["total"] == total + 1
    row = api.client.get(f"/api/v1/changes?row={entry['row']}", headers=api.key).json()["items"]
    assert [e["action"] for e in row] == ["undo", "insert"]


def test_the_state_of_the_data(api: Writer) -> None:
    body = api.client.get(f"/api/v1/data?as_of={AS_OF}").json()
    gap = next(g for g in body["gaps"] if g["code"] == "no_recent_yuan_price")
    assert gap["params"] == {"days": 180} and gap["count"] == len(gap["items"]) > 50
    assert body["lint"]["open"] == []
    assert all(item["reason"] and item["text"] for item in body["unused_prices"]["items"])
    assert sum(body["unused_prices"]["by_reason"].values()) == body["unused_prices"]["total"]


def test_a_statement_on_an_engine_counts_from_its_import_on(api: Writer) -> None:
    asked = {
        "workload": {"model": {"preset": "qwen3-1.7b"}, "batch_size": 1},
        "filters": {"gpus": ["rtx4090"]},
    }
    before = api.client.post("/api/v1/shortlist", json=asked).json()
    assert before["options"][0]["support"]["status"] == "official"
    row = EXAMPLES["engine_support"] | {
        "plugin": "",
        "hardware": "id=rtx4090",
        "formats": "any",
        "feature_kind": "runs",
        "status": "unsupported",
        "refuses": True,
    }
    made = api.post("engine-support", row)
    assert made.status_code == 201, made.text
    after = api.client.post("/api/v1/shortlist", json=asked).json()
    (rejected,) = after["rejected"]
    assert (rejected["code"], after["options"]) == ("support", [])
    listed = api.client.get("/api/v1/engine-support?limit=200&engine=vllm").json()["items"]
    assert any(item["hardware"] == "id=rtx4090" for item in listed)
    wrong = api.post("engine-support", row | {"status": "perhaps"})
    assert wrong.json()["errors"][0]["pointer"] == "/status"
