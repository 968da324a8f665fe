"""A frozen comparison keeps its numbers when prices change under it, and says what has moved."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from fastapi.testclient import TestClient
from sqlmodel import Session, select

from app.catalog.tables import PriceRow, SourceRow
from app.catalog.versions import bump

FIGURE = re.compile(r'data-field="([^"]+)" data-value="([^"]*)"')


def add_price(client: TestClient, gpu: str, condition: str, amount: float) -> None:
    """A quarter of an hour's work of the person who keeps prices: one more observation, of today."""
    engine = client.app.state.engine  # type: ignore[attr-defined]
    today = datetime.now(UTC).date()
    with Session(engine) as session:
        source = session.exec(select(SourceRow)).first()
        assert source is not None
        for day in (today, today - timedelta(days=1), today - timedelta(days=2)):
            session.add(
                PriceRow(
                    id=f"added-{gpu}-{day.isoformat()}",
                    gpu_id=gpu,
                    name_as_written=gpu,
                    condition=condition,
                    amount=amount,
                    currency="CNY",
                    per="card",
                    tax="included",
                    region="CN",
                    channel="shop of the test",
                    channel_kind="retail",
                    observed_on=day.isoformat(),
                    n=1,
                    source_id=source.id,
                    quality="high",
                )
            )
        session.commit()
    with engine.begin() as connection:
        bump(connection)


def test_the_link_shows_the_old_numbers_after_a_price_has_changed(client: TestClient) -> None:
    # A price so young that it is read as it is.
    made = client.post("/c", data={"batch_size": "4", "gpus": "rtx5070ti"}, follow_redirects=False)
    address = made.headers["location"]
    before = client.get(address, headers={"accept-language": "en"}).text
    first = client.get("/result.json?batch_size=4&gpus=rtx5070ti").json()["options"][0]
    old = first["price"]["amount_cny"]

    add_price(client, first["gpu"]["id"], first["condition"], round(old * 1.25))

    live = client.get("/result.json?batch_size=4&gpus=rtx5070ti").json()["options"]
    now = next(
        o["price"]["amount_cny"]
        for o in live
        if (o["gpu"]["id"], o["condition"]) == (first["gpu"]["id"], first["condition"])
    )
    assert now == round(old * 1.25), "the calculator counts the new price"
    after = client.get(address, headers={"accept-language": "en"}).text
    assert FIGURE.findall(after) == FIGURE.findall(before)
    assert f'data-value="{float(old)!r}"' in after or f'data-value="{old}"' in after
    assert f"snapshot of {datetime.now(UTC).date().isoformat()}" in after
    moved = re.search(r'<section class="sect" id="since">.*?</section>', after, re.DOTALL)
    assert moved and "+25" in moved[0], "and what has moved is said"
    assert "No price, no card and no version has changed." in before
    chinese = client.get(address, headers={"accept-language": "zh"}).text
    assert f"{datetime.now(UTC).date().isoformat()} 的快照" in chinese
