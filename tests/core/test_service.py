"""What users of a served model get, and that stricter goals never let anything in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.core.decide.shortlist import rank
from app.core.gpu_table import GpuTable
from app.core.question import Budget, Filters, Service, ShortlistQuestion, Work
from app.core.workload import Workload
from tests.core.cards import ALL_PRICES, GPUS, HOSTS, LLAMA_8B, LLAMA_70B

TABLE = GpuTable.from_gpus(GPUS)
CHAT = Workload(LLAMA_8B, batch_size=16, sequence_length=4096, output_length=256.0)
BIG = replace(CHAT, model=LLAMA_70B, precision="fp8", batch_size=32)
DRAWS = 500


def ask(run: Workload, **fields: object):  # type: ignore[no-untyped-def]
    question = ShortlistQuestion(run, **{"limit": 200, **fields})  # type: ignore[arg-type]
    return rank(question, TABLE, GPUS, ALL_PRICES, hosts=HOSTS)


def found(run: Workload, **fields: object) -> set[tuple[str, int, str]]:
    return {(o.gpu.id, o.count, o.condition) for o in ask(run, **fields).options}


def test_an_option_says_what_each_user_gets() -> None:
    option = ask(CHAT, service=Service()).options[0]
    assert option.service is not None and option.service.met
    assert option.service.users == 16
    assert option.service.tokens_per_s_per_user == pytest.approx(option.speed.expected / 16)
    assert option.service.tokens_per_s_per_user >= 8.0
    assert option.service.first_token_s <= 10.0


def test_what_holds_the_bytes_and_serves_nobody_is_rejected_with_what_it_reaches() -> None:
    answer = ask(BIG, service=Service(tokens_per_s_per_user=40.0), counts=(4, 8))
    slow = [r for r in answer.rejected if r.code == "service"]
    assert slow
    for entry in slow:
        assert entry.text.params["tokens_per_s_per_user"] < 40.0
        assert entry.remedy is not None
        eased_goals = {name.removeprefix("service."): goal for name, goal in entry.remedy.change.items()}
        eased = ask(BIG, service=Service(**eased_goals), counts=(4, 8))
        assert entry.gpu.id not in {r.gpu.id for r in eased.rejected if r.code == "service"}


def test_a_plan_that_meets_the_goal_is_taken_before_a_faster_one_that_does_not() -> None:
    """Pipelines give much in all and little to each; the plan is searched until the goal is met."""
    free = {(o.gpu.id, o.count): o for o in ask(BIG, counts=(8,)).options}
    goal = Service(tokens_per_s_per_user=None, first_token_s=1.0)
    for option in ask(BIG, counts=(8,), service=goal).options:
        assert option.service is not None and option.service.first_token_s <= 1.0
        assert option.speed.expected <= free[option.gpu.id, option.count].speed.expected * (1 + 1e-9)


def test_training_and_a_service_that_is_not_asked_for_know_no_users() -> None:
    trained = replace(CHAT, task="lora", batch_size=1, output_length=None)
    assert ask(trained, service=Service()).options[0].service is None
    assert found(CHAT, service=Service(tokens_per_s_per_user=None, first_token_s=None)) == found(CHAT)


def draw(rng: np.random.Generator) -> tuple[Workload, dict[str, object]]:
    work = replace(
        CHAT,
        model=LLAMA_8B if rng.random() < 0.7 else LLAMA_70B,
        precision=str(rng.choice(["bf16", "fp8", "int4"])),
        batch_size=int(rng.choice([1, 2, 8, 16, 32, 64])),
        sequence_length=int(rng.choice([512, 2048, 8192])),
    )
    fields: dict[str, object] = {"counts": (1, 2, 4, 8)}
    return work, fields


@pytest.mark.parametrize("limit", ["latency", "speed", "wait", "budget", "power", "deadline"])
def test_a_stricter_limit_never_adds_an_option(limit: str) -> None:
    rng = np.random.default_rng(len(limit))
    tried = 0
    for _ in range(DRAWS // 6 + 1):
        work, fields = draw(rng)
        strict, loose = sorted(rng.uniform(0.05, 1.0, 2).tolist())
        if limit == "latency":
            asked = [(replace(work, latency_limit_ms=share * 60.0), fields) for share in (strict, loose)]
        elif limit == "deadline":
            job = {**fields, "work": Work(1e9, "tokens")}
            asked = [(work, {**job, "deadline_hours": share * 2000.0}) for share in (strict, loose)]
        else:
            made = {
                "speed": lambda s: {"service": Service(tokens_per_s_per_user=2.0 / s, first_token_s=None)},
                "wait": lambda s: {"service": Service(tokens_per_s_per_user=None, first_token_s=2.0 * s)},
                "budget": lambda s: {"budget": Budget(300_000.0 * s)},
                "power": lambda s: {"filters": Filters(max_power_w=3000.0 * s)},
            }[limit]
            asked = [(work, {**fields, **made(share)}) for share in (strict, loose)]
        few, many = (found(w, **f) for w, f in asked)
        assert few <= many, (limit, work)
        tried += bool(many - few)
    assert tried


def test_a_limit_of_time_per_token_is_kept_or_not_without_a_gap() -> None:
    """24, 23, 22, 21, 20, 18 ms: what keeps a limit keeps each looser one."""
    before: set[tuple[str, int, str]] = set()
    for limit in (18.0, 20.0, 21.0, 22.0, 23.0, 24.0, 40.0, 80.0):
        now = found(replace(BIG, latency_limit_ms=limit), counts=(4, 8))
        assert before <= now
        before = now
    assert before


def test_an_explicit_deadline_only_tightens() -> None:
    """Monthly work of 804 hours fits no month, and a deadline of 5,000 hours does not change that."""
    job = Work(5e9, "tokens")
    assert found(CHAT, work=job, deadline_hours=5000.0) <= found(CHAT, work=job)


def test_a_price_that_rises_never_lifts_its_card() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40):
        work, fields = draw(rng)
        options = ask(work, **fields).options
        if not options:
            continue
        chosen = options[int(rng.integers(len(options)))]
        dearer = {
            key: replace(p, **{n: getattr(p, n) * 1.3 for n in ("amount", "amount_cny", "expected_cny")})
            if key == (chosen.gpu.id, chosen.condition)
            else p
            for key, p in ALL_PRICES.items()
        }
        question = ShortlistQuestion(work, limit=200, **fields)  # type: ignore[arg-type]
        after = rank(question, TABLE, GPUS, dearer, hosts=HOSTS).options
        places = [
            [(o.gpu.id, o.count) for o in listed].index((chosen.gpu.id, chosen.count))
            for listed in (options, after)
        ]
        assert places[1] >= places[0]


def test_a_spare_machine_comes_with_its_cards() -> None:
    plain = {(o.gpu.id, o.count): o for o in ask(CHAT).options}
    spared = {(o.gpu.id, o.count): o for o in ask(CHAT, service=Service(spare_hosts=1)).options}
    one, kept = plain["rtx4090", 2], spared["rtx4090", 2]
    assert kept.cost.purchase_cny == 2 * one.cost.purchase_cny
    # The first machine is there, the spare one is bought.
    assert (one.cost.host_cny, kept.cost.host_cny) == (0, 23_674)
    assert kept.host is not None and (kept.host.count, kept.host.spare) == (2, 1)
    assert kept.speed.expected == one.speed.expected
    eight, more = plain["rtx4090", 8], spared["rtx4090", 8]
    assert more.cost.purchase_cny == 2 * eight.cost.purchase_cny
    assert more.cost.host_cny == 2 * 143_000
