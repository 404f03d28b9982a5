# Assay. `make help` lists what there is.

.DEFAULT_GOAL := help
SHELL := /bin/bash
CARGO ?= cargo

.PHONY: help run test soak check bench models

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
	$(CARGO) build --release --workspace --bins
	$(CARGO) test --release --workspace

soak: ## Long runs: submissions under forty kills and without IPFS, five hundred models that come twice, a minute of overload
	@.ci/setup test
	$(CARGO) build --release --workspace --bins
	ASSAY_SOAK=1 $(CARGO) test --release -p assay-tests --test e2e -- reputation::once reputation::outage many limits::overload --nocapture

check: ## What the compiler and the linter say, without running anything
	$(CARGO) fmt --all --check
	$(CARGO) clippy --release --workspace --all-targets -- -D warnings

bench: ## Ratios against a reference measured in the same run
	@.ci/setup
	@$(CARGO) build --release --workspace --bins
	@target/release/bench

models: ## Build every component from source and release it to plugins/
	@.ci/models

