"""Notes of the shipped data in Chinese: whole, in parts, by pattern, unchanged where nobody translated."""

from __future__ import annotations

import csv

import pytest

from app.resources import resource_path
from app.texts.language import translations
from app.texts.notes import PATTERNS, say_note


@pytest.mark.parametrize(
    ("text", "said", "whole"),
    [
        ("no ECC cost known", "未知 ECC 占用", True),
        ("driver_total_gib x 0.992", "驱动报告的显存 × 0.992", True),
        ("ratio measured on A100, H100", "比例实测自 A100, H100", True),
        ("same GA100 silicon as A100; vector rate", "与 A100 同为 GA100 芯片；向量算力", True),
        ("source outlier (medium): exclude", "来源离群值，剔除", True),
        ("512 FLOP/clk/SM x 128 SM x 2520 MHz", "512 FLOP/clk/SM x 128 SM x 2520 MHz", True),
        ("our own bench, room at 30 degrees", "our own bench, room at 30 degrees", False),
        ("vector rate; our own bench", "向量算力；our own bench", False),
        ("自己测的", "自己测的", True),
        ("", "", True),
    ],
)
def test_a_note_in_chinese(text: str, said: str, whole: bool) -> None:
    assert say_note(text, "zh") == (said, whole)


def test_a_note_in_english_is_as_the_data_have_it() -> None:
    assert say_note("no ECC cost known", "en") == ("no ECC cost known", True)


@pytest.mark.parametrize(
    ("file", "column", "least"),
    [
        ("lint_exceptions.csv", "reason", 1.0),
        ("gpu_facts.csv", "formula", 1.0),
        ("gpu_facts.csv", "note", 1.0),
        ("rates.csv", "kind", 1.0),
        ("gpu_figures.csv", "formula", 0.95),
        ("gpu_figures.csv", "note", 0.7),
        ("benchmarks.csv", "flag", 0.9),
        ("prices.csv", "held", 0.8),
    ],
)
def test_how_much_of_the_shipped_notes_is_said_in_chinese(file: str, column: str, least: float) -> None:
    with (resource_path("seed_data") / file).open(encoding="utf-8", newline="") as stream:
        notes = [row[column] for row in csv.DictReader(stream)]
    words = [note for note in notes if note and not note.startswith("https://")]
    said = sum(say_note(note, "zh")[1] for note in words)
    assert words and said / len(words) >= least


def test_every_pattern_has_a_translation() -> None:
    say = translations("zh").pgettext
    assert [template for _, template in PATTERNS if say("note", template) == template] == []
