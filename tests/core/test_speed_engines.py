"""What engines, mixtures and the lesser Hopper cards add to a decode step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.core.engines.vllm import ENGINE as VLLM
from app.core.gpu_table import GpuTable
from app.core.resolve import resolve
from app.core.speed import constants as c
from app.core.speed.inference import all_to_all_s, engine_step_s, weight_parts
from app.core.speed.terms import multiprocessor_share, power_share
from app.core.workload import Workload
from tests.core.cards import BY_ID, LLAMA_8B

H100 = BY_ID["h100-sxm5-80gb"]
# H20: 148 TFLOPS and 500 W beside 4.0 TB/s; H100 PCIe: 756 TFLOPS and 350 W beside 2.04 TB/s (vendor sheets).
H20 = replace(
    H100, id="h20-96gb", bandwidth_gb_s=4000.0, tdp_w=500.0, rates={**H100.rates, "bf16_tflops": 148.0}
)
PCIE = replace(
    H100, id="pcie", bandwidth_gb_s=2039.0, tdp_w=350.0, rates={**H100.rates, "bf16_tflops": 756.0}
)
CARDS = GpuTable.from_gpus([H100, H20, PCIE, BY_ID["a100-sxm4-80gb"]])
MIXTURE = replace(
    LLAMA_8B,
    id="mixture",
    parameters=30.5e9,
    active_parameters=3.3e9,
    experts=128,
    experts_per_token=8,
    expert_intermediate_size=768,
)


def work(model=LLAMA_8B, **fields):
    return resolve(
        Workload(model, **{"precision": "bf16", "engine": "vllm", "sequence_length": 1024, **fields})
    )[0]


def test_a_card_with_few_multiprocessors_asks_for_less_of_its_bandwidth():
    h100, h20, pcie, a100 = multiprocessor_share(CARDS)
    assert (h100, pcie, a100) == (pytest.approx(1.0, abs=0.01), 1.0, 1.0)
    # SGLang on an H20: 27 to 35 % of 4.0 TB/s with BF16 models; an H100 reaches 82 %.
    assert 0.27 <= 0.82 * h20 <= 0.37
    assert multiprocessor_share(CARDS, "widened")[1] < h20 < multiprocessor_share(CARDS, "narrow")[1]


def test_power_for_the_rate_decides_how_much_of_it_lasts():
    h100, h20, pcie, a100 = power_share(CARDS)
    assert (h100, a100) == (pytest.approx(1.0, abs=0.01), 1.0)
    assert 0.70 <= pcie <= 0.80
    # Matrix products: 96 % of peak on an H20, about 75 % on an H100 SXM.
    assert 1.2 <= h20 <= 1.4


def test_launches_by_engine_and_kind_of_layer():
    def step(**fields):
        return float(engine_step_s(work(**fields), CARDS)[0])

    assert step() == pytest.approx(32 * VLLM.speed.layer_s.usual + VLLM.speed.step_s)
    assert step(engine="transformers") > 8 * step()
    assert step(precision="fp8") > step()
    assert step(model=MIXTURE) > 2.5 * step()
    # A loop over 128 experts in each of 32 layers.
    assert step(model=MIXTURE, engine="transformers") > step(engine="transformers") + 0.15
    old, new = (step(engine="llama.cpp", precision="gguf-q4_k_m", software=s) for s in ("usual", "new"))
    assert new < 0.6 * old


def test_experts_spread_over_replicas_travel_and_one_card_sends_nothing():
    one, eight = (float(all_to_all_s(MIXTURE, CARDS, 64.0, np.array(n))[0]) for n in (1.0, 8.0))
    assert one == 0.0
    assert 32 * 2 * c.MESSAGE_LINK_S < eight < 0.01
    assert float(np.sum(all_to_all_s(LLAMA_8B, CARDS, 64.0, np.array(8.0)))) == 0.0


def test_weights_of_a_step_by_what_is_split():
    dense = weight_parts(work(), 1.0)
    assert dense[1:] == (0.0, 0.0)
    # 16-bit Llama 3.1 8B without its input table.
    assert dense[0] == pytest.approx(15.0e9, rel=0.01)
    few, many = (weight_parts(work(model=MIXTURE), n)[2] for n in (1.0, 1e6))
    assert few == pytest.approx(many * 8 / 128, rel=1e-6)
