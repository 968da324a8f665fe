"""What the product promises, line by line, with the tests that hold it: none can go without its line here."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
# The features that the first request asked for, by number; tests by their place.
FEATURES: dict[int, tuple[str, tuple[str, ...]]] = {
    1: ("presets of models", ("core/test_model.py::test_count_from_dimensions_is_the_published_one",)),
    2: ("models by size or dimensions", ("core/test_model.py::test_feature_2_custom_dimensions",)),
    3: ("config.json", ("core/test_config_reader.py::test_feature_3_qwen3_8b",)),
    4: (
        "what training must state",
        ("api/test_calculations.py::test_feature_4_training_a_token_model_needs_its_sequence_length",),
    ),
    5: (
        "fit with its parts",
        (
            "api/test_calculations.py::test_feature_5_bert_large_in_fp32_fits_24_gb_and_not_12",
            "core/test_memory_training.py::test_feature_5_bert_large_amp_batch_32_at_512",
        ),
    ),
    6: (
        "TensorFlow as measured",
        (
            "core/test_memory_training.py::test_feature_6_and_7_tensorflow_1_on_12_gb",
            "core/test_memory_training.py::test_feature_6_tensorflow_2_bert_large_at_384",
        ),
    ),
    7: (
        "largest batch",
        ("core/test_memory_training.py::test_feature_7_fused_kernels_train_larger_batches",),
    ),
    8: ("methods of training", ("core/test_memory_training.py::test_feature_8_llama_2_7b_by_method",)),
    9: ("memory tiers", ("core/test_fit_advice.py::test_feature_9_tiers_come_from_the_estimate",)),
    10: (
        "formats a card can run",
        (
            "core/test_shortlist.py::test_mixed_precision_without_tensor_cores_runs_without_a_speed_up",
            "core/test_speed.py::test_bf16_is_missing_before_ampere",
        ),
    ),
    11: (
        "gain of mixed precision",
        ("core/test_speed.py::test_mixed_precision_gain_depends_on_the_generation",),
    ),
    12: (
        "TFLOPS per yuan",
        (
            "core/test_shortlist.py::test_tflops_per_1000_yuan_at_the_published_prices",
            "web/test_charts.py::test_the_value_chart_shows_what_the_answer_says",
        ),
    ),
    13: (
        "dated prices",
        (
            "catalog/test_prices.py::test_prices_age_from_91_days_and_are_stale_after_180",
            "catalog/test_prices.py::test_an_override_beats_everything",
        ),
    ),
    14: (
        "ranked shortlist",
        (
            "core/test_shortlist.py::test_the_budget_of_a_student",
            "core/test_shortlist.py::test_each_card_is_listed_or_rejected_once",
        ),
    ),
    15: (
        "scenarios",
        (
            "core/test_shortlist.py::test_the_workstation_of_a_laboratory",
            "web/test_table_views.py::test_scenarios_and_the_four_questions_are_whole_addresses",
        ),
    ),
    16: (
        "four questions",
        (
            "core/test_shortlist.py::test_the_four_questions",
            "web/test_table_views.py::test_three_yes_point_to_the_data_centre",
        ),
    ),
    17: (
        "cards side by side",
        (
            "api/test_catalogue.py::test_feature_17_figures_for_a_side_by_side",
            "web/test_new_pages.py::test_the_comparison_shows_what_the_sheets_say",
        ),
    ),
    18: (
        "frozen decisions",
        ("web/test_snapshot_of_prices.py::test_the_link_shows_the_old_numbers_after_a_price_has_changed",),
    ),
    19: ("page and API agree", ("web/test_pages.py::test_figures_of_the_page_equal_those_of_the_api",)),
    20: (
        "several cards",
        (
            "core/test_memory_training.py::test_feature_20_llama_2_13b_needs_four_80_gb_cards",
            "core/test_speed.py::test_resnet_50_on_several_4090",
        ),
    ),
    21: (
        "links one way",
        ("core/test_speed.py::test_nvlink_3_over_pcie_4_is_nine_and_a_half_times_not_twenty",),
    ),
    22: ("feeding of data", ("core/test_speed.py::test_resnet_50_input_is_far_below_pcie_3",)),
    23: ("power supply", ("core/test_fit_advice.py::test_feature_23_power_supply",)),
    24: (
        "total cost",
        ("core/test_shortlist.py::test_budget_covers_the_hosts", "core/test_cost.py::test_parts_add_up"),
    ),
    25: ("electricity", ("core/test_cost.py::test_a_day_of_350_w",)),
    26: (
        "buy or rent",
        (
            "core/test_fit_advice.py::test_feature_32_and_26_notes",
            "services/test_renting.py::test_buying_pays_off_when_the_rent_saved_has_paid_for_it",
        ),
    ),
    27: (
        "training over a day",
        ("core/test_shortlist.py::test_a_training_over_a_day_answers_the_second_question",),
    ),
    28: (
        "framework and system",
        (
            "core/test_support.py::test_verdicts",
            "core/test_support.py::test_tensorflow_on_windows_ended_with_2_10",
        ),
    ),
    29: ("driver", ("core/test_support.py::test_driver",)),
    30: (
        "other vendors",
        (
            "core/test_support.py::test_verdicts",
            "core/test_support.py::test_rocm_on_windows_is_pytorch_in_part",
        ),
    ),
    31: ("facts of cards", ("catalog/test_shipped.py::test_feature_31_partitions_and_ecc",)),
    32: ("service level", ("core/test_fit_advice.py::test_feature_32_and_26_notes",)),
    33: (
        "used cards",
        ("core/test_fit_advice.py::test_feature_33_a_3090_is_too_old_for_the_age_rule",),
    ),
    34: (
        "regions and export rules",
        (
            "catalog/test_shipped.py::test_feature_34_export_rules_of_a100_and_h100",
            "core/test_shortlist.py::test_a_card_under_a_rule_counts_only_at_a_price_of_today",
        ),
    ),
    35: (
        "code snippets",
        ("core/test_fit_advice.py::test_feature_35_snippet_keeps_the_last_activation_in_float32",),
    ),
    36: (
        "a source for each figure",
        (
            "api/test_provenance.py::test_every_figure_of_every_card_says_where_it_is_from",
            "web/test_new_pages.py::test_every_figure_of_the_comparison_opens_to_its_source",
        ),
    ),
    37: (
        "two languages, two currencies",
        (
            "web/test_pages.py::test_a_page_is_there_in_both_languages",
            "web/test_pages.py::test_dollars_are_the_yuan_at_the_dated_rate",
        ),
    ),
    38: ("inference", ("core/test_memory_inference.py::test_feature_38_kv_of_one_request",)),
    39: ("growth", ("core/test_fit_advice.py::test_feature_39_next_size_that_no_longer_fits",)),
    40: (
        "editing, import, export",
        (
            "catalog/test_importing.py::test_every_change_is_logged_and_can_be_undone",
            "catalog/test_exporting.py::test_the_same_version_at_the_other_end",
            "web/test_editing.py::test_a_figure_is_corrected_and_taken_back",
        ),
    ),
}
# What an answer keeps whatever else it gains.
STAYS: dict[str, tuple[str, ...]] = {
    "TFLOPS per 1000 yuan by precision": (
        "core/test_shortlist.py::test_tflops_per_1000_yuan_at_the_published_prices",
        "api/test_calculations.py::test_tflops_per_1000_yuan_are_of_the_rate_with_fp32_accumulate",
    ),
    "memory parts against usable memory": (
        "web/test_charts.py::test_memory_parts_sum_to_the_need_and_the_wall_is_usable_memory",
    ),
    "cost against speed with the front": (
        "web/test_charts.py::test_the_front_is_drawn_through_the_options_it_names",
        "core/test_shortlist.py::test_pareto_front_of_cost_and_speed",
    ),
    "price history": ("web/test_charts.py::test_a_price_history_keeps_channels_apart",),
    "rejected cards with reasons": (
        "web/test_table_views.py::test_rejected_cards_are_filtered_by_kind",
        "core/test_shortlist.py::test_hard_filters_name_their_code",
    ),
    "/compare": ("web/test_new_pages.py::test_the_comparison_says_it_in_chinese",),
    "/explain": ("web/test_explain_price.py::test_a_quote_on_another_tax_basis_shows_what_was_written",),
    "/option": ("web/test_answer_page.py::test_renting_stands_beside_buying_and_its_figures_open",),
    "TensorFlow, CUDA, cuDNN and driver": (
        "core/test_support.py::test_verdicts",
        "core/test_support.py::test_driver",
    ),
    "power supply": ("core/test_fit_advice.py::test_feature_23_power_supply",),
    "second-hand checklist": ("core/test_fit_advice.py::test_feature_33_a_3090_is_too_old_for_the_age_rule",),
    "snippets": ("core/test_fit_advice.py::test_feature_35_snippet_keeps_the_last_activation_in_float32",),
    "names of metrics": ("api/test_calculations.py::test_shortlist_has_the_shapes_that_scripts_rely_on",),
}


@cache
def names_in(file: str) -> frozenset[str]:
    """Names of the tests of a file; none for one that is not there."""
    path = TESTS / file
    if not path.is_file():
        return frozenset()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def missing(places: tuple[str, ...]) -> list[str]:
    return [place for place in places if place.partition("::")[2] not in names_in(place.partition("::")[0])]


def test_every_feature_has_its_line() -> None:
    assert sorted(FEATURES) == list(range(1, 41))
    assert all(places for _, places in FEATURES.values())


@pytest.mark.parametrize("number", FEATURES)
def test_the_tests_of_a_feature_are_there(number: int) -> None:
    name, places = FEATURES[number]
    assert missing(places) == [], f"{number}: {name}"


@pytest.mark.parametrize("name", STAYS)
def test_the_tests_of_what_stays_are_there(name: str) -> None:
    assert STAYS[name] and missing(STAYS[name]) == []
