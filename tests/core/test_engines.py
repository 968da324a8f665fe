"""Engines and number formats as records: complete, known by name, and asked everywhere instead of named."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import MISSING, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from app.core import engines, formats
from app.core.engines.published import STACKS
from app.core.engines.record import Engine
from app.core.engines.vllm import ENGINE as VLLM
from app.core.faults import InputFault
from app.core.formats import COMPUTE_TYPES, Format, UnknownFormat, format_of
from app.core.memory import estimate
from app.core.resolve import resolve
from app.core.workload import Workload
from tests.core.model_examples import LLAMA_3_1_8B

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app"
RECORDS = APP / "core" / "engines"
FP8 = format_of("fp8")


def parts_of(record: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """A record and every record in it, each with its path."""
    yield path, record
    for field in fields(record):
        value = getattr(record, field.name)
        if is_dataclass(value):
            yield from parts_of(value, f"{path}.{field.name}")


def given(record: Any) -> dict[str, Any]:
    return {field.name: getattr(record, field.name) for field in fields(record)}


def test_no_part_of_a_record_has_a_default():
    records = [*engines.all_engines(), *engines.frameworks(), *formats.all_formats(), *COMPUTE_TYPES.values()]
    assert len(records) > 60
    for record in (*records, *STACKS):
        for path, part in parts_of(record):
            for field in fields(part):
                has_default = field.default is not MISSING or field.default_factory is not MISSING
                assert not has_default, f"{type(part).__name__}{path}.{field.name}"


@pytest.mark.parametrize("path", [path for path, _ in parts_of(VLLM)])
def test_an_engine_that_lacks_a_part_cannot_be_built(path: str):
    part = dict(parts_of(VLLM))[path]
    for name in given(part):
        rest = {key: value for key, value in given(part).items() if key != name}
        with pytest.raises(TypeError, match=name):
            type(part)(**rest)
    assert type(part)(**given(part)) == part


def test_a_format_that_lacks_a_part_cannot_be_built():
    for name in given(FP8):
        rest = {key: value for key, value in given(FP8).items() if key != name}
        with pytest.raises(TypeError, match=name):
            Format(**rest)


@pytest.mark.parametrize(
    "change",
    [
        {"kernels": {"plain": 0.0}},
        {"families": ("decoder", "poetry")},
        {"chosen_for": ("poetry",)},
        {"rows": replace(VLLM.rows, stands_in_for_unknown=("poetry",))},
    ],
)
def test_an_engine_names_only_what_exists(change: dict[str, Any]):
    with pytest.raises(ValueError, match="engine vllm"):
        replace(VLLM, **change)


@pytest.mark.parametrize(
    "change",
    [
        {"kernels": "magic"},
        {"computes_in": "fp5"},
        {"storage": "air"},
        {"quirks": ("shy",)},
        {"advised_for": ("poetry",)},
    ],
)
def test_a_format_names_only_what_exists(change: dict[str, Any]):
    with pytest.raises(ValueError, match="format fp8"):
        replace(FP8, **change)


def test_an_unknown_engine_is_an_error_and_never_another_engine():
    with pytest.raises(engines.UnknownEngine) as said:
        engines.engine("lmdeploy")
    assert said.value.name == "lmdeploy" and "vllm" in said.value.known
    with pytest.raises(engines.UnknownEngine):
        engines.framework_of("lmdeploy")
    with pytest.raises(InputFault) as refused:
        resolve(Workload(LLAMA_3_1_8B, engine="lmdeploy", sequence_length=2048))
    assert [error.code for error in refused.value.errors] == ["unknown_value"]
    # Past the check, as when a list of choices was extended and nothing else.
    named, _ = resolve(Workload(LLAMA_3_1_8B, engine="vllm", sequence_length=2048))
    with pytest.raises(engines.UnknownEngine):
        estimate(replace(named, engine="lmdeploy"))


def test_an_unknown_format_is_an_error():
    with pytest.raises(UnknownFormat):
        format_of("int3")
    with pytest.raises(InputFault):
        resolve(Workload(LLAMA_3_1_8B, precision="int3", sequence_length=2048))
    named, _ = resolve(Workload(LLAMA_3_1_8B, sequence_length=2048))
    with pytest.raises(UnknownFormat):
        estimate(replace(named, precision="int3"))


def test_a_name_a_need_and_a_stack_belong_to_one_engine():
    other = replace(VLLM.framework, name="lmdeploy")
    with pytest.raises(ValueError, match="two records"):
        engines.register(engines.engine("sglang"))
    with pytest.raises(ValueError, match="decoder"):
        engines.register(replace(VLLM, framework=other))
    # Nothing is left of what was refused.
    assert not engines.is_engine("lmdeploy") and engines.framework("lmdeploy") is None
    with pytest.raises(ValueError, match="two records"):
        formats.register(FP8)


def test_every_question_without_an_engine_has_one():
    chosen = {need: engines.chosen_for(need).name for need in engines.NEEDS}
    assert chosen["training"] == chosen["vision"] == chosen["encoder"] == "pytorch"
    assert (
        chosen["gguf"] == "llama.cpp" and chosen["decoder"] == "vllm" and chosen["speech"] == "faster-whisper"
    )


def test_published_stacks_are_asked_of_an_engine():
    assert engines.stand_in("mlc-llm", "language").name == "vllm"
    assert engines.stand_in("vendor", "language").name == "tensorrt-llm"
    assert engines.stand_in("vendor", "other").name == "pytorch"
    assert engines.stand_in("sglang", "language").name == "sglang"


# What may name engines: data of measurements, and words that a reader sees as examples.
_NAMING_DATA = ("core/speed/readings.py", "api/schemas/requests.py")


def _python_files() -> list[Path]:
    return [path for path in sorted(APP.rglob("*.py")) if RECORDS not in path.parents]


def test_no_engine_is_named_outside_its_record():
    names = {*engines.names(), *(f.name for f in engines.frameworks()), *(s.label for s in STACKS)} - {
        "torch"
    }
    wrong = []
    for path in _python_files():
        if str(path.relative_to(APP)) in _NAMING_DATA:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            # A module that a script imports is no engine.
            if isinstance(node, ast.Constant) and node.value in names - _modules_of(path):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno}: {node.value!r}")
    assert not wrong, "\n" + "\n".join(wrong)


def _modules_of(path: Path) -> set[str]:
    return {"tensorflow"} if path.parent.name == "verify" else {"vendor"}


_FORMAT_FIELDS = {"precision", "kv_precision", "computes_in", "compute_type", "storage", "kernels"}
# Words in quotes and scripts for a card speak of types of products, not of a question's formats.
_TYPES_OF_PRODUCTS = ("core/quotes.py", "core/verify/", "core/speed/scenarios.py")


def test_no_format_decides_anything_by_its_name():
    names = set(formats.names())
    wrong = []
    for path in _python_files():
        place = str(path.relative_to(APP))
        if place == "core/formats.py" or place.startswith(_TYPES_OF_PRODUCTS):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Compare) and _asks_for_a_format(node, names):
                wrong.append(f"{place}:{node.lineno}: {ast.unparse(node)}")
            if isinstance(node, ast.Dict):
                keys = {key.value for key in node.keys if isinstance(key, ast.Constant)}
                if len(keys & names) > 1:
                    wrong.append(f"{place}:{node.lineno}: a table by format, {sorted(keys & names)}")
    assert not wrong, "\n" + "\n".join(wrong)


def _asks_for_a_format(node: ast.Compare, names: set[str]) -> bool:
    sides = [node.left, *node.comparators]
    asked = any(isinstance(side, ast.Attribute) and side.attr in _FORMAT_FIELDS for side in sides)
    literals = {n.value for side in sides for n in ast.walk(side) if isinstance(n, ast.Constant)}
    return asked and bool(literals & names)


def test_the_records_hold_one_engine_each():
    files = {path.stem for path in RECORDS.glob("*.py")} - {"__init__", "constants", "record", "published"}
    assert len(files) == len(engines.frameworks())
    assert {e.name for e in engines.all_engines()} <= {f.name for f in engines.frameworks()}
    assert isinstance(VLLM, Engine)
