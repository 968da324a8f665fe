"""The import arrows of the design: they point inward, and any other one fails here.

web, api, cli -> services -> catalog | core        web -> charts -> core        all but core -> texts
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
APP = ROOT / "app"

# Modules that know nothing of the layers and that every layer but core and charts may use.
LEAVES = frozenset({"caching", "settings", "errors", "resources", "negotiation", "static_files", "stopping"})
LAYERS: dict[str, frozenset[str]] = {
    "core": frozenset(),
    # Sentences and words: what core says by code, and what the pages, charts and commands say themselves.
    "texts": frozenset({"caching", "core", "resources", "negotiation"}),
    "charts": frozenset({"core", "texts"}),
    "catalog": LEAVES | {"core"},
    "services": LEAVES | {"core", "catalog", "texts"},
    "api": LEAVES | {"core", "services", "middleware", "texts"},
    "web": LEAVES | {"core", "services", "charts", "middleware", "texts"},
    # The command line with its commands; it may start the server and look after the database.
    "cli": LEAVES | {"core", "services", "catalog", "commands", "texts"},
    "commands": LEAVES | {"core", "services", "catalog", "main", "texts"},
    "middleware": frozenset({"errors", "negotiation", "settings", "stopping"}),
    "caching": frozenset(),
    "settings": frozenset(),
    "errors": frozenset(),
    "resources": frozenset(),
    "negotiation": frozenset(),
    "stopping": frozenset(),
    "static_files": frozenset({"resources", "negotiation"}),
}
# What services hand to whoever asks: the catalogue of one version, a value that nobody can change.
VALUES = ("app.catalog.snapshot.Snapshot",)
# Modules that wire the application: they may import the layers, but no layer imports them.
WIRING = frozenset({"main", "runtime", "operations", "error_handlers", "__init__"})
# What core may use beside the standard library.
CORE_LIBRARIES = frozenset({"numpy"})
CORE_FORBIDDEN = frozenset(
    {
        "os",
        "io",
        "random",
        "secrets",
        "socket",
        "sqlite3",
        "subprocess",
        "time",
        "urllib",
        "pathlib",
        "logging",
    }
)


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """Line and full dotted name of everything a file imports, also inside functions."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package = package[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = ".".join([*base, *([node.module] if node.module else [])])
            for alias in node.names:
                # `from app import core` names the layer; `from app.core.x import y` is cut to it later.
                yield node.lineno, f"{stem}.{alias.name}"


def python_files() -> list[Path]:
    return sorted(path for path in APP.rglob("*.py") if "_data" not in path.parts)


def test_arrows_point_inward() -> None:
    wrong = []
    for path in python_files():
        own = module_name(path).split(".")
        layer = own[1] if len(own) > 1 else "__init__"
        if layer in WIRING:
            continue
        assert layer in LAYERS, (
            f"app.{layer} has no place in the layout; see the list in {Path(__file__).name}"
        )
        allowed = LAYERS[layer] | {layer, "__version__"}
        for line, name in imports_of(path):
            parts = name.split(".")
            if name in VALUES and layer in ("web", "api"):
                continue
            if parts[0] == "app" and len(parts) > 1 and parts[1] not in allowed:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {layer} imports {name}")
    assert not wrong, "\n" + "\n".join(wrong)


def test_tables_stay_inside_the_catalog_and_services() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {name}"
        for path in python_files()
        if path.relative_to(APP).parts[0] not in ("catalog", "services")
        for line, name in imports_of(path)
        if name.startswith("app.catalog.tables")
    ]
    assert not wrong, "\n" + "\n".join(wrong)


@pytest.mark.parametrize("folder", ["core", "charts"])
def test_pure_layers_do_no_input_or_output(folder: str) -> None:
    charts = folder == "charts"
    libraries = CORE_LIBRARIES | ({"plotly"} if charts else set())
    # The theme of the charts is a data file beside the module.
    forbidden = CORE_FORBIDDEN - ({"pathlib"} if charts else set())
    wrong = []
    for path in sorted((APP / folder).rglob("*.py")):
        for line, name in imports_of(path):
            top = name.split(".")[0]
            known = top == "app" or top in libraries or top in sys.stdlib_module_names
            if not known or top in forbidden:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {folder} imports {name}")
    assert not wrong, "\n" + "\n".join(wrong)


# Filled while modules are imported, with records and calibrated constants, and never afterwards.
REGISTRIES = frozenset(
    {
        "FORMULAS",
        "_ENGINES",
        "_FRAMEWORKS",
        "_CHOSEN",
        "_STAND_INS",
        "_installed",
        "_filled",
        "DEQUANTIZE_BYTES",
    }
)
CACHING = ("threading", "cachetools", "gc", "functools.lru_cache", "functools.cache", "app.caching")


def empty_containers(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Names of a module that hold an empty dict, list or set: what is put there later is a state."""
    for node in tree.body:
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        value = ast.unparse(node.value)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if value in ("{}", "[]", "dict()", "list()", "set()"):
            yield from ((node.lineno, target.id) for target in targets if isinstance(target, ast.Name))


def test_core_keeps_no_state_and_takes_no_locks() -> None:
    wrong = []
    for path in sorted((APP / "core").rglob("*.py")):
        place = path.relative_to(ROOT)
        wrong += [
            f"{place}:{line}: imports {name}"
            for line, name in imports_of(path)
            if any(name == bad or name.startswith(f"{bad}.") for bad in CACHING)
        ]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        wrong += [
            f"{place}:{line}: {name} is filled while the program runs"
            for line, name in empty_containers(tree)
            if name not in REGISTRIES
        ]
        wrong += [
            f"{place}:{node.lineno}: global {node.names}"
            for node in ast.walk(tree)
            if isinstance(node, ast.Global) and not REGISTRIES.issuperset(node.names)
        ]
    assert not wrong, "\n" + "\n".join(wrong)


def test_caches_are_of_one_kind() -> None:
    """Bounded and locked: `app.caching`. Nothing else makes a cache by hand."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: imports {name}"
        for path in python_files()
        for line, name in imports_of(path)
        if name == "collections.OrderedDict"
        or (name.startswith("cachetools") and path.name not in ("caching.py", "later.py"))
    ]
    assert not wrong, "\n" + "\n".join(wrong)


MOST_COMPLEX_FILES = 18


def test_the_files_with_complex_functions_only_become_fewer() -> None:
    """Lower the number with each file whose functions stay below the limit of ruff; never raise it."""
    ignores = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    named = ignores["tool"]["ruff"]["lint"]["per-file-ignores"]
    complex_files = [name for name, rules in named.items() if "C901" in rules]
    assert [name for name in complex_files if not (ROOT / name).is_file()] == []
    assert len(complex_files) <= MOST_COMPLEX_FILES
