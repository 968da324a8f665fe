"""The four calculations: fields of the contract, published values, defaults, languages."""

from __future__ import annotations

from typing import Any

import pytest
from fastapi.testclient import TestClient

from app.api import examples
from app.core.decide.options import REJECTION_CODES
from app.core.estimates import PART_NAMES
from tests.api.conftest import AS_OF

LLAMA = examples.LLAMA_INFERENCE
BERT = examples.BERT_TRAINING


def post(api: TestClient, route: str, body: dict[str, Any], **query: str) -> dict[str, Any]:
    answer = api.post(f"/api/v1/{route}", json=body, params=query)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


@pytest.mark.parametrize(
    ("route", "name", "body"),
    [
        (route, name, example["value"])
        for route, group in (
            ("memory", examples.MEMORY),
            ("fit", examples.FIT),
            ("speed", examples.SPEED),
            ("shortlist", examples.SHORTLIST),
        )
        for name, example in group.items()
    ],
)
def test_every_documented_example_is_answered(
    api: TestClient, route: str, name: str, body: dict[str, Any]
) -> None:
    answer = post(api, route, body)
    assert answer["versions"]["engine"] and answer["versions"]["catalog"], name


def test_memory_of_llama_has_its_published_weights_and_cache(api: TestClient) -> None:
    memory = post(api, "memory", {"workload": LLAMA})["memory"]
    parts = {p["part"]: p for p in memory["parts"]}
    # 8,030,261,248 parameters x 2 bytes; 2 x 32 layers x 8 heads x 128 x 2 bytes x 8192 tokens x 16.
    assert parts["weights"]["gib"] == pytest.approx(14.96, abs=0.005)
    assert parts["kv_cache"]["gib"] == pytest.approx(16.0, rel=1e-5)
    assert parts["kv_cache"]["basis"] == "exact"
    assert memory["kv_bytes_per_token"] == 131_072
    assert set(parts) <= set(PART_NAMES)
    need = memory["per_gpu_gib"]
    assert need["low"] <= need["expected"] <= need["high"]
    assert sum(p["gib"] for p in memory["parts"]) == pytest.approx(need["expected"], rel=1e-4)


def test_every_default_stands_in_the_assumptions(api: TestClient) -> None:
    body = {"workload": {"model": {"preset": "llama-3.1-8b"}}}
    used = {a["field"]: a for a in post(api, "memory", body)["assumptions"]}
    for field in (
        "task",
        "batch_size",
        "precision",
        "engine",
        "attention",
        "sequence_length",
        "kv_precision",
    ):
        assert used[field]["why"], field
        assert used[field]["why_code"], field
    assert used["sequence_length"]["value"] == 2048
    stated = {a["field"] for a in post(api, "memory", {"workload": LLAMA})["assumptions"]}
    assert not stated & {"task", "batch_size", "precision", "sequence_length"}


def test_feature_4_training_a_token_model_needs_its_sequence_length(api: TestClient) -> None:
    workload = {k: v for k, v in BERT.items() if k != "sequence_length"}
    answer = api.post("/api/v1/memory", json={"workload": workload})
    assert answer.status_code == 422
    (error,) = answer.json()["errors"]
    assert error["pointer"] == "/workload/sequence_length"
    assert error["code"] == "sequence_length_required"
    assert "sequence length" in error["detail"]


@pytest.mark.parametrize(
    ("gpu", "verdicts"),
    [("rtx3060-12gb", {"does_not_fit"}), ("rtx3090", {"fits"}), ("a100-pcie-80gb", {"fits"})],
)
def test_feature_5_bert_large_in_fp32_fits_24_gb_and_not_12(
    api: TestClient, gpu: str, verdicts: set[str]
) -> None:
    answer = post(api, "fit", {"workload": BERT, "gpu": gpu})
    assert answer["fit"]["verdict"] in verdicts
    assert answer["fit"]["margin_gib"] == pytest.approx(
        answer["fit"]["usable_gib"] - answer["memory"]["per_gpu_gib"]["expected"], abs=1e-3
    )
    if answer["fit"]["verdict"] == "does_not_fit":
        first = answer["remedies"][0]
        assert first["text"] and first["change"]
        assert first["fit"]["verdict"] in ("fits", "tight")


def test_used_memory_counts_against_the_margin(api: TestClient) -> None:
    free = post(api, "fit", {"workload": LLAMA, "gpu": "l20"})["fit"]["margin_gib"]
    used = post(api, "fit", {"workload": {**LLAMA, "used_gib": 3}, "gpu": "l20"})["fit"]["margin_gib"]
    assert free - used == pytest.approx(3, abs=1e-3)


def test_an_alias_and_a_hugging_face_id_name_the_same(api: TestClient) -> None:
    by_id = post(api, "fit", {"workload": LLAMA, "gpu": "rtx4090"})
    alias = {**LLAMA, "model": {"preset": "meta-llama/Meta-Llama-3.1-8B"}}
    assert post(api, "fit", {"workload": alias, "gpu": "RTX  4090"}) == by_id


def test_speed_is_an_interval_with_basis_bound_and_unit(api: TestClient) -> None:
    speed = post(api, "speed", {"workload": LLAMA, "gpu": "l20", "count": 2})["speed"]
    assert 0 < speed["low"] < speed["expected"] < speed["high"]
    assert speed["unit"] == "tokens_per_s"
    assert {"prefill", "decode", "whole_run"} <= speed.keys()
    training = post(api, "speed", {"workload": BERT, "gpu": "rtx3090"})["speed"]
    assert training["unit"] == "samples_per_s"
    assert training["steps_per_s"] == pytest.approx(training["expected"] / 32, rel=1e-4)


def test_shortlist_has_the_shapes_that_scripts_rely_on(api: TestClient) -> None:
    answer = post(api, "shortlist", {"workload": LLAMA, "as_of": AS_OF, "limit": 5})
    assert [o["rank"] for o in answer["options"]] == [1, 2, 3, 4, 5]
    assert answer["feasible"] >= 5
    for option in answer["options"]:
        assert {"id", "name"} <= option["gpu"].keys()
        assert option["fit"]["verdict"] in ("fits", "tight")
        assert option["price"]["amount_cny"] > 0 and option["price"]["source"]["id"]
        parts = ("purchase_cny", "host_cny", "energy_cny", "residual_cny")
        bought, host, energy, residual = (option["cost"][name] for name in parts)
        if option["acquisition"] == "buy":
            assert option["cost"]["total_cny"] == pytest.approx(bought + host + energy - residual, rel=1e-4)
        else:
            assert bought == host == 0 and option["cost"]["total_cny"] > 0
            assert option["metrics"]["peak_tflops_per_1000_cny"] is None
        assert option["metrics"]["precision"]
        assert all(isinstance(text, str) and text for text in option["reasons"])
        assert len(option["reason_codes"]) == len(option["reasons"])
    totals = [o["cost"]["total_cny"] for o in answer["options"]]
    assert totals == sorted(totals)
    assert {r["rank"] for r in answer["pareto"]} <= {1, 2, 3, 4, 5}
    assert {r["code"] for r in answer["rejected"]} <= set(REJECTION_CODES)
    ids = [r["gpu"]["id"] for r in answer["rejected"]]
    assert len(ids) == len(set(ids))
    used = {a["field"] for a in answer["assumptions"]}
    assert {"counts", "objective", "economics.months", "price_rules.max_age_days"} <= used


def test_tflops_per_1000_yuan_are_of_the_rate_with_fp32_accumulate(api: TestClient) -> None:
    """The popular table's prices; A100 by its tensor rate 4.46, not 0.28; the 3090 5.92."""
    prices = {"rtx3060-12gb": 2500, "rtx3090": 12000, "a100-pcie-40gb": 70000}
    body = {
        "workload": {**LLAMA, "batch_size": 1, "sequence_length": 1024},
        "counts": [8],
        "price_overrides": prices,
        "filters": {"gpus": list(prices)},
    }
    expected = {
        "fp32": {"rtx3060-12gb": 5.08, "rtx3090": 2.97, "a100-pcie-40gb": 0.28},
        "fp16": {"rtx3090": 5.92, "a100-pcie-40gb": 4.46},
    }
    for precision, values in expected.items():
        asked = {**body, "workload": {**body["workload"], "precision": precision}}
        options = {o["gpu"]["id"]: o for o in post(api, "shortlist", asked)["options"]}
        for gpu, value in values.items():
            metrics = options[gpu]["metrics"]
            assert metrics["precision"] == precision
            assert metrics["peak_tflops_per_1000_cny"] == pytest.approx(value, rel=0.005, abs=0.005)


def test_dollars_stand_beside_yuan_at_the_dated_rate(api: TestClient) -> None:
    answer = post(api, "shortlist", {"workload": LLAMA, "as_of": AS_OF, "limit": 1}, currency="USD")
    rate = answer["rate"]
    assert rate["base"] == "USD" and rate["observed_on"] <= AS_OF
    cost = answer["options"][0]["cost"]
    assert cost["total_usd"] == pytest.approx(cost["total_cny"] / rate["rate"], rel=1e-4)
    assert "peak_tflops_per_1000_usd" not in answer["options"][0]["metrics"]


def test_a_budget_in_dollars_is_converted(api: TestClient) -> None:
    body = {"workload": LLAMA, "as_of": AS_OF, "budget": {"amount": 10_000, "currency": "USD"}}
    answer = post(api, "shortlist", body)
    limit = answer["question"]["budget"]["amount_cny"]
    assert 60_000 < limit < 80_000
    for option in answer["options"]:
        assert option["cost"]["purchase_cny"] + option["cost"]["host_cny"] <= limit


def test_texts_follow_the_reader_and_figures_do_not(api: TestClient) -> None:
    body = {"workload": LLAMA, "as_of": AS_OF, "limit": 2}
    english = post(api, "shortlist", body, lang="en")
    chinese = post(api, "shortlist", body, lang="zh")
    assert "Lowest total cost" in english["options"][0]["reasons"][0]
    assert "总成本最低" in chinese["options"][0]["reasons"][0]
    for option, other in zip(english["options"], chinese["options"], strict=True):
        assert option["cost"] == other["cost"]
        assert option["reason_codes"] == other["reason_codes"]
    header = api.post("/api/v1/shortlist", json=body, headers={"accept-language": "zh-Hans-CN,en;q=0.5"})
    assert header.json() == chinese


def test_a_stale_price_is_refused_when_asked(api: TestClient) -> None:
    body = {
        "workload": {**LLAMA, "batch_size": 1},
        "as_of": "2027-12-01",
        "filters": {"gpus": ["rtx5090"]},
        "price_rules": {"refuse_stale": True},
    }
    answer = api.post("/api/v1/shortlist", json=body)
    assert answer.status_code == 409
    problem = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["type"].endswith("stale-price")
    assert problem["gpus"] == ["rtx5090"]
    accepted = {**body, "price_rules": {"refuse_stale": False, "evidence": "any"}}
    option = post(api, "shortlist", accepted)["options"][0]
    assert option["price"]["stale"] is True
    assert "price_stale" in [flag["code"] for flag in option["flags"]]


def test_a_named_plan_must_occupy_the_cards(api: TestClient) -> None:
    workload = {**LLAMA, "parallelism": {"tensor": 2}}
    assert post(api, "fit", {"workload": workload, "gpu": "l20"})["count"] == 2
    answer = api.post("/api/v1/fit", json={"workload": workload, "gpu": "l20", "count": 4})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["code"] == "plan_does_not_match_count"
    shared = {**BERT, "parallelism": {"zero_stage": 2}}
    plan = post(api, "fit", {"workload": shared, "gpu": "rtx3090", "count": 4})["plan"]
    assert (plan["data"], plan["zero_stage"]) == (4, 2)


def test_a_config_is_read_like_its_preset(api: TestClient) -> None:
    """Qwen3-8B by its config.json: 8,190,735,360 parameters."""
    config = {
        "model_type": "qwen3",
        "architectures": ["Qwen3ForCausalLM"],
        "num_hidden_layers": 36,
        "hidden_size": 4096,
        "intermediate_size": 12288,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": 128,
        "vocab_size": 151936,
        "tie_word_embeddings": False,
        "some_unknown_field": {"kept": "free"},
    }
    body = {"workload": {**LLAMA, "model": {"config": config, "name": "mine"}}, "as_of": AS_OF, "limit": 1}
    model = post(api, "shortlist", body)["question"]["model"]
    assert model["name"] == "mine"
    assert model["parameters"] == pytest.approx(8_190_735_360, rel=1e-5)


def test_24_gb_hold_an_8b_adapter_and_no_14b_one(api: TestClient) -> None:
    """Feature 39: the next bigger model that no longer fits."""
    workload = {
        "model": {"preset": "llama-3.1-8b"},
        "task": "lora",
        "precision": "bf16",
        "batch_size": 1,
        "sequence_length": 1024,
        "gradient_checkpointing": True,
    }
    answer = api.post("/api/v1/fit", json={"workload": workload, "gpu": "rtx4090"}).json()
    assert answer["fit"]["verdict"] != "does_not_fit"
    assert 7e9 <= answer["growth"]["largest_parameters"] <= 9e9
    assert answer["growth"]["next_parameters"] <= 14e9


def test_what_does_nothing_for_a_question_stands_in_the_assumptions(api: TestClient) -> None:
    said = {"kv_precision": "fp8", "lora_rank": 8, "offload": {"experts": True, "activations": False}}
    body = {"workload": {"model": {"preset": "resnet-50"}, "precision": "fp16", **said}}
    for answer in (
        api.post("/api/v1/memory", json=body),
        api.post("/api/v1/fit", json={**body, "gpu": "rtx4090"}),
        api.post("/api/v1/speed", json={**body, "gpu": "rtx4090"}),
        api.post("/api/v1/shortlist", json={**body, "limit": 1}),
    ):
        found = {
            a["field"]: a["why_code"] for a in answer.json()["assumptions"] if "ignored" in a["why_code"]
        }
        assert found == {
            "kv_precision": "ignored_by_family",
            "lora_rank": "ignored_without_adapter",
            "offload.experts": "ignored_without_experts",
        }


def test_the_measurements_behind_a_speed_open(api: TestClient) -> None:
    workload = {
        "model": {"preset": "bert-large-uncased"},
        "task": "training",
        "precision": "tf32",
        "batch_size": 32,
        "sequence_length": 128,
    }
    speed = api.post("/api/v1/speed", json={"workload": workload, "gpu": "a100-pcie-40gb"}).json()["speed"]
    assert speed["basis"] == "measured"
    assert [row["id"] for row in speed["measurements"]] == speed["sources"]
    first = speed["measurements"][0]
    assert first["gpu_id"] == "a100-pcie-40gb" and first["model"] == "bert-large-uncased"
    assert first["value"] > 0 and first["unit"] == "samples_per_s"
    assert first["title"] and first["url"].startswith("https://")


def test_work_of_a_speech_model_is_hours_of_audio(api: TestClient) -> None:
    body: dict[str, Any] = {
        "workload": {"model": {"preset": "whisper-large-v3"}, "precision": "fp16"},
        "filters": {"gpus": ["rtx4090"]},
        "counts": [1],
        "limit": 1,
    }
    answer = api.post("/api/v1/shortlist", json={**body, "work": {"amount": 1000, "unit": "hours"}}).json()
    option = answer["options"][0]
    assert option["cost"]["work_hours"] == pytest.approx(1000 / option["speed"]["expected"], rel=1e-6)
    assert "work_hours_of_audio" in [a["why_code"] for a in answer["assumptions"]]
    refused = api.post("/api/v1/shortlist", json={**body, "work": {"amount": 1000, "unit": "tokens"}}).json()
    assert refused["errors"][0]["pointer"] == "/work/unit"
    assert "…" not in refused["errors"][0]["detail"] and "hours" in refused["errors"][0]["detail"]


def test_a_system_without_the_engine_and_a_driver_older_than_the_card_are_refused(api: TestClient) -> None:
    workload = {"model": {"preset": "llama-3.1-8b"}, "batch_size": 1, "sequence_length": 2048}
    body = {"workload": workload, "filters": {"gpus": ["rtx4090"], "os": "windows"}, "counts": [1]}
    (rejected,) = api.post("/api/v1/shortlist", json=body).json()["rejected"]
    assert (rejected["code"], rejected["remedy"]["change"]) == ("os", {"filters.os": "linux"})
    assert "vllm" in rejected["text"].lower()
    vision = {"model": {"preset": "resnet-50"}, "batch_size": 1}
    old = {
        "workload": vision,
        "counts": [1],
        "filters": {"gpus": ["rtx4090"], "driver": "450.80", "frameworks": ["tensorflow==2.13"]},
    }
    (rejected,) = api.post("/api/v1/shortlist", json=old).json()["rejected"]
    assert rejected["code"] == "os" and "450.80" in rejected["text"]
    assert rejected["remedy"]["code"] == "change_driver"


def test_no_tensorflow_package_is_compiled_for_the_rtx_50_series(api: TestClient) -> None:
    workload = {
        "model": {"preset": "resnet-50"},
        "task": "training",
        "precision": "fp16",
        "batch_size": 32,
        "engine": "tensorflow",
    }
    body = {"workload": workload, "filters": {"gpus": ["rtx5090"]}, "counts": [1], "limit": 1}
    flags = api.post("/api/v1/shortlist", json=body).json()["options"][0]["flags"]
    assert "framework_no_release_compiled" in [f["code"] for f in flags]


def test_options_for_a_workstation_say_which_power_supply_they_need(api: TestClient) -> None:
    cards = {"gpus": ["rtx4090", "h100-sxm5-80gb"], "acquisition": ["buy"]}
    body = {"workload": LLAMA, "as_of": AS_OF, "filters": cards, "limit": 20}
    options = api.post("/api/v1/shortlist?lang=en", json=body).json()["options"]
    small = [o for o in options if o["gpu"]["id"] == "rtx4090" and o["count"] <= 4]
    assert small and all("power_supply" in o["advice_codes"] for o in small)
    assert all("Power supply: at least" in " ".join(o["advice"]) for o in small)
    others = [o for o in options if o["count"] > 4 or "sxm" in o["gpu"]["id"]]
    assert others and not any("power_supply" in o["advice_codes"] for o in others)
