"""Constants as data: faults of the table are named, and the fitter finds what made the measurements."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from app.core import calibration
from app.core.calibration import (
    COLUMNS,
    Calibration,
    CalibrationFault,
    Factor,
    FactorBy,
    RowsOf,
    fill,
    install,
    installed,
    tried,
)
from app.core.engines import engine
from app.core.formats import COMPUTE_GROUPS, format_of
from app.core.gpu import Benchmark, Source
from app.core.gpu_table import CARD_CLASSES, GpuTable
from app.core.speed import constants as c
from app.core.speed.constants import FactorByClass, FactorByCompute
from app.core.speed.fitting import Fitter, fitted_entries
from app.core.speed.hidden import is_fitted
from app.core.speed.measurements import observe
from tests.core.cards import GPUS, LLAMA_8B

GOOD = {
    "part": "trial",
    "name": "SHARE",
    "key": "",
    "value": "0.5",
    "unit": "1",
    "kind": "assumed",
    "estimator": "",
    "rows": "",
    "n": "0",
    "spread": "",
    "valid_for": "decode",
    "source": "assumed: one half",
    "read_on": "",
    "prior": "",
    "prior_spread": "",
}
TABLE = GpuTable.from_gpus(GPUS)
POSITION = {g.id: i for i, g in enumerate(GPUS)}
GGUF = "QUANTIZED_KERNEL_SHARE.gguf"


def read(*rows: dict[str, str]) -> Calibration:
    return Calibration.read([(2 + i, row) for i, row in enumerate(rows)], "trial.csv")


def changed(**cells: str) -> dict[str, str]:
    return {**GOOD, **cells}


@pytest.fixture
def module() -> Iterator[ModuleType]:
    """A module that declares one share and one table of them; the shipped constants return afterwards."""
    shipped = installed()
    made = ModuleType("trial")
    made.__annotations__ = {"SHARE": Factor, "SHARES": FactorBy}
    yield made
    install(shipped)
    calibration._filled.pop("trial", None)


def filled(module: ModuleType, *rows: dict[str, str]) -> Any:
    install(read(*rows))
    fill("trial", module, CARD_CLASSES)
    return module


SHARES = changed(name="SHARES", key="vllm", value="0.25")


def test_declared_names_get_their_values(module: ModuleType) -> None:
    made = filled(module, GOOD, SHARES)
    assert made.SHARE == 0.5 and made.SHARES == {"vllm": 0.25}
    with tried("SHARES.vllm", 0.75):
        assert made.SHARES == {"vllm": 0.75}
    assert made.SHARES == {"vllm": 0.25}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([GOOD], "trial.csv: no row for SHARES"),
        ([GOOD, SHARES, changed(name="SPARE")], "line 4: no constant is called SPARE"),
        ([GOOD, SHARES, GOOD], "line 4: SHARE is in line 2 already"),
        ([changed(value="half"), SHARES], "line 2, column value: 'half' is no number"),
        ([changed(value="nan"), SHARES], "line 2, column value: not finite"),
        ([changed(value="-1"), SHARES], "line 2, column value: SHARE is -1, not within 0.0001 to 1000"),
        ([changed(unit="s"), SHARES], "line 2, column unit: SHARE is in 1, not s"),
        ([changed(kind="guessed"), SHARES], "column kind: 'guessed' is none of fitted, published"),
        ([changed(kind="fitted"), SHARES], "column kind: a fitted constant names its estimator and its rows"),
        ([changed(rows="engine"), SHARES], "column rows: no such condition: engine"),
        ([changed(n="1.5"), SHARES], "column n: not a count"),
        ([changed(source=" "), SHARES], "column source: every constant says where it is from"),
        ([changed(key="vllm"), SHARES], "line 2: SHARE is a single value"),
        ([GOOD, changed(name="SHARES")], "line 3, column key: SHARES is a table"),
    ],
)
def test_a_fault_names_file_line_and_column(
    module: ModuleType, rows: list[dict[str, str]], said: str
) -> None:
    with pytest.raises(CalibrationFault, match=said.replace("(", r"\(")):
        filled(module, *rows)


def test_a_missing_column_is_a_fault() -> None:
    with pytest.raises(CalibrationFault, match=r"trial\.csv, line 2, column spread: missing"):
        read({name: cell for name, cell in GOOD.items() if name != "spread"})


def test_constants_by_type_of_products_name_every_type(module: ModuleType) -> None:
    module.__annotations__ = {"SHARES": FactorByCompute}
    rows = [changed(name="SHARES", key=group) for group in COMPUTE_GROUPS]
    assert set(filled(module, *rows).SHARES) == set(COMPUTE_GROUPS)
    with pytest.raises(CalibrationFault, match="SHARES names just .*; not so: fp4"):
        filled(module, *rows[:-1])
    with pytest.raises(CalibrationFault, match="SHARES names just .*; not so: int3"):
        filled(module, *rows, changed(name="SHARES", key="int3"))


def test_constants_by_card_class_have_a_default(module: ModuleType) -> None:
    module.__annotations__ = {"SHARES": FactorByClass}
    rows = [changed(name="SHARES", key="default"), changed(name="SHARES", key="hopper", value="0.75")]
    found = filled(module, *rows).SHARES
    assert found[CARD_CLASSES.index("hopper")] == 0.75 and found[CARD_CLASSES.index("volta")] == 0.5
    for wrong in (rows[1:], [*rows, changed(name="SHARES", key="rubin")]):
        with pytest.raises(CalibrationFault, match="goes by card class and default"):
            filled(module, *wrong)


def test_conditions_of_rows_are_read_as_they_are_written() -> None:
    found = RowsOf.of("class=serving engine=vllm|sglang several")
    assert (found.classes, found.engines, found.several) == (("serving",), ("vllm", "sglang"), True)


def test_every_shipped_constant_says_what_it_is() -> None:
    for entry in installed().entries.values():
        assert entry.valid_for and entry.sources, entry.label
        assert entry.kind != "fitted" or (entry.n and entry.rows), entry.label
        assert entry.kind != "published" or entry.sources != ("",), entry.label
    assert set(COLUMNS) == set(GOOD)


def test_trying_a_value_reaches_engines_and_formats_and_leaves_no_trace() -> None:
    before = engine("llama.cpp").speed.layer_s.usual, format_of("gptq").dequantize_bytes, c.MOE_SHARE
    with tried("LAYER_S.llama.cpp", 1e-3), tried("DEQUANTIZE_BYTES.gptq", 1.0), tried("MOE_SHARE", 0.1):
        assert engine("llama.cpp").speed.layer_s.usual == 1e-3
        assert format_of("gptq").dequantize_bytes == 1.0
        assert c.MOE_SHARE == 0.1
    after = engine("llama.cpp").speed.layer_s.usual, format_of("gptq").dequantize_bytes, c.MOE_SHARE
    assert before == after


def served(i: int, value: float = 1.0) -> Benchmark:
    return Benchmark(
        id=f"row-{i}",
        gpu_id="h100-sxm5-80gb",
        gpu_count=1,
        model_id="llama-3.1-8b",
        model_name="Llama 3.1 8B",
        task="inference",
        phase="decode",
        precision="gguf-q4_k_m",
        value=value,
        unit="tokens_per_s",
        framework="llama.cpp",
        input_length=2048.0 + 256.0 * (i % 4),
        output_length=128.0,
        source=Source("trt", "https://example.org/trt", "TensorRT-LLM"),
    )


def test_the_fitter_finds_the_value_behind_the_measurements() -> None:
    """Rows made by the model itself at another value, with 2 % of noise: refitting gives that value."""
    rows = [served(i) for i in range(40)]
    truth = installed().entries[GGUF].value * 0.8
    models = {LLAMA_8B.id: LLAMA_8B}
    noise = np.random.default_rng(3)
    with tried(GGUF, truth):
        found = observe(rows, models, TABLE, POSITION)
    made = [
        replace(row, value=float(rate * math.exp(noise.normal(0.0, 0.02))))
        for row, rate in zip(found.rows, found.predicted, strict=True)
    ]
    refitted = Fitter(made, models, TABLE, list(POSITION)).refitted(installed().entries[GGUF])
    assert refitted.n == sum(is_fitted(row.id) for row in rows)
    assert refitted.value == pytest.approx(truth, rel=0.03)
    assert refitted.spread is not None and 0.005 < refitted.spread < 0.1
    assert refitted.moved
    assert installed().entries[GGUF].value == c.QUANTIZED_KERNEL_SHARE["gguf"]


def test_without_measurements_a_constant_stays() -> None:
    fitter = Fitter([], {}, TABLE, list(POSITION))
    for entry in fitted_entries():
        found = fitter.refitted(entry)
        assert (found.value, found.n, found.moved) == (entry.value, 0, False)


def test_the_core_reads_no_file() -> None:
    assert "csv" not in vars(sys.modules["app.core.calibration"])
