# make run     install what is missing, migrate the database, serve
# make test    all tests           make check   lint, types, locks, templates
# make bench   benchmarks          make lock    renew the lock files
# make texts   bring the catalogue of texts up to date with the sources
# make columns the same for the list of columns in seed_data/README.md
SHELL := /bin/bash
VENV ?= .venv
PYTHON ?= $(firstword $(foreach name,python3.11 python3 python3.12 python3.13 python3.14 python,$(shell \
	$(name) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $(name))))
BIN := $(VENV)/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet
SOURCES := pyproject.toml package-lock.json hatch_build.py $(shell find locales -name '*.po' 2>/dev/null)
UV := uv==0.13.9

run: install
	@$(BIN)/cardworth migrate && exec $(BIN)/cardworth serve

install: $(VENV)/.installed

$(BIN)/python:
	@if [ -z "$(PYTHON)" ]; then echo "Cardworth needs Python 3.11 or newer: none was found." >&2; exit 1; fi
	@[ -w . ] || { echo "This user may not write in $$PWD: take another folder, or change its owner." >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { echo "The virtual environment could not be made. On Debian: apt-get install python3-venv" >&2; exit 1; }

$(VENV)/.installed: requirements.lock $(SOURCES) | $(BIN)/python
	$(PIP) install --require-hashes -r requirements.lock
	$(PIP) install --no-deps --editable .
	@touch $@

# What the tests and the checks need, with axe-core in node_modules.
$(VENV)/.dev-installed: requirements-dev.lock $(SOURCES) | $(BIN)/python
	$(PIP) install --require-hashes -r requirements-dev.lock
	CARDWORTH_ASSETS_DEV=1 $(PIP) install --no-deps --editable .
	@touch $@ $(VENV)/.installed

dev: $(VENV)/.dev-installed

# Playwright drives Debian's own Chromium; it downloads no browser.
browser:
	@if command -v chromium >/dev/null || command -v chromium-browser >/dev/null; then :; \
	elif [ "$$(id -u)" = 0 ] && [ -f /etc/debian_version ]; then \
		apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium fonts-noto-cjk >/dev/null \
			|| echo "Chromium could not be installed: the browser tests are left out." >&2; \
	else echo "No Chromium here: the browser tests are left out (Debian: apt-get install chromium fonts-noto-cjk)." >&2; \
	fi

test: dev browser
	$(BIN)/python -m pytest

check: dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	@if grep -nE 'https?://|index-url|find-links' requirements*.lock package-lock.json; then \
		echo "A lock file names a host." >&2; exit 1; fi
	$(BIN)/python -m app.cli --help >/dev/null
	@$(EXTRACT) -o build/cardworth.pot app templates && $(UPDATE) --check || { echo "Run make texts." >&2; exit 1; }
	@if command -v node >/dev/null; then node node_modules/htmx.org/dist/scripts/upgrade-check.js templates; \
	elif [ "$$CARDWORTH_CI" = 1 ]; then echo "CI must have node for the htmx check." >&2; exit 1; \
	else echo "No node here: the htmx check of the templates is left out." >&2; fi

# The .pot file is what the sources say now; a new text stands in the catalogue without a translation.
texts: dev
	$(EXTRACT) -o build/cardworth.pot app templates
	$(UPDATE)

# The list of columns in the README of the seed.
columns: dev
	$(BIN)/python -m app.catalog.columns

bench: dev
	$(BIN)/python -m tests.bench

lock:
	@test -n "$(PYTHON)" && $(PYTHON) -m venv .lockenv
	@.lockenv/bin/python -m pip --disable-pip-version-check --quiet install $(UV)
	$(COMPILE) -o requirements.lock
	$(COMPILE) --extra postgres -c requirements.lock -o requirements-postgres.lock
	$(COMPILE) --extra postgres --group dev -c requirements.lock -o requirements-dev.lock
	npm install --package-lock-only --loglevel=error
	@rm -rf .lockenv

EXTRACT = mkdir -p build && PYTHONPATH=. $(BIN)/pybabel -q extract -F babel.toml \
	-k N_ -k NP_:1c,2 -k _ -k gettext -k ngettext:1,2 --sort-output --no-location
UPDATE = $(BIN)/pybabel -q update -i build/cardworth.pot -d locales -D cardworth -w 110 \
	--no-fuzzy-matching --ignore-obsolete --ignore-pot-creation-date

COMPILE = .lockenv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header \
	$(UPGRADE) pyproject.toml

.PHONY: run install dev browser test check texts columns bench lock
