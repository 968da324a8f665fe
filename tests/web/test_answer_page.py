"""The answer page: actions, advice, renting; what a reader meets beside the ranking."""

from __future__ import annotations

import html
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from app.core.formulas import FORMULAS, evaluate
from app.core.gpu import short_card_name
from app.main import create_app
from app.settings import Settings

DAY = "2026-11-30"
QUESTION = f"/?model=Qwen3-14B&months=36&as_of={DAY}"


@pytest.fixture(scope="module")
def site(seeded_database: Path) -> Iterator[TestClient]:
    path = seeded_database.with_name("answer_page.db")
    shutil.copyfile(seeded_database, path)
    with TestClient(create_app(Settings(database_url=f"sqlite:///{path}"))) as client:
        yield client


def get(site: TestClient, address: str, language: str = "en") -> str:
    answer = site.get(address, headers={"accept-language": language})
    assert answer.status_code == 200, address
    return html.unescape(answer.text)


def test_the_answer_can_be_shared_frozen_compared_and_exported(site: TestClient) -> None:
    page = get(site, QUESTION)
    actions = page.partition('class="acts noprint"')[2].partition("</div>")[0]
    link = re.search(r'href="(/[^"]*)" data-copy=', actions)
    assert link is not None and "months" not in link[1], "the shortest address of the same question"
    shown = re.findall(r'id="o\d+".*?href="/gpus/([^"]+)"', page, re.DOTALL)
    compared = re.search(r'href="/compare\?gpus=([^"]+)"', actions)
    assert compared is not None and compared[1].split(",") == list(dict.fromkeys(shown))[:4]
    assert "Freeze for review" in actions and "/ranking.csv" in actions and "/result.json" in actions


def test_a_form_with_faults_has_no_actions_and_the_script_holds_back_old_ones(site: TestClient) -> None:
    answer = site.get("/?batch_size=-1", headers={"accept-language": "en"})
    assert answer.status_code == 422 and "data-copy" not in answer.text and "/ranking.csv" not in answer.text
    assert 'id="outdated"' in answer.text, "what the script shows above an answer that it holds back"


def test_renting_stands_beside_buying_and_its_figures_open(site: TestClient) -> None:
    address = f"/?model=Qwen3-14B&gpus=rtx4090,rtx3090&as_of={DAY}"
    page = get(site, address)
    part = page.partition('id="rent"')[2].partition("</section>")[0]
    assert "Rent or buy" in part and "month" in part
    path, value = re.search(
        r'data-field="(options\.\d+\.rental\.monthly_cny)" data-value="([\d.]+)"', part
    ).groups()  # type: ignore[union-attr]
    opened = get(site, f"/explain?model=Qwen3-14B&gpus=rtx4090,rtx3090&as_of={DAY}&figure={path}")
    assert "Rent per month" in opened and f"{float(value):,.0f}" in opened and "Provider" in opened
    chinese = get(site, address, "zh")
    assert "租还是买" in chinese and "租同样的卡每月" in chinese


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize(
    "figure",
    ["memory.parts.0.gib", "memory.per_gpu_gib.expected", "fit.margin_gib", "speed.expected",
     "cost.total_cny", "cost.per_unit.amount_cny", "metrics.sustained_tflops_per_1000_cny"],
)  # fmt: skip
def test_an_opened_figure_shows_its_formula_and_operands(site: TestClient, figure: str, lang: str) -> None:
    address = f"model=Qwen3-14B&gpus=rtx4090,rtx3090&as_of={DAY}&acquisition=buy"
    body = site.get(f"/result.json?{address}").json()["options"][0]
    for step in figure.split("."):
        body = body[int(step)] if isinstance(body, list) else body[step]
    opened = get(site, f"/explain?{address}&figure=options.0.{figure}", lang)
    line = re.search(r'<p class="f"><code>([^<]+)</code>', opened)
    assert line
    expression = html.unescape(line.group(1))
    rows = re.findall(r'<code>(\w+)</code></th><td class="n" data-value="([^"]+)">([^<]+)</td>', opened)
    found = evaluate(expression, {name: float(value) for name, value, _ in rows})
    assert found == pytest.approx(body, rel=1e-6)
    printed = evaluate(expression, {name: float(shown.replace(",", "")) for name, _, shown in rows})
    assert printed == pytest.approx(body, rel=1e-3), "with the digits that are shown"
    meanings = re.findall(r"<td>([^<]+)(?:<br>[^\n]*)?</td></tr>", opened)
    assert len(meanings) >= len(rows)
    if lang == "zh":
        assert all(re.search(r"[\u4e00-\u9fff]", meaning) for meaning in meanings)


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        (
            "model=resnet-50&task=training&batch_size=64&precision=fp16",
            ("image_size", "batch_size", "optimizer"),
        ),
        (
            "model=llama-3.1-8b&task=lora&batch_size=1&sequence_length=2048",
            ("lora_rank", "lora_targets", "optimizer"),
        ),
    ],
)
def test_training_asks_its_own_fields_without_opening_more(
    site: TestClient, query: str, shown: tuple[str, ...]
) -> None:
    before_more = get(site, f"/?{query}").partition('id="fields"')[2].partition('id="more-run"')[0]
    assert all(f'id="{name}"' in before_more for name in shown)


def test_sections_and_formulas_of_the_method_are_in_chinese(site: TestClient) -> None:
    page = get(site, "/method", "zh")
    heads = re.findall(r"<h2>([^<]+)</h2>", page)
    assert {"并行方案", "结论有多稳"} <= set(heads) and not {"plan", "robustness", "verify"} & set(heads)
    total = FORMULAS["cost.total"].expression
    assert total not in page and "总成本 = 显卡 + 主机 + 电费" in page


def test_the_empty_comparison_offers_cards_that_are_there(site: TestClient) -> None:
    page = get(site, "/compare")
    starts = re.findall(r'<li><a href="(/compare\?[^"]+)">', page)
    assert len(starts) >= 4
    for address in starts:
        assert "Which cards do you want to compare?" not in get(site, address)


def test_a_module_is_said_to_need_its_board(site: TestClient) -> None:
    # Loose it has no price; whoever has one of his own is told what else it needs.
    page = get(site, f"/?model=Qwen3-14B&gpus=h20-141gb&counts=1&as_of={DAY}&prices=h20-141gb%3D70000")
    assert (
        "no plug-in card" in page
        and "GeForce" not in page.partition('id="ranking"')[2].partition("</section>")[0]
    )


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("2 × GeForce RTX 4090 D (used)", "2 × RTX 4090 D (used)"),
        ("Radeon RX 7900 XTX", "RX 7900 XTX"),
        ("Radeon Instinct MI50 32GB", "Radeon Instinct MI50 32GB"),
        ("NVIDIA L20", "L20"),
        ("MetaX C500 PCIe", "MetaX C500 PCIe"),
    ],
)
def test_cards_are_named_briefly(name: str, short: str) -> None:
    assert short_card_name(name) == short


def test_faulty_rows_and_faults_are_counted_apart(site: TestClient) -> None:
    rows = ("no-such-card,abc,CNY,new,yesterday", "rtx4090,15000,CNY,new,2026-11-01")
    table = "\n".join(("gpu,amount,currency,condition,observed_on", *rows))
    answer = site.post(
        "/prices/import",
        data={"table": table, "source": "test"},
        headers={"accept-language": "en"},
    )
    text = html.unescape(answer.text)
    assert answer.status_code == 422 and "One row is at fault; nothing was stored." in text
    assert re.search(r"\d faults in all\.", text)
