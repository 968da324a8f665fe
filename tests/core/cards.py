"""Cards, models and prices of the tests, with the vendors' published figures."""

from __future__ import annotations

from typing import Any

from app.core.decide.host import HostClass
from app.core.gpu import Gpu, PriceChoice, Source
from app.core.model.architecture import ModelArchitecture

SOURCE = Source("test", "https://example.org", "test")


def card(gpu_id: str, **figures: Any) -> Gpu:
    """An NVIDIA card; figures as in `Gpu`."""
    return Gpu(id=gpu_id, **{"name": gpu_id, "vendor": "NVIDIA", "segment": "data-centre", **figures})


GPUS: tuple[Gpu, ...] = (
    card(
        "rtx3060-12gb",
        name="GeForce RTX 3060 12GB",
        architecture="Ampere GA10x",
        segment="consumer",
        memory_gib=12.0,
        usable_gib=11.6,
        bandwidth_gb_s=360.0,
        rates={"fp32_tflops": 12.74, "tf32_tflops": 12.74, "fp16_tflops": 25.5, "bf16_tflops": 25.5},
        tdp_w=170.0,
        compute_capability="8.6",
        pcie_gen=4,
        pcie_lanes=16,
        has_tensor_cores=True,
    ),
    card(
        "rtx3090",
        name="GeForce RTX 3090",
        architecture="Ampere GA10x",
        segment="consumer",
        memory_gib=24.0,
        usable_gib=23.7,
        bandwidth_gb_s=936.0,
        rates={"fp32_tflops": 35.6, "tf32_tflops": 35.6, "fp16_tflops": 71.0, "bf16_tflops": 71.0},
        tdp_w=350.0,
        compute_capability="8.6",
        pcie_gen=4,
        pcie_lanes=16,
        link="NVLink 3 bridge (2-way)",
        link_gb_s=112.5,
        has_tensor_cores=True,
    ),
    card(
        "rtx4090",
        name="GeForce RTX 4090",
        architecture="Ada Lovelace",
        segment="consumer",
        memory_gib=24.0,
        usable_gib=23.6,
        bandwidth_gb_s=1008.0,
        rates={
            "fp32_tflops": 82.6,
            "tf32_tflops": 82.6,
            "fp16_tflops": 165.2,
            "bf16_tflops": 165.2,
            "fp8_tflops": 330.3,
            "int8_tops": 660.6,
            "fp16_fp16acc_tflops": 330.3,
        },
        tdp_w=450.0,
        compute_capability="8.9",
        pcie_gen=4,
        pcie_lanes=16,
        ecc="optional (off by default)",
        has_tensor_cores=True,
    ),
    card(
        "a100-pcie-40gb",
        name="A100 PCIe 40GB",
        architecture="Ampere GA100",
        memory_gib=40.0,
        usable_gib=39.4,
        bandwidth_gb_s=1555.0,
        rates={"fp32_tflops": 19.5, "tf32_tflops": 156.0, "fp16_tflops": 312.0, "bf16_tflops": 312.0},
        tdp_w=250.0,
        compute_capability="8.0",
        pcie_gen=4,
        pcie_lanes=16,
        link="NVLink 3 bridge (2 cards)",
        link_gb_s=600.0,
        mig_instances=7,
        ecc="yes (on)",
        has_tensor_cores=True,
    ),
    card(
        "a100-sxm4-80gb",
        name="A100 SXM4 80GB",
        architecture="Ampere GA100",
        memory_gib=80.0,
        usable_gib=79.2,
        bandwidth_gb_s=2039.0,
        rates={"fp32_tflops": 19.5, "tf32_tflops": 156.0, "fp16_tflops": 312.0, "bf16_tflops": 312.0},
        tdp_w=400.0,
        compute_capability="8.0",
        pcie_gen=4,
        pcie_lanes=16,
        link="NVLink 3",
        link_gb_s=600.0,
        mig_instances=7,
        ecc="yes (on)",
        has_tensor_cores=True,
    ),
    card(
        "h100-sxm5-80gb",
        name="H100 SXM5 80GB",
        architecture="Hopper",
        memory_gib=80.0,
        usable_gib=79.2,
        bandwidth_gb_s=3350.0,
        rates={
            "fp32_tflops": 67.0,
            "tf32_tflops": 494.7,
            "fp16_tflops": 989.4,
            "bf16_tflops": 989.4,
            "fp8_tflops": 1978.9,
            "int8_tops": 1979.0,
        },
        tdp_w=700.0,
        compute_capability="9.0",
        pcie_gen=5,
        pcie_lanes=16,
        link="NVLink 4",
        link_gb_s=900.0,
        mig_instances=7,
        ecc="yes (on)",
        has_tensor_cores=True,
    ),
    card(
        "v100-sxm2-16gb",
        name="Tesla V100 SXM2 16GB",
        architecture="Volta",
        memory_gib=16.0,
        usable_gib=15.77,
        bandwidth_gb_s=900.0,
        rates={"fp32_tflops": 15.7, "fp16_tflops": 125.0},
        tdp_w=300.0,
        compute_capability="7.0",
        pcie_gen=3,
        pcie_lanes=16,
        link="NVLink 2",
        link_gb_s=300.0,
        ecc="yes (on)",
        has_tensor_cores=True,
    ),
    card(
        "p40",
        name="Tesla P40",
        architecture="Pascal",
        memory_gib=24.0,
        usable_gib=23.5,
        bandwidth_gb_s=347.0,
        rates={"fp32_tflops": 11.76, "fp16_tflops": 11.76},
        tdp_w=250.0,
        compute_capability="6.1",
        pcie_gen=3,
        pcie_lanes=16,
    ),
    card(
        "rtx3050-8gb",
        name="GeForce RTX 3050 8GB",
        architecture="Ampere GA10x",
        segment="consumer",
        memory_gib=8.0,
        usable_gib=7.66,
        bandwidth_gb_s=224.0,
        rates={"fp32_tflops": 9.1, "tf32_tflops": 9.1, "fp16_tflops": 18.2, "bf16_tflops": 18.2},
        tdp_w=130.0,
        compute_capability="8.6",
        pcie_gen=4,
        pcie_lanes=8,
        has_tensor_cores=True,
    ),
    card(
        "rtx4060ti-16gb",
        name="GeForce RTX 4060 Ti 16GB",
        architecture="Ada Lovelace",
        segment="consumer",
        memory_gib=16.0,
        usable_gib=15.7,
        bandwidth_gb_s=288.0,
        rates={
            "fp32_tflops": 22.1,
            "tf32_tflops": 22.1,
            "fp16_tflops": 44.1,
            "bf16_tflops": 44.1,
            "fp8_tflops": 88.2,
        },
        tdp_w=165.0,
        compute_capability="8.9",
        pcie_gen=4,
        pcie_lanes=8,
        has_tensor_cores=True,
    ),
)
BY_ID = {g.id: g for g in GPUS}

RESNET_50 = ModelArchitecture(
    "ResNet-50",
    "vision",
    25_557_032,
    25_557_032,
    id="resnet-50",
    activations_per_sample=11.11e6,
    forward_macs=4.09e9,
    image_size=(224, 224),
    backbone="resnet",
    head="classifier",
)
BERT_LARGE = ModelArchitecture(
    "BERT-large",
    "encoder",
    335_141_888,
    335_141_888,
    id="bert-large-uncased",
    layers=24,
    hidden_size=1024,
    intermediate_size=4096,
    attention_heads=16,
    kv_heads=16,
    head_dim=64,
    vocab_size=30522,
    tied_embeddings=True,
    gated_mlp=False,
    embedding_parameters=31.8e6,
)
BERT_BASE = ModelArchitecture(
    "BERT-base",
    "encoder",
    109_482_240,
    109_482_240,
    id="bert-base-uncased",
    layers=12,
    hidden_size=768,
    intermediate_size=3072,
    attention_heads=12,
    kv_heads=12,
    head_dim=64,
    vocab_size=30522,
    tied_embeddings=True,
    gated_mlp=False,
    embedding_parameters=23.8e6,
)
LLAMA_8B = ModelArchitecture(
    "Llama 3.1 8B",
    "decoder",
    8_030_261_248,
    8_030_261_248,
    id="llama-3.1-8b",
    layers=32,
    hidden_size=4096,
    intermediate_size=14336,
    attention_heads=32,
    kv_heads=8,
    head_dim=128,
    vocab_size=128256,
    embedding_parameters=2 * 128256 * 4096.0,
)
LLAMA_13B = ModelArchitecture(
    "Llama 2 13B",
    "decoder",
    13_015_864_320,
    13_015_864_320,
    id="llama-2-13b",
    layers=40,
    hidden_size=5120,
    intermediate_size=13824,
    attention_heads=40,
    kv_heads=40,
    head_dim=128,
    vocab_size=32000,
    embedding_parameters=2 * 32000 * 5120.0,
)
LLAMA_70B = ModelArchitecture(
    "Llama 3.1 70B",
    "decoder",
    70_553_706_496,
    70_553_706_496,
    id="llama-3.1-70b",
    layers=80,
    hidden_size=8192,
    intermediate_size=28672,
    attention_heads=64,
    kv_heads=8,
    head_dim=128,
    vocab_size=128256,
    embedding_parameters=2 * 128256 * 8192.0,
)


def price(gpu_id: str, amount: float, condition: str = "new", **changes: Any) -> PriceChoice:
    """A fresh price in yuan."""
    fields: dict[str, Any] = {
        "gpu_id": gpu_id,
        "condition": condition,
        "amount": amount,
        "currency": "CNY",
        "amount_cny": amount,
        "per": "card",
        "tax": "included",
        "region": "CN",
        "channel": "shop",
        "channel_kind": "retail",
        "observed_on": "2026-11-01",
        "age_days": 29,
        "ageing": False,
        "stale": False,
        "converted": False,
        "n": 1,
        "evidence": "current",
        "low_cny": amount,
        "expected_cny": changes.get("amount_cny", amount),
        "high_cny": amount,
        "source": SOURCE,
    }
    return PriceChoice(**{**fields, **changes})


def prices(**amounts: float) -> dict[tuple[str, str], PriceChoice]:
    """New prices by gpu id with underscores for hyphens."""
    found = {}
    for name, amount in amounts.items():
        gpu_id = name.replace("_", "-")
        found[gpu_id, "new"] = price(gpu_id, amount)
    return found


SEED_PRICES = prices(rtx3060_12gb=2500, rtx3090=12000, a100_pcie_40gb=70000)
"""The three prices of the first buying guide, yuan."""
ALL_PRICES = prices(
    rtx3060_12gb=2500,
    rtx3090=12000,
    rtx4090=16000,
    a100_pcie_40gb=70000,
    a100_sxm4_80gb=110000,
    h100_sxm5_80gb=200000,
    v100_sxm2_16gb=1500,
    p40=900,
    rtx3050_8gb=1500,
    rtx4060ti_16gb=3300,
)


HOSTS = tuple(
    HostClass(
        code,
        code,
        code,
        code,
        kind,
        cards,
        cny,
        cny,
        cny,
        "2026-07-24",
        idle,
        load,
        1000.0,
        network,
        "",
        "",
        "",
        SOURCE,
    )
    for code, kind, cards, cny, idle, load, network in (
        ("module-server-8", "module_server", 8, 0.0, 1500.0, 4600.0, 300_000.0),
        ("desktop-1", "desktop", 1, 13_284.0, 70.0, 180.0, None),
        ("desktop-2", "desktop", 2, 23_674.0, 90.0, 260.0, None),
        ("workstation-4", "workstation", 4, 99_150.0, 180.0, 500.0, None),
        ("pcie-server-8", "server", 8, 143_000.0, 450.0, 1200.0, 175_000.0),
    )
)
"""Machines of seed_data/host_classes.csv, their expected prices."""
