# Assay. `make help` lists what there is.

.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo

# On a store that is shared the suite leaves out what is about the embedded file, and what starts servers of its own whatever is chosen.
OF_ITS_OWN := --skip a_backup_of_a_running_server --skip the_file_of_a_running_server --skip fleet:: --skip failover::

.PHONY: help run test soak check bench models fuzz deps sbom

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-8s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: ## Two local chains with real lending contracts, and the server on them
	@.ci/setup
	@echo "Building the server (the first time compiles every dependency: about 6 minutes on two cores)"
	@$(CARGO) build --release --workspace --bins
	@exec target/release/devnet run

test: ## Everything, on real parts, skipping nothing
	@.ci/setup test
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --release --workspace --no-deps
	$(CARGO) test --release --workspace
	ASSAY_TEST_STORE=redis $(CARGO) test --release --workspace --test e2e -- $(OF_ITS_OWN)

soak: ## Long runs: kills by the dozen on one host and in a fleet, IPFS gone, overload, the suite on sentinels and on a cluster, 500 models
	@.ci/setup test
	$(CARGO) test --release --workspace --no-run
	ASSAY_SOAK=1 $(CARGO) test --release --workspace --test e2e -- reputation::once reputation::outage fleet:: many --nocapture
	ASSAY_SOAK=1 $(CARGO) test --release --workspace --test e2e -- limits::overload --nocapture
	ASSAY_TEST_STORE=sentinel $(CARGO) test --release --workspace --test e2e -- $(OF_ITS_OWN)
	ASSAY_TEST_STORE=cluster $(CARGO) test --release --workspace --test e2e -- $(OF_ITS_OWN)

check: ## What the compiler and the linter say, without running anything
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

bench: ## Ratios against a reference measured in the same run
	@.ci/setup test
	@$(CARGO) build --release --workspace --bins
	@target/release/bench

fuzz: ## Every fuzz target for ten minutes; FUZZ="60 request" for one of them, for a minute
	@.ci/fuzz $(FUZZ)

deps: ## Licences, sources and advisories of every dependency; needs cargo-deny and, once, the network
	cargo deny --config .ops/deny.toml check

sbom: ## A bill of materials of the server to target/assay.cdx.json
	@mkdir -p target && node .ops/sbom.mjs > target/assay.cdx.json
	@echo target/assay.cdx.json

models: ## Build every component from source and release it to plugins/
	@.ci/models

