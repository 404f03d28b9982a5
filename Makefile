# Assay. `make help` lists the targets.

.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo

# On Redis the suite skips the tests of the embedded file, and the tests that start stores of their own.
OF_ITS_OWN := --skip a_backup_of_a_running_server --skip the_file_of_a_running_server --skip fleet:: --skip failover::

.PHONY: help run test soak check bench models fuzz deps sbom

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Start two local chains with real lending contracts, and the server on them
	@.ci/setup
	@echo "Building the server (the first time compiles every dependency: about 6 minutes on two cores)"
	@$(CARGO) build --release --workspace --bins
	@exec target/release/devnet run

test: ## Run formatter, linter, documentation and every test, on the embedded store and on Redis
	@.ci/setup test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps
	$(CARGO) test --release --workspace
	ASSAY_TEST_STORE=redis $(CARGO) test --release --workspace --test e2e -- $(OF_ITS_OWN)

soak: ## Run the long tests: killed servers, lost IPFS node, overload, Redis Sentinel and Redis Cluster, 500 models
	@.ci/setup test
	$(CARGO) test --release --workspace --no-run
	ASSAY_SOAK=1 $(CARGO) test --release --workspace --test e2e -- \
		reputation::once reputation::outage fleet:: many --nocapture
	ASSAY_SOAK=1 $(CARGO) test --release --workspace --test e2e -- limits::overload --nocapture
	ASSAY_TEST_STORE=sentinel $(CARGO) test --release --workspace --test e2e -- $(OF_ITS_OWN)
	ASSAY_TEST_STORE=cluster $(CARGO) test --release --workspace --test e2e -- $(OF_ITS_OWN)

check: ## Run the formatter, the compiler and the linter, without tests
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

bench: ## Measure the server against references in the same run
	@.ci/setup test
	@$(CARGO) build --release --workspace --bins
	@target/release/bench

fuzz: ## Run every fuzz target for ten minutes; FUZZ="60 request" runs one for a minute
	@.ci/fuzz $(FUZZ)

deps: ## Check licences, sources and advisories of every dependency; needs cargo-deny, and the network once
	cargo deny --config .ops/deny.toml check

sbom: ## Write the bill of materials of the server to target/assay.cdx.json
	@mkdir -p target && node .ops/sbom.mjs > target/assay.cdx.json
	@echo target/assay.cdx.json

models: ## Build every component from source and release it to plugins/
	@.ci/models

