"""The one declaration of columns: nothing is undeclared or undescribed, and a new column takes two places."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.catalog.columns import CATALOG_ROWS, IMPORT_KINDS, KINDS
from app.catalog.columns.__main__ import documented
from app.catalog.columns.cells import FIGURE_LIMITS, FIGURES
from app.catalog.columns.kinds import DataKind
from app.catalog.columns.observations import BENCHMARKS
from app.catalog.db import head_revision
from app.resources import ROOT, resource_path
from tests.catalog.samples import sample_seed, write_seed


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_every_column_is_described_and_can_be_read(kind: DataKind) -> None:
    for column in kind.columns:
        assert column.about or column.note, column.name
        assert column.stored or column.chinese, f"{column.name} is neither stored nor imported"
        assert column.reader != "word" or column.choices, column.name
        assert not column.refers_to or column.refers_to in KINDS, column.name


def test_headers_of_a_kind_name_one_column_each() -> None:
    for kind in IMPORT_KINDS.values():
        for column in kind.imported:
            assert kind.by_header[column.english.replace("_", "")].name == column.name
            assert kind.by_name[column.name].headers[0] == column.english


def test_every_figure_has_limits_and_every_table_a_kind() -> None:
    assert {figure.unit for figure in FIGURES.values()} == set(FIGURE_LIMITS)
    assert all(row in {kind.row for kind in KINDS.values()} for row in CATALOG_ROWS)


def test_a_field_of_a_table_that_no_column_declares_is_refused() -> None:
    with pytest.raises(LookupError, match="interconnect"):
        replace(BENCHMARKS, columns=tuple(c for c in BENCHMARKS.columns if c.name != "interconnect"))


def test_the_readme_of_the_seed_lists_the_columns_as_they_are() -> None:
    text = resource_path("seed_data", "README.md").read_text(encoding="utf-8")
    assert documented(text) == text, "run make columns"


FIELD = (
    '    interconnect: str = ""\n',
    '    cooled_by: str = Field(default="", sa_column_kwargs={"server_default": ""})\n',
)
COLUMN = (
    '        C("interconnect", "互联", "links between the cards"),\n',
    '        C("cooled_by", "散热方式", "how the card was cooled", choices=("", "air", "water")),\n',
)
MIGRATION = """
import sqlalchemy as sa
from alembic import op

revision = "29991231_made_up"
down_revision = "{head}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    with op.batch_alter_table("benchmark") as batch:
        batch.add_column(sa.Column("cooled_by", sa.String(), nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("benchmark") as batch:
        batch.drop_column("cooled_by")
"""
ROUND = """
import json, sys
from datetime import date
from pathlib import Path
from app.catalog.changes import Author
from app.catalog.db import create_engine_from_url, upgrade
from app.catalog.exporting import export_catalog, import_catalog
from app.catalog.importing import ImportOptions, import_file, template
from app.catalog.seed import load_seed
from app.catalog.snapshot_load import load_snapshot

folder = Path(sys.argv[1])
def engine(name):
    made = create_engine_from_url(f"sqlite:///{folder / name}")
    upgrade(made)
    return made

first = engine("first.db")
load_seed(first, folder / "seed")
def send(how):
    heads = "gpu,模型原文,task,value,unit,日期,来源,散热方式"
    text = f"{heads}\\nrtx4090,resnet50,训练,1000,images_per_s,2026-11-01,实验室,{how}\\n"
    options = ImportOptions(today=date(2026, 11, 30))
    return import_file(first, "benchmarks", text.encode(), Author("test"), options)

refused, stored = send("steam"), send("water")
export_catalog(first, folder / "out")
second = engine("second.db")
import_catalog(second, folder / "out", Author("test"))
from fastapi.testclient import TestClient
from app.main import create_app
from app.settings import Settings

settings = Settings(database_url=f"sqlite:///{folder / 'second.db'}")
with TestClient(create_app(settings)) as client:
    items = client.get("/api/v1/benchmarks").json()["items"]
    listing = client.get("/benchmarks.csv").text.splitlines()
print(json.dumps({
    "listed": sorted(item["more"]["cooled_by"] for item in items),
    "csv": [listing[0].rsplit(",", 1)[1], sorted(line.rsplit(",", 1)[1] for line in listing[1:])],
    "refused": [(f.field, f.code) for f in refused.faults],
    "stored": stored.stored,
    "template": "散热方式" in template("benchmarks", "zh"),
    "rows": sorted([dict(b.more)["cooled_by"], b.value] for b in load_snapshot(second).benchmarks),
    "same": load_snapshot(first).digest == load_snapshot(second).digest,
}))
"""


def test_a_made_up_column_takes_its_field_its_declaration_and_a_migration(tmp_path: Path) -> None:
    """In a copy of the program: seed, import, store, export and back, its rules in each, and the lists."""
    tree = tmp_path / "tree"
    for name in ("app", "migrations"):
        shutil.copytree(ROOT / name, tree / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("seed_data", "locales", "templates", "static"):
        (tree / name).symlink_to(ROOT / name)
    for path, (after, line) in (("tables.py", FIELD), ("columns/observations.py", COLUMN)):
        place = tree / "app" / "catalog" / path
        text = place.read_text(encoding="utf-8")
        assert text.count(after) == 1
        place.write_text(text.replace(after, after + line), encoding="utf-8")
    migration = MIGRATION.format(head=head_revision())
    (tree / "migrations" / "versions" / "29991231_made_up.py").write_text(migration)
    rows = sample_seed()
    rows["benchmarks.csv"][0]["cooled_by"] = "air"
    write_seed(tmp_path / "seed", rows)
    done = subprocess.run(
        [sys.executable, "-c", ROUND, str(tmp_path)],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": str(tree)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found.pop("rows") == [["", 12.5], ["air", 950.0], ["water", 1000.0]]
    assert found == {
        "refused": [["cooled_by", "unknown_value"]],
        "stored": True,
        "template": True,
        "same": True,
        "listed": ["", "air", "water"],
        "csv": ["cooled_by", ["", "air", "water"]],
    }
