"""The data routes: provenance of every figure, filters, pages, ETags."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

LISTS = ("gpus", "models", "prices", "rentals", "benchmarks", "rates", "sources")


def get(api: TestClient, path: str) -> dict[str, Any]:
    answer = api.get(f"/api/v1/{path}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def figure(card: dict[str, Any], name: str) -> float:
    value: float = card["figures"][name]["value"]
    return value


def test_every_figure_of_a_card_opens(api: TestClient) -> None:
    card = get(api, "gpus/rtx4090")
    assert card["name"] and card["vendor"] == "NVIDIA" and "4090" in card["aliases"]
    for name in ("memory_gib", "usable_gib", "bandwidth_gb_s", "fp32_tflops", "bf16_tflops"):
        found = card["figures"][name]
        assert found["unit"] and found["as_of"]
        assert found["basis"] in ("exact", "measured", "calibrated", "derived", "assumed")
        assert found["source"]["id"] and found["source"]["title"]
    for price in card["prices"].values():
        assert price["amount_cny"] > 0 and price["source"]["id"] and price["observed_on"]


def test_feature_17_figures_for_a_side_by_side(api: TestClient) -> None:
    """4090: BF16 with fp32 accumulate 165.2 (never 330.3), TF32 82.6; A100: 1555 and 2039 GB/s apart."""
    rtx4090 = get(api, "gpus/rtx4090")
    assert figure(rtx4090, "bf16_tflops") == pytest.approx(165.2, rel=0.002)
    assert figure(rtx4090, "tf32_tflops") == pytest.approx(82.6, rel=0.002)
    assert "optional" in rtx4090["ecc"].lower()
    assert figure(get(api, "gpus/a100-pcie-40gb"), "bandwidth_gb_s") == pytest.approx(1555, rel=0.002)
    assert figure(get(api, "gpus/a100-sxm4-80gb"), "bandwidth_gb_s") == pytest.approx(2039, rel=0.002)
    assert figure(get(api, "gpus/h20-96gb"), "bf16_tflops") == pytest.approx(148, rel=0.005)
    assert figure(get(api, "gpus/l40s"), "bf16_tflops") == pytest.approx(362, rel=0.002)


def test_aliases_lead_to_the_card_and_unknown_names_nowhere(api: TestClient) -> None:
    assert get(api, "gpus/RTX%204090")["id"] == "rtx4090"
    assert get(api, "models/meta-llama/Meta-Llama-3.1-8B")["id"] == "llama-3.1-8b"
    for path in ("gpus/rtx9999", "gpus/rtx9999/prices", "gpus/rtx9999/benchmarks", "models/llama-99"):
        answer = api.get(f"/api/v1/{path}")
        assert answer.status_code == 404
        assert answer.json()["type"].endswith("not-found")


@pytest.mark.parametrize("part", ["", "/prices", "/benchmarks"])
def test_an_ambiguous_name_in_the_address_is_refused_with_its_candidates(api: TestClient, part: str) -> None:
    answer = api.get(f"/api/v1/gpus/A100%2080GB{part}")
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == ("/gpu_id", "ambiguous_name")
    assert "a100-sxm4-80gb" in error["detail"] and "a100-pcie-80gb" in error["detail"]


def test_an_ambiguous_model_is_refused_with_its_candidates(api: TestClient) -> None:
    index = api.app.state.store.snapshot().model_names  # type: ignore[attr-defined]
    index.add_ambiguous("two of them", ("llama-3.1-8b", "bert-base-uncased"))
    answer = api.get("/api/v1/models/two%20of%20them")
    assert answer.status_code == 422, answer.text
    (error,) = answer.json()["errors"]
    assert (error["pointer"], error["code"]) == ("/model_id", "ambiguous_name")
    assert "llama-3.1-8b" in error["detail"] and "bert-base-uncased" in error["detail"]


@pytest.mark.parametrize("kind", ["prices", "rentals"])
@pytest.mark.parametrize("day", ["2025-06-15", "2026-07-01"])
def test_a_list_of_a_day_holds_nothing_from_after_it(api: TestClient, kind: str, day: str) -> None:
    seen: list[dict[str, Any]] = []
    cursor = ""
    while True:
        found = get(api, f"{kind}?limit=200&as_of={day}{cursor}")
        seen += found["items"]
        if found["next"] is None:
            break
        cursor = f"&cursor={found['next']}"
    assert seen and len(seen) < get(api, f"{kind}?limit=1&as_of=2026-11-30")["total"]
    # An ISO text of a month or year sorts before its days: what begins after the day is greater.
    assert all(row["observed_on"] <= day for row in seen)
    assert all(row["age_days"] is None or row["age_days"] >= 0 for row in seen)


@pytest.mark.parametrize("name", LISTS)
def test_pages_join_to_the_whole_list_without_gap_or_repeat(api: TestClient, name: str) -> None:
    total = get(api, f"{name}?limit=1")["total"]
    keys: list[str] = []
    cursor = ""
    while len(keys) < min(total, 1000):
        found = get(api, f"{name}?limit=200{cursor}")
        keys += [row["id"] for row in found["items"]]
        if found["next"] is None:
            break
        cursor = f"&cursor={found['next']}"
    assert len(keys) == len(set(keys))
    if total <= 1000:
        assert len(keys) == total


def test_a_page_holds_20_rows_and_links_to_the_next(api: TestClient) -> None:
    answer = api.get("/api/v1/gpus?vendor=nvidia")
    body = answer.json()
    assert len(body["items"]) == 20
    assert {card["vendor"] for card in body["items"]} == {"NVIDIA"}
    link = answer.headers["link"]
    assert link.endswith('rel="next"') and "vendor=nvidia" in link
    following = api.get(link.split(">")[0].lstrip("<")).json()
    assert following["items"][0]["id"] > body["items"][-1]["id"]


def test_filters_narrow_the_lists(api: TestClient) -> None:
    cards = get(api, "gpus?q=4090&limit=200")["items"]
    assert {"rtx4090", "rtx4090d"} <= {card["id"] for card in cards}
    assert all("4090" in f"{c['id']} {c['name']} {c['aliases']}" for c in cards)
    prices = get(api, "prices?gpu=RTX+4090&condition=used&limit=200")["items"]
    assert prices and {(p["gpu"]["id"], p["condition"]) for p in prices} == {("rtx4090", "used")}
    rows = get(api, "benchmarks?model=llama-3.1-8b&limit=50")["items"]
    assert rows and {row["model"]["id"] for row in rows} == {"llama-3.1-8b"}
    assert {m["family"] for m in get(api, "models?family=vision&limit=200")["items"]} == {"vision"}
    assert {r["base"] for r in get(api, "rates?base=usd&limit=200")["items"]} == {"USD"}


def test_prices_are_newest_first_and_say_why_one_is_not_used(api: TestClient) -> None:
    body = get(api, "gpus/rtx4090/prices?limit=200&as_of=2026-11-30")
    days = [p["observed_on"] for p in body["items"] if p["observed_on"] and len(p["observed_on"]) == 10]
    assert days == sorted(days, reverse=True)
    assert body["as_of"] == "2026-11-30"
    assert body["choices"]["used"]["amount_cny"] > 0
    for price in body["items"]:
        assert price["currency"] and price["source"]["id"]
        assert (price["unused"] is None) == (price["unused_code"] is None)


def test_prices_age_with_the_day_asked_for(api: TestClient) -> None:
    now = get(api, "gpus/rtx4090?as_of=2026-11-30")["prices"]["used"]
    later = get(api, "gpus/rtx4090?as_of=2027-11-30")["prices"]["used"]
    assert later["age_days"] == now["age_days"] + 365
    assert later["stale"]


@pytest.mark.parametrize(
    "path",
    [*LISTS, "gpus/rtx4090", "gpus/rtx4090/prices", "gpus/rtx4090/benchmarks", "models/llama-3.1-8b"],
)
def test_every_get_has_an_etag_and_answers_304(api: TestClient, path: str) -> None:
    first = api.get(f"/api/v1/{path}")
    tag = first.headers["etag"]
    again = api.get(f"/api/v1/{path}", headers={"if-none-match": f'"other", {tag}'})
    assert again.status_code == 304
    assert again.content == b"" and again.headers["etag"] == tag
    assert "Accept-Language" in first.headers["vary"]


def test_the_etag_depends_on_query_language_and_day(api: TestClient) -> None:
    tags = {
        api.get(f"/api/v1/gpus/rtx4090{query}").headers["etag"]
        for query in ("", "?lang=zh", "?as_of=2026-01-01", "?currency=USD")
    }
    assert len(tags) == 4


def test_dollars_beside_yuan_in_a_list(api: TestClient) -> None:
    body = get(api, "gpus/rtx4090?currency=USD&as_of=2026-11-30")
    price = body["prices"]["used"]
    assert price["amount_usd"] == pytest.approx(price["amount_cny"] / body["rate"]["rate"], rel=1e-4)
