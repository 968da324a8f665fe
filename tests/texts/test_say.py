"""Every code has a sentence in both languages; parameters are shown as figures."""

from __future__ import annotations

import re
import string
from dataclasses import fields

import pytest

from app.core.decide.options import REJECTION_CODES
from app.core.decide.recommendation import HOLDS
from app.core.estimates import PART_NAMES, Message
from app.core.faults import FieldError
from app.core.question import OBJECTIVES, Economics, PriceRules
from app.texts.language import translations
from app.texts.say import KIND_OF_PARAMETER, TEMPLATES, say_fault, say_message, term
from app.texts.words import KINDS, Pair, label
from tests.texts.codes import all_codes

# Codes that the sources put together from a name.
STARTS = ("first_by", "only_one_by", "behind_first_by")
EQUALS = ("first_of_equals_by", "behind_equal_by")
# Rejections of a card for its framework or system bring a sentence of their own.
BY_STAGE = [code for code in REJECTION_CODES if code not in ("framework", "os")]
# Codes that `services.defaults` makes from names of fields.
FRAME = [f.name for part in (PriceRules, Economics) for f in fields(part) if f.name != "tax"]
FRAME += ["counts", "objective", "limit", "conditions", "task", "batch_size", "lora_rank", "lora_targets"]
FRAME += ["gradient_checkpointing", "logits", "padding", "load", "software"]
CHANGED = ["vendor", "availability", "framework", "os", "feature", "count", "power", "budget", "deadline"]
MADE = {
    **{f"{start}_{o}": "core.decide.reasons" for o in OBJECTIVES for start in STARTS},
    **{
        f"{start}_{by}": "core.decide.reasons"
        for by in ("speed", "cost", "margin", "power", "name")
        for start in EQUALS
    },
    **{f"best_of_sound_by_{o}": "core.decide.recommendation" for o in OBJECTIVES},
    **{f"held_{hold}": "core.decide.recommendation" for hold in HOLDS if hold},
    **{f"rejected_{code}": "core.decide.shortlist" for code in BY_STAGE},
    **{f"remedy_{code}": "core.decide.reasons" for code in (*CHANGED, "stale_price", "unpriced")},
    "remedy_more_cards": "core.decide.remedies",
    "remedy_smaller_batch": "core.decide.remedies",
    "remedy_smaller_batch_accumulated": "core.decide.remedies",
    **{f"default_{name}": "services.defaults" for name in FRAME},
    **{f"price_{reason}": "catalog.prices" for reason in ("held", "undated", "superseded", "no_rate")},
    "price_likely_server_price": "catalog.prices",
    "price_far_from_history": "catalog.prices",
    "unknown_gpu": "catalog.snapshot_load",
    "unknown_model": "catalog.snapshot_load",
    "stale_price_needed": "services.calculator",
}
# The form has sentences of its own for these.
OF_THE_FORM = {"not_a_price_line"}
CODES = {**MADE, **all_codes()}
CHINESE = re.compile(r"[\u4e00-\u9fff]")


def fields_of(template: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(template) if name}


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_code_has_a_template_and_a_chinese_translation(code: str) -> None:
    assert code in TEMPLATES, f"{code} ({CODES[code]}) has no template"
    chinese = translations("zh").gettext(TEMPLATES[code])
    assert CHINESE.search(chinese), f"{code} has no Chinese translation"
    assert fields_of(chinese) == fields_of(TEMPLATES[code])


def test_the_scanner_finds_codes_of_each_kind() -> None:
    found = all_codes()
    for code in ("required", "sequence_length_required", "default_engine", "rejected_vendor", "tight"):
        assert code in found
    assert len(found) > 60


# Names and sizes that Chinese texts write as they are.
SAME = re.compile(
    r"LoRA|QLoRA|MIG|NVLink|Linux|Windows|WSL2|macOS|KV.*|Logits|logits|token.*|TFLOPS.*|[\d–]+ GB|FP.*"
)
SAID = sorted(set(KIND_OF_PARAMETER.values()) - {"precision", "framework"})


@pytest.mark.parametrize("kind", SAID)
def test_every_word_of_a_sentence_is_translated(kind: str) -> None:
    for code in KINDS[kind]:
        english, chinese = term(kind, code, "en"), term(kind, code, "zh")
        assert SAME.fullmatch(english) or CHINESE.search(chinese), (kind, code)


def test_words_cover_the_codes_of_the_contract() -> None:
    assert set(KINDS["part"]) == set(PART_NAMES)
    assert set(KINDS["objective"]) == set(OBJECTIVES)


def test_a_label_and_a_sentence_have_one_word_for_a_code() -> None:
    """Capitals, symbols and a few longer forms may differ; those stand side by side in the table."""
    say = translations("zh").gettext
    pairs = {(kind, code): word for kind, words in KINDS.items() for code, word in words.items()}
    for (kind, code), word in pairs.items():
        if not isinstance(word, Pair):
            assert label(kind, code, say) == term(kind, code, "zh") or kind == "precision"
    assert label("bound", "compute", say) == term("bound", "compute", "zh")
    assert label("condition", "refurbished", say) == term("condition", "refurbished", "zh")
    assert label("region", "TW", say) == term("region", "TW", "zh") == "中国台湾"
    assert label("tax", "unknown", say) == term("tax", "unknown", "zh")


def test_chinese_and_latin_are_parted_by_a_space() -> None:
    """A literal space between CJK and Latin or digits; placeholders may become either."""
    joined = re.compile(r"[\u4e00-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u4e00-\u9fff]")
    for code, template in TEMPLATES.items():
        chinese = translations("zh").gettext(template)
        bare = re.sub(r"\{\w+\}", "\u3000", chinese)
        assert not joined.search(bare), f"{code}: {chinese}"


def test_figures_in_a_sentence_carry_their_units() -> None:
    params = {"need_gib": 40.51, "usable_gib": 23.6, "shortfall_gib": 16.91}
    english = say_message(Message("rejected_memory", params), "en")
    assert english == "Needs 40.5\u00a0GiB on each card, 23.6\u00a0GiB are usable: 16.9\u00a0GiB short."
    chinese = say_message(Message("rejected_memory", params), "zh")
    assert chinese == "每卡需 40.5\u00a0GiB，可用 23.6\u00a0GiB，差 16.9\u00a0GiB。"


def test_money_percent_and_labels_follow_the_language() -> None:
    params = {"total_cny": 36908.4, "next": "2 × RTX 4090 (used)", "lead_percent": 26.1}
    assert "¥36,908; 2 × RTX 4090 (used) costs 26\u00a0% more" in say_message(
        Message("first_by_total_cost", params), "en"
    )
    assert "2 × RTX 4090（二手）贵 26\u00a0%" in say_message(Message("first_by_total_cost", params), "zh")


def test_what_was_sent_is_text_and_never_a_template() -> None:
    hostile = "{0.__class__} {allowed} %s <b>"
    said = say_fault(FieldError("/x", "unknown_value", {"value": hostile, "allowed": ["a", "b"]}), "en")
    assert said == f"{hostile} is not one of the accepted values: a, b."


def test_a_missing_parameter_shows_as_a_gap() -> None:
    assert say_message(Message("rejected_count"), "en") == "… cards are more than the limit."
