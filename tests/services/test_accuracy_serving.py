"""Published runs of servers predicted without their site: what the model of serving promises."""

from __future__ import annotations

import pytest

from app.catalog.snapshot import Snapshot
from app.core.serving.runs import RunFault, read
from app.services.accuracy_answers import AimedServing, ServingAccuracyReport
from app.services.accuracy_serving import serving_report
from app.services.answers import canonical, load
from app.services.serving_runs import fitted_stack, published_runs, report_stack
from tests.catalog.conftest import shipped_snapshot

__all__ = ["shipped_snapshot"]


@pytest.fixture(scope="module")
def report(shipped_snapshot: Snapshot) -> ServingAccuracyReport:
    return serving_report(shipped_snapshot)


def row(report: ServingAccuracyReport, group: str, figure: str) -> AimedServing:
    return next(r for r in report.groups if (r.split, r.group, r.figure) == ("site", group, figure))


@pytest.mark.parametrize(
    ("group", "figure", "median", "p90"),
    [
        ("all", "total", 0.19, 0.62),
        ("all", "token", 0.24, 0.64),
        ("all", "first_alone", 0.45, 1.1),
        ("all", "first_load", 0.55, 1.6),
        ("sglang", "total", 0.19, 0.5),
        ("consumer", "total", 0.18, 0.5),
        ("experts", "total", 0.22, 0.58),
        ("many_users", "total", 0.35, 0.7),
        ("nvidia_data_centre", "total", 0.14, 0.5),
        ("one_user", "total", 0.14, 0.4),
    ],
)
def test_sites_left_out_are_predicted_as_is_promised(
    report: ServingAccuracyReport, group: str, figure: str, median: float, p90: float
) -> None:
    found = row(report, group, figure)
    assert found.median <= median and found.p90 <= p90, found


def test_bands_hold_what_they_say_and_totals_lean_to_no_side(report: ServingAccuracyReport) -> None:
    for figure in ("total", "token"):
        found = row(report, "all", figure)
        assert 0.75 <= found.inside <= 0.90 and found.band <= 2.8
        assert abs(found.signed_median) <= 0.12


def test_rows_that_formulas_cite_judge_nothing(shipped_snapshot: Snapshot) -> None:
    runs = published_runs()
    cited = [run for run in runs if run.calibrates]
    assert len(cited) == 88 and all("first" not in run.measured for run in cited)
    stack = fitted_stack(shipped_snapshot)
    assert all(run.fitted for run in stack.runs if not run.calibrates)
    assert report_stack(shipped_snapshot) is None or not any(
        run.fitted for run in report_stack(shipped_snapshot).runs
    )  # type: ignore[union-attr]


def test_no_run_that_really_ran_is_refused_a_seat(shipped_snapshot: Snapshot) -> None:
    stack = fitted_stack(shipped_snapshot)
    found = stack.served()
    for run, running, total in zip(stack.runs, found.running, found.tokens_per_s, strict=True):  # type: ignore[arg-type]
        assert running >= 1.0 and total > 0.0, run.id


def test_a_report_is_kept_and_read_again(report: ServingAccuracyReport) -> None:
    assert canonical(load(ServingAccuracyReport, canonical(report))) == canonical(report)


def test_a_fault_of_the_file_names_its_line() -> None:
    row = dict.fromkeys(("id", "cards"), "x")
    with pytest.raises(RunFault, match="runs.csv, line 7"):
        read([(7, row)], "runs.csv")
