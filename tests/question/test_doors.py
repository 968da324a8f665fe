"""A question is the same through every door: form, address, page, JSON, flags, frozen, reopened, remedied."""

from __future__ import annotations

import argparse
import json
import re
import shutil
from collections.abc import Iterator
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.catalog.snapshot import Snapshot
from app.commands import question as flags
from app.core.fields import Field
from app.core.question import ShortlistQuestion
from app.core.question_fields import FIELDS
from app.main import create_app
from app.services.questions import parse_shortlist
from app.settings import Settings
from app.web.answers import is_card
from app.web.form import (
    BY_NAME,
    FORM,
    applies,
    build_request,
    canonical_query,
    changed_query,
    form_query,
    is_many,
    number_of,
    read_form,
    text_of_number,
)
from app.web.models import chinese_vendors, family_of

DAY = date(2026, 11, 30)
Body = dict[str, Any]
Pairs = list[tuple[str, str]]
LLAMA, RESNET = "llama-3.1-8b", "resnet-50"
CARDS = ("rtx4090", "RTX 4090", "l20", "rtx3090", "a100-sxm4-80gb")


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Iterator[TestClient]:
    """The whole application over the seeded catalogue."""
    path = seeded_database.with_name("doors.db")
    shutil.copyfile(seeded_database, path)
    many = Settings(database_url=f"sqlite:///{path}", comparisons_per_hour=1_000, comparisons_per_day=1_000)
    with TestClient(create_app(many)) as client:
        yield client


@pytest.fixture(scope="module")
def snapshot(site: TestClient) -> Snapshot:
    found: Snapshot = site.app.state.store.snapshot()  # type: ignore[attr-defined]
    return found


def texts(one: Field) -> st.SearchStrategy[list[str]]:
    """What somebody may type into a field."""
    if is_many(one):
        return st.lists(st.sampled_from(one.choices), min_size=1, unique=True)
    if one.kind in ("integer", "number", "fraction") and one.limits is not None:
        low, high = one.limits.low, min(one.limits.high, 2e9)
        if one.kind == "fraction":
            low, high = low * 100, high * 100
        numbers: st.SearchStrategy[Any] = st.integers(int(low) + 1, int(high))
        if not one.limits.integer:
            numbers |= st.floats(max(low, 1e-3), high, allow_nan=False).map(lambda v: float(f"{v:.9g}"))
        if one.choices:
            numbers = st.sampled_from(one.choices)
        return numbers.map(lambda v: [text_of_number(v)])
    found: dict[str, st.SearchStrategy[str]] = {
        "flag": st.just("1"),
        "answer": st.sampled_from(("yes", "no")),
        "level": st.sampled_from(("no", "yes", "selective")),
        "version": st.just("550.54" if one.name == "driver" else "0.11.0"),
        "size": st.sampled_from(("224", "800x1333", "512 × 512")),
        "counts": st.sampled_from(("1", "2, 4", "1 2 8")),
        "cards": st.lists(st.sampled_from(CARDS), min_size=1, max_size=4).map(", ".join),
        "vendors": st.sampled_from(("NVIDIA", "chinese", "NVIDIA, AMD")),
        "frameworks": st.sampled_from(("pytorch", "tensorflow==2.15, pytorch")),
        "prices": st.sampled_from(("rtx4090 = 14,000.5", "RTX 4090 = 1.2万\nl20=25000")),
        "choices": st.sampled_from(one.choices or ("",)),
        "day": st.just("2026-11-30"),
    }
    if one.kind == "choice":
        return st.sampled_from(one.choices).map(lambda v: [str(v)])
    return found[one.kind].map(lambda v: [v])


MODEL_TEXTS = ("model", "family", "config")
_OPTIONAL = [
    one for one in FORM if one.name not in (*MODEL_TEXTS, "task", "precision", "data", "tensor", "pipeline")
]


@st.composite
def questions(draw: st.DrawFn) -> Pairs:
    """A filled form: a model, a task it can do, and some other fields."""
    model = draw(
        st.sampled_from(
            (
                {"model": LLAMA},
                {"model": "7B", "family": "decoder"},
                {"model": "0.335B", "family": "encoder"},
                {"model": RESNET},
                {
                    "config": json.dumps(
                        {"family": "decoder", "layers": 4, "hidden_size": 512, "parameters": 3e7}
                    )
                },
            )
        )
    )
    task = draw(st.sampled_from(("inference", "training", "lora")))
    if model.get("model") == RESNET and task == "lora":
        task = "training"
    pairs = [*model.items(), ("task", task), ("precision", "bf16")]
    for one in draw(st.lists(st.sampled_from(_OPTIONAL), max_size=9, unique_by=lambda one: one.name)):
        pairs += [(one.name, text) for text in draw(texts(one))]
    return pairs


def body_of(pairs: Pairs, snapshot: Snapshot) -> tuple[Body, str]:
    """The body of a filled form and its address."""
    state = read_form(pairs)
    family = family_of(state, snapshot)
    body, faults = build_request(
        state,
        family=family,
        chinese_vendors=chinese(snapshot),
        is_card=lambda name: is_card(snapshot, name),
    )
    assert faults == []
    return body, canonical_query(state, family=family)


def chinese(snapshot: Snapshot) -> tuple[str, ...]:
    return chinese_vendors(snapshot)


def asked(body: Body, snapshot: Snapshot) -> ShortlistQuestion | tuple[tuple[str, str], ...]:
    """What a body asks, or the faults that it has: of those, too, none may come or go on the way."""
    from app.core.faults import InputFault

    try:
        return parse_shortlist(body, snapshot, DAY).question
    except InputFault as fault:
        return tuple((error.pointer, error.code) for error in fault.errors)


def command_line(body: Body, directory: Path) -> list[str]:
    """A body as flags; the model, where it has no flag, stands in the file of `--request`."""
    said: list[str] = []
    model = body["workload"]["model"]
    if "preset" in model:
        said += ["--model", model["preset"]]
    else:
        path = directory / "model.json"
        path.write_text(json.dumps({"workload": {"model": model}}))
        said += ["--request", str(path)]
    for one in FIELDS:
        value: Any = body
        for part in one.place.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if value is None or one.place.startswith("workload.model") or one.place == "budget.currency":
            continue
        said += _flag(one, value, body)
    return said


def _flag(one: Field, value: Any, body: Body) -> list[str]:
    option = flags.option_of(one)
    if one.place == "budget.amount":
        return [f"{option}={text_of_number(value)}{body['budget']['currency']}"]
    if one.kind == "flag":
        return [option]
    if one.kind == "prices":
        return [f"{option}={card}={text_of_number(price)}" for card, price in value.items()]
    if one.kind in ("choices", "cards", "vendors", "frameworks"):
        return [f"{option}={item}" for item in value]
    if one.kind == "counts":
        return [f"{option}={','.join(map(str, value))}"]
    if one.kind == "size":
        return [f"{option}={'x'.join(map(str, value)) if isinstance(value, list) else value}"]
    if isinstance(value, bool):
        return [option, "yes" if value else "no"]
    return [f"{option}={value if isinstance(value, str) else text_of_number(value)}"]


def from_flags(arguments: list[str]) -> Body:
    parser = argparse.ArgumentParser()
    flags.add_workload(parser)
    flags.add_shortlist(parser)
    return flags.body_of(parser.parse_args(arguments))


def test_a_question_is_the_same_through_every_door(snapshot: Snapshot, tmp_path: Path) -> None:
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    @given(pairs=questions())
    def holds(pairs: Pairs) -> None:
        body, query = body_of(pairs, snapshot)
        wanted = asked(body, snapshot)
        # Form -> address -> form.
        assert body_of(parse_qsl(query, keep_blank_values=True), snapshot)[0] == body
        # Address -> JSON.
        assert asked(json.loads(json.dumps(body)), snapshot) == wanted
        # JSON -> command line.
        said = command_line(body, tmp_path)
        assert asked(from_flags(said), snapshot) == wanted, said
        # Frozen -> reopened with today's data, the day apart.
        frozen = {**json.loads(json.dumps(body)), "as_of": DAY.isoformat()}
        address = form_query(frozen, chinese(snapshot))
        reopened, _ = body_of(parse_qsl(address, keep_blank_values=True), snapshot)
        assert asked(reopened, snapshot) == asked(frozen, snapshot), address

    holds()


class Controls(HTMLParser):
    """The fields of a page's form as a browser would send them."""

    def __init__(self) -> None:
        super().__init__()
        self.pairs: Pairs = []
        self.inside = False
        self.select = self.area = ""
        self.links: dict[str, str] = {}

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        has = dict(attributes)
        if tag == "form":
            self.inside = has.get("id") == "ask"
        if tag == "a" and re.search(r"[?&](lang|currency|theme)=[a-zA-Z]+$", has.get("href") or ""):
            self.links[str(has["href"]).rsplit("&", 1)[-1].rsplit("?", 1)[-1]] = str(has["href"])
        if not self.inside:
            return
        name, value = has.get("name") or "", has.get("value") or ""
        if tag == "input" and (has.get("type") not in ("radio", "checkbox") or "checked" in has):
            self.pairs.append((name, value))
        self.select = name if tag == "select" else self.select
        if tag == "option" and self.select and "selected" in has:
            self.pairs.append((self.select, value))
        self.area = name if tag == "textarea" else ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self.inside = False
        if tag == "select":
            self.select = ""

    def handle_data(self, data: str) -> None:
        if self.area:
            self.pairs.append((self.area, data.lstrip("\n")))
            self.area = ""


ON_PAGES: list[Pairs] = [
    [("model", LLAMA), ("max_num_seqs", "512"), ("gpus", "RTX 4090, l20, rtx3090"), ("work", "0.123457")],
    [("model", "7B"), ("vendor", "NVIDIA, AMD"), ("budget", "123456.789"), ("budget_currency", "USD")],
    [("model", LLAMA), ("task", "lora"), ("offload_experts", "1"), ("gradient_checkpointing", "selective")],
    [("model", RESNET), ("task", "training"), ("precision", "fp16"), ("image_size", "800x1333")],
    [
        ("model", LLAMA),
        ("prices", "RTX 4090 = 14000\nl20 = 25000.5"),
        ("framework", "tensorflow"),
        ("framework_version", "2.15"),
    ],
    [
        ("model", LLAMA),
        ("utilisation", "57.3"),
        ("residual", "12.34"),
        ("electricity", "0.123456789"),
        ("months", "17"),
    ],
]


@pytest.mark.parametrize("pairs", ON_PAGES, ids=lambda pairs: pairs[-1][0])
def test_a_page_holds_its_question_and_its_switches_keep_it(
    pairs: Pairs, site: TestClient, snapshot: Snapshot
) -> None:
    body, query = body_of(pairs, snapshot)
    page = Controls()
    page.feed(site.get(f"/?{query}&lang=en").text)
    assert body_of([p for p in page.pairs if p[0] in {*BY_NAME, "framework_version"}], snapshot)[0] == body
    assert {"lang=zh", "currency=USD", "theme=dark"} <= set(page.links)
    for link in page.links.values():
        switched = parse_qsl(urlsplit(link).query, keep_blank_values=True)
        assert body_of(switched, snapshot)[0] == body, link


def test_the_switches_of_a_changed_form_keep_what_was_typed(site: TestClient, snapshot: Snapshot) -> None:
    typed = [("model", LLAMA), ("batch_size", "37"), ("work", "200"), ("gpus", "RTX 4090, l20")]
    part = site.get("/", params=dict(typed), headers={"hx-request": "true"})
    page = Controls()
    page.feed(part.text)
    assert {"lang=zh", "currency=USD", "theme=dark"} <= set(page.links)
    for link in page.links.values():
        pairs = parse_qsl(urlsplit(link).query, keep_blank_values=True)
        assert body_of(pairs, snapshot)[0] == body_of(typed, snapshot)[0], link
    # What cannot be read is kept too, and the fault is said again in the other language.
    refused = site.get("/", params={"model": LLAMA, "batch_size": "many"}, headers={"hx-request": "true"})
    page = Controls()
    page.feed(refused.text)
    assert refused.status_code == 422 and "batch_size=many" in page.links["lang=zh"]


@pytest.mark.parametrize("pairs", [[], *ON_PAGES], ids=lambda pairs: pairs[-1][0] if pairs else "opening")
def test_a_frozen_question_is_reopened_as_it_was(pairs: Pairs, site: TestClient, snapshot: Snapshot) -> None:
    made = site.post("/c", data=_form(pairs or [("model", "Qwen3-14B")]), follow_redirects=False)
    assert made.status_code == 303, made.text[:500]
    opened = site.get(f"{made.headers['location']}/open", follow_redirects=False)
    assert opened.status_code == 303 and "e+" not in opened.headers["location"]
    again = parse_qsl(urlsplit(opened.headers["location"]).query, keep_blank_values=True)
    wanted = body_of(pairs, snapshot)[0] if pairs else build_request(read_form([]), family="decoder")[0]
    assert asked(body_with_model(again, snapshot), snapshot) == asked(wanted, snapshot)


def body_with_model(pairs: Pairs, snapshot: Snapshot) -> Body:
    if not {"model", "config"} & {name for name, _ in pairs}:
        pairs = [("model", "Qwen3-14B"), *pairs]
    return body_of(pairs, snapshot)[0]


def _form(pairs: Pairs) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name, value in pairs:
        found.setdefault(name, []).append(value)
    return found


REMEDIED: list[Pairs] = [
    [("model", "llama-3.1-70b"), ("batch_size", "1"), ("counts", "1, 2, 4"), ("budget", "90000")],
    [("model", LLAMA), ("budget", "20000"), ("work", "20"), ("vendor", "NVIDIA"), ("max_power_w", "300")],
    [
        ("model", LLAMA),
        ("task", "training"),
        ("batch_size", "4"),
        ("needs", "ecc"),
        ("budget", "40000"),
        ("budget_currency", "USD"),
    ],
]


def applied(body: Body, change: Body) -> Body:
    """A body with a remedy's change, as docs/api.md says: dotted paths and what to put there."""
    changed: Body = json.loads(json.dumps(body))
    for place, value in change.items():
        if place == "count":
            place, value = "counts", [value]
        *parents, last = place.split(".")
        at = changed
        for part in parents:
            at = at.setdefault(part, {})
        at[last] = value
    if "workload.parallelism" in change:
        changed.pop("counts", None)
    return changed


@pytest.mark.parametrize("pairs", REMEDIED, ids=lambda pairs: pairs[0][1])
def test_each_remedy_applied_changes_what_it_says_and_nothing_else(
    pairs: Pairs, site: TestClient, snapshot: Snapshot
) -> None:
    body, _ = body_of(pairs, snapshot)
    state = read_form(pairs)
    family = family_of(state, snapshot)
    answer = site.post("/api/v1/shortlist", json=body | {"as_of": DAY.isoformat()}).json()
    tried = 0
    for item in answer["rejected"]:
        change = (item.get("remedy") or {}).get("change") or {}
        if not change or None in change.values() or "workload.model" in change:
            continue
        query = changed_query(state, change, family)
        assert query is not None, change
        again, _ = body_of(parse_qsl(query, keep_blank_values=True), snapshot)
        assert asked(again, snapshot) == asked(applied(body, change), snapshot), (change, query)
        tried += 1
    assert tried > 5


@pytest.mark.parametrize("currency", ["CNY", "USD"])
def test_a_budget_raised_to_what_is_needed_is_enough(site: TestClient, currency: str) -> None:
    pairs = [("model", LLAMA), ("budget", "900"), ("budget_currency", currency), ("as_of", DAY.isoformat())]
    answer = site.get("/result.json?" + urlencode(pairs)).json()
    item = next(r for r in answer["rejected"] if r["code"] == "budget" and r["remedy"])
    query = changed_query(read_form(pairs), item["remedy"]["change"], "decoder")
    assert query is not None and "e%2B" not in query
    then = site.get(f"/result.json?{query}").json()
    stopped = [r for r in then["rejected"] if r["gpu"]["id"] == item["gpu"]["id"] and r["code"] == "budget"]
    assert stopped == []


def test_names_of_cards_keep_their_spaces(snapshot: Snapshot) -> None:
    def cards(typed: str) -> list[str]:
        found: list[str] = body_of([("model", LLAMA), ("gpus", typed)], snapshot)[0]["filters"]["gpus"]
        return found

    assert cards("RTX 4090, L20") == ["RTX 4090", "L20"]
    assert cards("rtx4090 l20") == ["rtx4090", "l20"]
    assert cards("GeForce RTX 4090；RTX 3090、L20") == ["GeForce RTX 4090", "RTX 3090", "L20"]
    assert cards("no such card") == ["no such card"]


@settings(max_examples=200, deadline=None)
@given(value=st.floats(1e-9, 1e15, allow_nan=False) | st.integers(0, 10**15))
def test_a_number_goes_into_a_text_and_comes_out_the_same(value: float) -> None:
    text = text_of_number(value)
    assert "e" not in text and float(number_of(text) or 0) == float(value)


def test_an_unknown_parameter_is_said(site: TestClient) -> None:
    page = site.get("/?model=llama-3.1-8b&max_num_sequences=7&lang=en").text
    assert "max_num_sequences" in page and "nobody here reads" in page
    known = site.get("/?model=llama-3.1-8b&max_num_seqs=7&rows=20&lang=en").text
    assert "nobody here reads" not in known
    assert applies(BY_NAME["max_num_seqs"], read_form([]), "decoder")


def test_the_form_reaches_what_the_api_computes(site: TestClient) -> None:
    """2,048 sequences of 32,768 batched tokens move the need of an 8B model by gigabytes."""
    usual = "/result.json?model=llama-3.1-8b&gpus=rtx5090&counts=1&as_of=2026-11-30"
    usual += "&batch_size=1&sequence_length=2048"
    wide = site.get(f"{usual}&max_num_seqs=2048&max_batched_tokens=32768").json()
    need = [a["options"][0]["memory"]["per_gpu_gib"]["expected"] for a in (site.get(usual).json(), wide)]
    assert need[1] - need[0] > 3
