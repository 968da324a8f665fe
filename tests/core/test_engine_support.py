"""What is stated of engines on cards: which statement counts, and that only an outright refusal rejects."""

from __future__ import annotations

from dataclasses import replace

import pytest

from app.core.decide.engine_support import EngineSupport, rows_by_card, support_of
from app.core.decide.shortlist import rank
from app.core.gpu import Gpu, Source
from app.core.gpu_table import GpuTable
from app.core.question import Filters, ShortlistQuestion
from app.core.workload import Workload
from tests.core.cards import ALL_PRICES, BY_ID, LLAMA_8B

SOURCE = Source("table", "https://example.org/table", "Table")
CARD = BY_ID["rtx4090"]
ASCEND = replace(CARD, id="ascend-910b3", name="Ascend 910B3", vendor="Huawei", compute_capability="")
METAX = replace(CARD, id="metax-c500-pcie", name="MetaX C500", vendor="MetaX", compute_capability="")
VEGA = replace(CARD, id="mi50-32gb", name="MI50", vendor="AMD", compute_capability="", llvm_target="gfx906")
OTHERS = {
    card.id: replace(card, architecture=architecture)
    for card, architecture in ((ASCEND, "Da Vinci"), (METAX, "MXMACA"), (VEGA, "GCN 5.1 (Vega 20)"))
}


def row(engine: str, hardware: str, status: str, formats: str = "any", **more: object) -> EngineSupport:
    given = {
        "id": f"{engine} {hardware} {formats} {status}",
        "plugin": "",
        "engine_version": "1.0",
        "hardware_as_written": "",
        "vendor": "",
        "min_version": "",
        "format_as_written": "",
        "feature": "runs",
        "feature_kind": "runs" if formats == "any" else "format",
        "refuses": False,
        "evidence": "official table",
        "dated": "2026",
        "note": "",
        "source": SOURCE,
    }
    stated = {"engine": engine, "hardware": hardware, "status": status, "formats": formats}
    return EngineSupport(**given | stated | more)  # type: ignore[arg-type]


def status(gpu: Gpu, engine: str, precision: str, *rows: EngineSupport) -> str:
    return support_of(gpu, engine, precision, rows_by_card([gpu], rows)[gpu.id]).status


@pytest.mark.parametrize(
    ("hardware", "found"),
    [
        ("cc8.9", True),
        ("cc8.0 cc8.6", False),
        ("cc>=7.5", True),
        ("cc>=9.0", False),
        ("gfx906", False),
        ("vendor=NVIDIA", True),
        ("id=rtx40*", True),
        ("id=ascend-910b*", False),
    ],
)
def test_a_family_of_cards_is_named_by_tokens(hardware: str, found: bool) -> None:
    assert bool(rows_by_card([CARD], [row("vllm", hardware, "official")])[CARD.id]) == found
    assert not rows_by_card([OTHERS["ascend-910b3"]], [row("vllm", "cc>=5.0", "official")])["ascend-910b3"]


def test_a_plugin_counts_and_silence_is_unknown() -> None:
    card = OTHERS["metax-c500-pcie"]
    assert status(card, "vllm", "bf16") == "unknown"
    assert status(card, "vllm", "bf16", row("vllm", "id=metax-c5*", "plugin")) == "plugin"
    found = support_of(card, "vllm", "bf16", [row("vllm", "id=metax-*", "plugin", plugin="vllm-metax")])
    assert found.version == "vllm-metax 1.0" and found.source == SOURCE


def test_only_an_outright_refusal_is_unsupported() -> None:
    absent = row("vllm", "gfx906", "unsupported")
    assert status(OTHERS["mi50-32gb"], "vllm", "bf16", absent) == "experimental"
    assert status(OTHERS["mi50-32gb"], "vllm", "bf16", replace(absent, refuses=True)) == "unsupported"


def test_the_weaker_of_card_and_format_counts_and_a_release_in_which_it_runs_wins() -> None:
    runs = row("vllm", "cc8.9", "official")
    no = row("vllm", "cc8.9", "unsupported", "fp8", refuses=True)
    assert status(CARD, "vllm", "fp8", runs, no) == "unsupported"
    assert status(CARD, "vllm", "bf16", runs, no) == "official"
    assert status(CARD, "vllm", "fp8", runs, no, row("vllm", "cc>=7.5", "plugin", "fp8")) == "plugin"


def test_k_quants_are_refused_where_the_back_end_lacks_them() -> None:
    known = (
        row("llama.cpp", "id=ascend-910b*", "official", "gguf"),
        row("llama.cpp", "id=ascend-910b*", "unsupported", "gguf-q*_k*", refuses=True),
    )
    assert status(OTHERS["ascend-910b3"], "llama.cpp", "gguf-q4_k_m", *known) == "unsupported"
    assert status(OTHERS["ascend-910b3"], "llama.cpp", "gguf-q8_0", *known) == "official"


def test_bitsandbytes_decides_four_bit_adapters() -> None:
    wheel = row("pytorch", "gfx906", "official", feature_kind="package")
    said = row("bitsandbytes", "gfx906", "unsupported", feature_kind="feature", feature="wheels")
    assert status(OTHERS["mi50-32gb"], "pytorch", "bf16", wheel, said) == "official"
    assert status(OTHERS["mi50-32gb"], "pytorch", "nf4", wheel, said) == "unknown"
    # Its 8-bit kernels ask for more than the 4-bit ones.
    assert status(CARD, "pytorch", "nf4", row("bitsandbytes", "cc>=7.5", "official", "int8")) == "official"


def test_a_ranking_says_it_flags_it_and_rejects_what_is_refused() -> None:
    work = Workload(LLAMA_8B, batch_size=1, sequence_length=2048, precision="fp16", engine="vllm")
    card = OTHERS["metax-c500-pcie"]
    prices = {(card.id, "new"): ALL_PRICES["rtx4090", "new"]}

    def ask(*rows: EngineSupport):  # type: ignore[no-untyped-def]
        question = ShortlistQuestion(work, counts=(1,), filters=Filters())
        return rank(question, GpuTable.from_gpus([card]), [card], prices, engine_support=rows)

    option = ask(row("vllm", "id=metax-*", "plugin")).options[0]
    assert option.support.status == "plugin" and option.support.source == SOURCE
    silent = ask()
    assert silent.options[0].support.status == "unknown"
    assert "support_not_known" in {flag.code for flag in silent.options[0].flags}
    assert silent.outcome.recommendation.kind != "buy"
    assert ask(row("vllm", "id=metax-*", "plugin")).outcome.recommendation.kind == "buy"
    refused = ask(row("vllm", "id=metax-*", "unsupported", refuses=True))
    assert [(r.code, r.text.params["source"]) for r in refused.rejected] == [("support", "Table")]


@pytest.mark.parametrize(("need", "field"), [("nvlink", "link"), ("ecc", "ecc")])
def test_an_empty_feature_is_not_known(need: str, field: str) -> None:
    for value, code in (("", "rejected_feature_unknown"), ("none", "rejected_feature")):
        card = replace(CARD, **{field: value})
        question = ShortlistQuestion(Workload(LLAMA_8B), counts=(1,), filters=Filters(needs=(need,)))
        answer = rank(question, GpuTable.from_gpus([card]), [card], ALL_PRICES)
        assert answer.rejected[0].text.code == code
