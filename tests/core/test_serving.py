"""A serving engine: what holds whatever the constants, published probes, and how well it fits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.core.gpu_table import GpuTable, compute_rate
from app.core.resolve import resolve
from app.core.serving.engine import serve
from app.core.serving.facts import facts, setting_of
from app.core.serving.load import Load
from app.core.serving.rates import rates
from app.core.serving.terms import Served
from app.core.speed.terms import Plans
from app.core.workload import Parallelism, Workload
from tests.core.cards import GPUS, LLAMA_8B

TABLE = GpuTable.from_gpus(GPUS)
ONE = (Parallelism(),)
SPLITS = (
    Parallelism(),
    Parallelism(tensor=2),
    Parallelism(tensor=4),
    Parallelism(data=2),
    Parallelism(pipeline=2),
)


def served(load: Load, plans: tuple[Parallelism, ...] = ONE, **asked: object) -> Served:
    """What cards as rows and plans as columns do with a load."""
    length = float(np.max(load.prompt)) + float(np.max(load.output))
    work = Workload(model=LLAMA_8B, engine="vllm", precision="bf16", sequence_length=length, **asked)  # type: ignore[arg-type]
    work, _ = resolve(work)
    cards = TABLE.column()
    rate = compute_rate(TABLE, work.format)
    peak = type(rate)(*(getattr(rate, n)[:, np.newaxis] for n in ("tflops", "fallback", "lacks_type")))
    found = facts(work, Plans.of(plans), cards, peak, load)
    return serve(found, rates(setting_of(work), cards, peak), load)


@pytest.mark.parametrize("users", [1.0, 7.0, 64.0, 500.0, 4000.0])
@pytest.mark.parametrize("prompt", [16.0, 900.0, 20000.0])
@pytest.mark.parametrize("output", [2.0, 300.0, 2000.0])
def test_time_per_token_first_token_and_total_agree(users: float, prompt: float, output: float) -> None:
    found = served(Load(users=users, prompt=prompt, output=output), SPLITS)
    took = found.first_token_s + (output - 1.0) * found.token_s
    under_way = found.requests_per_s * took
    known = np.isfinite(under_way)
    assert np.allclose(under_way[known], np.broadcast_to(users, under_way.shape)[known], rtol=0.02)


def test_a_rate_of_arrivals_below_capacity_is_the_total() -> None:
    found = served(Load(users=0.0, prompt=500.0, output=200.0, rate_s=0.2))
    known = np.isfinite(found.tokens_per_s) & (np.asarray(found.at_limit) == 0.0)
    assert known.any()
    assert np.allclose(found.tokens_per_s[known], 0.2 * 200.0, rtol=0.02)


@pytest.mark.parametrize("plans", [ONE, SPLITS])
def test_more_users_never_wait_less(plans: tuple[Parallelism, ...]) -> None:
    before: Served | None = None
    for users in (1.0, 2.0, 3.0, 5.0, 8.0, 13.0, 40.0, 90.0, 250.0, 260.0, 900.0, 5000.0):
        now = served(Load(users=users, prompt=700.0, output=300.0), plans)
        if before is not None:
            for name in ("token_s", "first_token_s", "step_s"):
                new, old = (np.nan_to_num(getattr(s, name)) for s in (now, before))
                assert (new >= old * (1.0 - 1e-9)).all(), (users, name)
            total, old = (np.nan_to_num(s.tokens_per_s) for s in (now, before))
            assert (total >= old * (1.0 - 1e-9)).all(), users
        before = now


@pytest.mark.parametrize("longer", ["prompt", "output"])
def test_longer_requests_never_hold_more_sequences_nor_end_sooner(longer: str) -> None:
    short = Load(users=300.0, prompt=500.0, output=200.0)
    long = replace(short, **{longer: 3000.0})
    one, other = served(short, SPLITS), served(long, SPLITS)
    assert (np.nan_to_num(other.budget.held) <= np.nan_to_num(one.budget.held)).all()
    ends = [
        np.nan_to_num(s.first_token_s + (load.output - 1.0) * s.token_s)
        for s, load in ((one, short), (other, long))
    ]
    assert (ends[1] >= ends[0]).all()


def test_replicas_never_make_it_slower() -> None:
    load = Load(users=600.0, prompt=500.0, output=200.0)
    plans = tuple(Parallelism(data=n) for n in (1, 2, 4, 8))
    total = np.nan_to_num(served(load, plans).tokens_per_s)
    assert (np.diff(total, axis=1) >= 0.0).all()


def test_a_cached_prefix_and_accepted_drafts_help() -> None:
    load = Load(users=32.0, prompt=4000.0, output=300.0)
    plain, cached = served(load), served(replace(load, cached=0.8))
    drafted = served(replace(load, users=1.0, drafted=3.0, accepted=2.5))
    alone = served(replace(load, users=1.0))
    known = np.isfinite(plain.tokens_per_s)
    assert (cached.tokens_per_s[known] > plain.tokens_per_s[known]).all()
    assert (cached.first_token_s[known] < plain.first_token_s[known]).all()
    assert (drafted.token_s[known] < alone.token_s[known]).all()


def test_arrays_and_single_cards_give_the_same() -> None:
    load = Load(users=48.0, prompt=1000.0, output=500.0)
    whole = served(load, SPLITS)
    for column, plan in enumerate(SPLITS):
        one = served(load, (plan,))
        assert np.allclose(whole.token_s[:, column], one.token_s[:, 0], equal_nan=True)
        assert np.allclose(whole.first_token_s[:, column], one.first_token_s[:, 0], equal_nan=True)
