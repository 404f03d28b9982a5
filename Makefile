# `make help` lists the targets.

.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo

# The suite on a shared store leaves out tests of the embedded file, tests that start their own servers anyway, and tests
# of what no store changes. On the embedded store none is left out.
OF_ITS_OWN := $(foreach name,a_backup_of_a_running_server the_file_of_a_running_server fleet:: failover:: economy:: \
	past:: newcomer:: console:: documentation:: backtest:: check_config:: shipping:: swap:: scenarios::, \
	--skip $(name))

.PHONY: help run tour test test-fast soak check bench models fit fuzz deps sbom

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Start local chains, all else that a server needs, and the server: LESS=1 two chains alone, PORT=9090, ARGS=--log
	@.ci/setup
	@echo "Building the server (the first time compiles every dependency: 9 to 13 minutes on two cores)"
	@$(CARGO) build --release --workspace --bin assay --bin devnet
	@exec target/release/devnet run $(if $(LESS),--less) $(if $(PORT),--port $(PORT)) $(ARGS)

tour: ## Walk through what `make run` started, in another terminal: each step with its command and its answer
	@exec target/release/devnet tour $(if $(PORT),--url http://127.0.0.1:$(PORT)) $(ARGS)

test: ## Run every test, on real chain nodes and a real Redis
	@.ci/setup test
	$(CARGO) fmt --all --check
	.ci/circles
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps
	$(CARGO) test --release --workspace
	ASSAY_TEST_STORE=redis $(CARGO) test --release --workspace --test e2e -- $(OF_ITS_OWN)

# The crate of a folder of host/; the server's own is named `assay`.
CRATE ?= domain
PACKAGE = $(if $(filter server,$(CRATE)),assay,assay-$(CRATE))

test-fast: ## Test one crate of host/ and those that depend on it, without the tests on chain nodes: CRATE=lending
	@.ci/setup
	@dependants=$$($(CARGO) tree --workspace -e normal -i $(PACKAGE) --prefix none --format '{p}' \
		| awk '$$1 != "assay-tests" && $$1 ~ /^assay/ && !seen[$$1]++ { print "-p", $$1 }') \
		&& $(CARGO) test $$dependants

soak: ## Run the long tests: dozens of kills, IPFS down, overload, sentinels, a cluster, 500 models, 320 borrowers
	@.ci/setup test
	$(CARGO) test --release --workspace --no-run
	ASSAY_SOAK=1 $(CARGO) test --release --workspace --test e2e -- \
		reputation::once reputation::outage reputation::mixed reputation::fees reputation::notices x402::abuse fleet:: many \
		swap::small economy:: past:: console::a_server authors:: --nocapture
	ASSAY_SOAK=1 $(CARGO) test --release --workspace --test e2e -- limits::overload --nocapture
	ASSAY_SOAK=1 $(CARGO) test --release --workspace --test trained --test scripts -- --nocapture
	ASSAY_TEST_STORE=sentinel $(CARGO) test --release --workspace --test e2e -- $(OF_ITS_OWN)
	ASSAY_TEST_STORE=cluster $(CARGO) test --release --workspace --test e2e -- $(OF_ITS_OWN)

check: ## Check formatting, lints and the order of modules, without running anything
	$(CARGO) fmt --all --check
	.ci/circles
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

# Compiles as the image does (Cargo.toml, profile.release).
bench: ## Measure the benchmarks, each beside a reference in the same run
	@.ci/setup test
	@CARGO_INCREMENTAL=0 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=1 $(CARGO) \
		--config profile.release.package.assay-tests.opt-level=3 build --release --workspace --bins
	@target/release/bench

fuzz: ## Run every fuzz target for ten minutes; FUZZ="60 request" runs one of them for a minute
	@.ci/fuzz $(FUZZ)

deps: ## Check licences, sources and advisories of dependencies; needs cargo-deny and, once, the network
	cargo deny --config .ops/deny.toml check

sbom: ## Write a bill of materials of the server to target/assay.cdx.json
	@mkdir -p target && node .ops/sbom.mjs > target/assay.cdx.json
	@echo target/assay.cdx.json

models: ## Build every component from source and release it to plugins/
	@.ci/models

FIT := target/fit

fit: ## Fit credit 1.2 again, from a folder of data sets: DATA=folder; overwrites its scorecard and its table
	@test -n "$(DATA)" || { echo "name the folder of the data sets: make fit DATA=folder"; exit 2; }
	@test -x $(FIT)/venv/bin/python || python3 -m venv $(FIT)/venv
	@$(FIT)/venv/bin/pip install --quiet --disable-pip-version-check -r models/credit-1.2/fit/requirements.txt
	@$(FIT)/venv/bin/python models/credit-1.2/fit/fit.py sets $(DATA) $(FIT)/sets
	@$(FIT)/venv/bin/python models/credit-1.2/fit/fit.py fit $(FIT)/sets
	@$(CARGO) fmt --package credit-1-2
