"""Money, against worked examples."""

from __future__ import annotations

import numpy as np
import pytest

from app.core.decide.cost import (
    break_even_month,
    energy_kwh,
    ownership,
    work_hours,
)
from app.core.faults import InputFault
from app.core.question import Economics, Work


def test_a_day_of_350_w():
    # 350 W x 24 h x 0.8 yuan/kWh = 6.72 yuan at load 1 and PUE 1.
    assert float(energy_kwh(350, 24) * 0.8) == pytest.approx(6.72)
    assert float(energy_kwh(350, 24, pue=1.5) * 0.8) == pytest.approx(10.08)


def test_parts_add_up():
    economics = Economics(
        months=36, hours_per_month=730, electricity_cny_per_kwh=0.8, pue=1.4, utilisation=0.6, residual=0.2
    )
    costs = ownership(economics, 100_000.0, 18_000.0, 900.0, 500.0, 1e6)
    hours = 36 * 730 * 0.6
    assert costs.energy_kwh == pytest.approx(0.9 * 1.4 * hours)
    assert costs.energy_cny == pytest.approx(0.9 * 1.4 * hours * 0.8)
    assert costs.residual_cny == pytest.approx(20_000)
    assert costs.total_cny == pytest.approx(100_000 + 18_000 + float(costs.energy_cny) - 20_000)
    assert costs.per_hour_cny == pytest.approx(float(costs.total_cny) / hours)
    assert costs.per_unit_cny == pytest.approx(float(costs.per_hour_cny) / (500 * 3600) * 1e6)


def test_with_a_given_work_energy_and_unit_cost_follow_the_busy_hours():
    economics = Economics()
    costs = ownership(economics, 10_000.0, 0.0, 1000.0, 100.0, 1e6, busy_hours=50.0)
    assert costs.energy_kwh == pytest.approx(1.0 * 1.4 * 50)
    # Units made: 100/s x 50 h; the whole total pays for them.
    assert costs.per_unit_cny == pytest.approx(float(costs.total_cny) / (100 * 50 * 3600) * 1e6)


def test_costs_broadcast_and_unknown_stays_unknown():
    costs = ownership(
        Economics(),
        np.array([[10_000.0], [np.nan]]),
        0.0,
        np.array([300.0, 600.0]),
        np.array([1.0, 2.0]),
        1e6,
    )
    assert costs.total_cny.shape == (2, 2)
    assert np.isfinite(costs.total_cny[0]).all()
    assert np.isnan(costs.total_cny[1]).all()


def test_no_speed_no_unit_cost_and_no_warning():
    costs = ownership(Economics(utilisation=0.0), 10_000.0, 0.0, 300.0, 0.0, 1e6)
    assert not np.isfinite(costs.per_unit_cny)


def test_hours_of_a_work():
    assert float(work_hours(Work(3.6e9, "tokens"), 1000.0, "tokens_per_s")) == pytest.approx(1000.0)
    assert float(work_hours(Work(40, "hours"), 1000.0, "tokens_per_s")) == 40
    # 1000 samples of 3600 tokens at 1000 tokens/s: one hour.
    assert float(work_hours(Work(1000, "samples"), 1000.0, "tokens_per_s", 3600)) == pytest.approx(1.0)
    with pytest.raises(InputFault, match="work_unit_does_not_match") as caught:
        work_hours(Work(10, "images"), 1000.0, "tokens_per_s")
    assert caught.value.errors[0].params == {"unit": "images", "units": ["tokens", "hours"]}


def test_hours_of_a_speech_model_are_hours_of_audio():
    # 1,000 hours of audio at 50 times real time: 20 hours of running.
    assert float(work_hours(Work(1000, "hours"), 50.0, "realtime_factor")) == pytest.approx(20.0)
    with pytest.raises(InputFault, match="work_unit_does_not_match") as caught:
        work_hours(Work(10, "tokens"), 50.0, "realtime_factor")
    assert caught.value.errors[0].params["units"] == ["hours"]


def test_buying_pays_back_without_counting_depreciation_twice():
    # 120,000 yuan against 12,000 a month of rent and 2,000 a month to run: twelve months.
    assert break_even_month(120_000, 2_000, 12_000) == pytest.approx(12.0)
    assert break_even_month(120_000, 12_000, 12_000) is None
