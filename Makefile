# `make help` lists the targets.

.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo
TARGET := $(or $(CARGO_TARGET_DIR),target)

.PHONY: help run tour test test-fast soak check release bench models fit refit fuzz deps sbom

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Start local chains, all else that a server needs, and the server: LESS=1 only two chains, PORT=9090, ARGS=--log
	@.ci/setup
	@echo "Building the server (the first time compiles every dependency: about nine minutes on two cores)"
	@$(CARGO) build --workspace --bin assay --bin devnet
	@exec $(TARGET)/debug/devnet run $(if $(LESS),--less) $(if $(PORT),--port $(PORT)) $(ARGS)

tour: ## Walk through what `make run` started, in another terminal: each step with its command and its answer
	@test -x $(TARGET)/debug/devnet || { echo "There is nothing to tour yet: start \`make run\` first, in another terminal"; exit 1; }
	@exec $(TARGET)/debug/devnet tour $(if $(PORT),--url http://127.0.0.1:$(PORT)) $(ARGS)

test: ## Run every test, on real chain nodes and a real Redis; ONLY=e2e, ONLY=chain, ONLY=redis or ONLY=unit runs a part
	@.ci/setup test
	@.ci/suite $(if $(ONLY),--only $(ONLY)) $(ARGS)

check: ## Check formatting, the order of modules, lints, types of scripts and rustdoc, without running anything
	@.ci/setup check
	$(CARGO) fmt --all --check
	npm --prefix host/console --silent run check
	.ci/circles
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

# The crate of a folder of host/; the server's own is named `assay`.
CRATE ?= domain
PACKAGE = $(if $(filter server,$(CRATE)),assay,assay-$(CRATE))

test-fast: ## Test one crate of host/ and those that depend on it, without the tests on chain nodes: CRATE=lending
	@.ci/setup
	@dependants=$$($(CARGO) tree --workspace -e normal -i $(PACKAGE) --prefix none --format '{p}' \
		| awk '$$1 !~ /^assay-(tests|bench|devnet|process)$$/ && $$1 ~ /^assay/ && !seen[$$1]++ { print "-p", $$1 }') \
		&& $(CARGO) test $$dependants

# The parts of `make soak`, each under 20 minutes on two cores: filters of the end-to-end tests.
SOAK_money    := reputation::once reputation::outage reputation::mixed reputation::fees reputation::notices x402::abuse x402::gas
SOAK_fleet    := fleet::
SOAK_watches  := watches::crash watches::changes
SOAK_models   := many swap::small authors::
SOAK_reading  := economy:: past:: console::a_server
SOAK_overload := limits::overload
PARTS         := schedules money fleet watches models reading overload faults providers maker scripts graphs sentinel \
                 cluster
PART          ?= $(PARTS)

soak: ## Run the long tests: dozens of kills, outages, overload, 500 models, sentinels, a cluster; PART=money runs a part
	@.ci/setup test
	$(CARGO) test --workspace --no-run
	@for part in $(PART); do $(MAKE) --no-print-directory soak-$$part || exit 1; done

soak-schedules:
	ASSAY_SOAK=1 $(CARGO) test --workspace --lib -- adversary:: --nocapture

soak-scripts:
	ASSAY_SOAK=1 $(CARGO) test --workspace --test trained --test scripts -- --skip graphs:: --nocapture

soak-graphs:
	ASSAY_SOAK=1 $(CARGO) test --workspace --test trained -- graphs:: --nocapture

soak-faults:
	ASSAY_SOAK=1 $(CARGO) test --workspace --test chain -- table:: one_log:: left_out_makes_no_history --nocapture

soak-providers:
	ASSAY_SOAK=1 $(CARGO) test --workspace --test chain -- providers:: --nocapture

soak-maker:
	ASSAY_SOAK=1 $(CARGO) test --workspace --test chain -- lenders::maker::walk --nocapture

# Compares stubs with the original contracts, of which SOURCES has checkouts. No part of PARTS: they are in no package.
soak-dialects:
	@test -d "$(SOURCES)" || { echo "soak: SOURCES=FOLDER has euler-vault-kit and ethereum-vault-connector"; exit 2; }
	node tests/euler/compare.mjs $(SOURCES)

soak-sentinel soak-cluster: soak-%:
	ASSAY_TEST_STORE=$* .ci/suite --only redis

soak-%:
	@test -n "$(SOAK_$*)" || { echo "soak: there is no part $*; the parts are $(PARTS)"; exit 2; }
	ASSAY_SOAK=1 $(CARGO) test --workspace --test e2e -- $(SOAK_$*) --nocapture

release: ## Build the server as it ships: target/dist/assay, and its symbols beside it in assay.debug
	@$(CARGO) build --locked --release -p assay-cli
	@.ops/strip $(TARGET)/release/assay $(TARGET)/dist

bench: ## Measure the benchmarks, each beside a reference in the same run; compiles as what ships
	@.ci/setup test
	@$(CARGO) build --release --workspace --bins
	@$(TARGET)/release/bench --against tests/bench/table.json

fuzz: ## Run every fuzz target for ten minutes; FUZZ="60 request" runs one of them for a minute
	@.ci/fuzz $(FUZZ)

deps: ## Check licences and advisories of dependencies, unused ones, and the shipped lists; needs cargo-deny, cargo-machete
	cargo deny --config .ops/deny.toml check
	cargo machete
	.ci/markets

sbom: ## Write a bill of materials of the server to target/assay.cdx.json
	@mkdir -p target && node .ops/sbom.mjs > target/assay.cdx.json
	@echo target/assay.cdx.json

models: ## Build every component from source and release it to plugins/
	@.ci/models

FIT := target/fit

fit: ## Fit a new credit model to a folder of data sets or features files: DATA=folder VERSION=1.4
	@test -n "$(DATA)" -a -n "$(VERSION)" \
		|| { echo "name the folder and the version: make fit DATA=folder VERSION=1.4"; exit 2; }
	@test -x $(FIT)/venv/bin/python || python3 -m venv $(FIT)/venv
	@$(FIT)/venv/bin/pip install --quiet --disable-pip-version-check -r models/credit-1.3/fit/requirements.txt
	@$(FIT)/venv/bin/python models/credit-1.3/fit/fit.py $(DATA) $(VERSION)
	@$(CARGO) fmt --package credit-$(subst .,-,$(VERSION))

refit: ## Fit credit 1.4 again, to the same bytes: DATA=folder of the public data sets
	@test -n "$(DATA)" || { echo "name the folder: make refit DATA=folder"; exit 2; }
	@test -x $(FIT)/venv/bin/python || python3 -m venv $(FIT)/venv
	@$(FIT)/venv/bin/pip install --quiet --disable-pip-version-check -r models/credit-1.3/fit/requirements.txt
	@$(FIT)/venv/bin/python models/credit-1.4/fit/fit.py $(DATA)
	@git diff --stat --exit-code -- models/credit-1.4
