# The commands of this project; `make` alone lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: help demo test check compiled lint format vendor bench update docs pictures clean

help:
	@echo "make demo    decode real frames as a tree, as annotated hex and as JSON, encode one, and write tables of the samples on Spark where there is Java"
	@echo "make test    lint, types, layers and the quick tests"
	@echo "make check   lint, types, layers and all tests: what CI runs"
	@echo "make format  put the source in order"
	@echo "make vendor  fetch the library that draws charts in pages, and its licence; needs npm and the network"
	@echo "make update  make golden output and documents anew from what the program prints"
	@echo "make docs    build the site into build/site; warnings and links that lead nowhere are errors"
	@echo "make pictures  make pictures of all tabs of the page and of the terminal interface, in build/pictures"
	@echo "make audit   ask whether faults are known of the libraries that are installed; needs the network"
	@echo "make bench   measure against peers, as ratios of one run"

$(BIN)/kwire: pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "kwire needs Python 3.11 or newer; try make PYTHON=python3.11")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --editable .
	@touch $@

$(VENV)/spark: $(BIN)/kwire
	$(BIN)/python -m pip install --quiet --editable ".[spark]"
	@touch $@

$(VENV)/dev: $(BIN)/kwire
	$(BIN)/python -m pip install --quiet --group dev
	@touch $@

demo: $(BIN)/kwire
	@set -e; for step in \
		"kwire decode --format tree samples/frames/api-versions-v5-request.hex" \
		"kwire decode --format hex samples/frames/api-versions-v5-request.hex" \
		"kwire decode --format json samples/frames/create-topics-v7-request.hex" \
		"kwire decode --format tree --api Metadata --message-version 13 samples/frames/metadata-v13-response.hex" \
		"kwire encode --message HeartbeatRequest --message-version 4 samples/json/heartbeat-v4.json" \
		"kwire decode --format jsonl samples/frames/produce-v13-request.hex | kwire encode"; \
	do echo; echo "\$$ $$step"; PATH="$(CURDIR)/$(BIN):$$PATH" sh -c "$$step"; done
	@if command -v java >/dev/null || [ -n "$$JAVA_HOME" ]; then $(MAKE) --no-print-directory $(VENV)/spark; fi
	@echo; echo "\$$ kwire export samples/captures -o LAKE --master local[*]"
	@lake=$$(mktemp -d); $(BIN)/kwire export samples/captures -o $$lake --master 'local[*]' --format table || { code=$$?; command -v java >/dev/null && exit $$code; echo "(all else works without it)"; }; rm -r $$lake

lint: $(VENV)/dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Tests start many processes, which find the package compiled, whatever PYTHONDONTWRITEBYTECODE says.
compiled: $(VENV)/dev
	$(BIN)/python -m compileall -q kwire_cli tests

# tests/conftest.py says how many processes `auto` is.
PARALLEL := -n auto --dist worksteal

test: lint compiled
	$(BIN)/python -m pytest $(PARALLEL) -m "not slow"

check: lint compiled
	$(BIN)/python -m pytest $(PARALLEL)

format: $(VENV)/dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

update: $(VENV)/dev
	$(BIN)/python -m pytest -n 0 --update

# The library that pages have in them. npm checks what it fetched; a test says that these files are what it fetches.
UPLOT := 1.6.32
VENDOR := kwire_cli/view/vendor

vendor:
	folder=$$(mktemp -d) && npm pack --silent --pack-destination $$folder uplot@$(UPLOT) >/dev/null \
		&& tar -xzf $$folder/uplot-$(UPLOT).tgz -C $$folder \
		&& cp $$folder/package/dist/uPlot.iife.min.js $(VENDOR)/uPlot.iife.min.js \
		&& cp $$folder/package/LICENSE $(VENDOR)/uPlot.LICENSE && rm -r $$folder

bench: $(VENV)/dev
	$(BIN)/python bench/run.py

docs: $(VENV)/dev
	$(BIN)/python -m sphinx --quiet --keep-going --fail-on-warning -b html -c docs . build/site

pictures: $(VENV)/dev
	$(BIN)/python docs/make_pictures.py

audit: $(VENV)/dev
	$(PYTHON) -m venv $(VENV)/audit
	$(VENV)/audit/bin/python -m pip install --quiet pip-audit
	$(VENV)/audit/bin/pip-audit --progress-spinner off --skip-editable --path $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')

clean:
	rm -rf $(VENV) dist build
