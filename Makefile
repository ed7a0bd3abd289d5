# Run `make` for the list of targets.

FUZZTIME ?= 2m
NEXT_GO  ?= go1.27.4
BEFORE   ?= 619a4b6

.DEFAULT_GOAL := help

.PHONY: help
help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  %-14s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: test
test: ## Run all tests
	go test ./...

.PHONY: quick
quick: ## Run the tests that take little, in 20 s: -short, without internal/e2e
	go test -short $$(go list ./... | grep -v /internal/e2e/)

# On NEXT_GO: the race detector of Go 1.26 may crash in a bubble of testing/synctest (golang/go#78156).
.PHONY: race
race: ## Run all tests in random order under the race detector
	GOTOOLCHAIN=$(NEXT_GO) go test -race -shuffle=on ./...

.PHONY: repeat
repeat: ## Run all tests three times over, in random order under the race detector
	GOTOOLCHAIN=$(NEXT_GO) go test -race -shuffle=on -count=3 ./...

.PHONY: portable
portable: ## Run vet for Windows (32 bits) and macOS (ARM), and the tests of what reads numbers on 32 bits
	bash .ci/portable

.PHONY: vulncheck
vulncheck: ## Look for known vulnerabilities with the pinned govulncheck (needs its database)
	bash .ci/vulncheck

# After a change that is meant: look at the difference, it goes into the review.
.PHONY: golden
golden: ## Write the API surface that a test compares with
	go test -count=1 -run '^TestHouse_api$$' . -update

.PHONY: lint
lint: ## Run the pinned golangci-lint, which is installed on first use
	bash .ci/lint

.PHONY: fuzz
fuzz: ## Run each fuzz target for FUZZTIME (2m)
	FUZZTIME=$(FUZZTIME) bash .ci/fuzz

.PHONY: proof
proof: ## Run the proof NAME, which takes too long for every run of the tests; without NAME, list them
	@bash .ci/proof $(NAME)

# A violation prints its choices: EXHAUSTIVE='TEST FAULTS CHOICES' makes that run again.
.PHONY: exhaustive
exhaustive: ## Run two callers in all orders with up to 2 faults, and one with up to 3, against a model (10 min)
	EXHAUSTIVE=all GOGC=400 go test -count=1 -v -timeout 1h ./internal/e2e/ensure/exhaustive

# NAMES are patches in internal/e2e/ensure/planted, without .patch. Commit first.
.PHONY: planted
planted: ## Plant bugs in a copy of HEAD, one at a time, and look whether the test that each names notices
	bash .ci/planted $(NAMES)

# CALLS is their number: CALLS=5000 takes 10 s.
.PHONY: ledger
ledger: ## Make 1,000,000 writes in four processes with locks that are killed, 70 % faults, and compare (15 min)
	bash .ci/redis
	cd rediscommerce && LEDGER=$(or $(CALLS),1000000) go test -count=1 -v -run '^TestLedger$$' -timeout 1h .

.PHONY: picture
picture: ## Draw docs/walk.svg and docs/discounts.svg: both jobs, beside simple clients
	cd bench && go run ./picture ../docs

# On an idle machine: the figures are ratios of times.
.PHONY: bench
bench: ## Compare with net/http by hand, a generated client and the vendor's SDK, under two Go releases (7 min, Linux)
	cd bench && go run . -before $(BEFORE) -rounds $(or $(ROUNDS),9) -json results/now.json
	cd bench && GOTOOLCHAIN=$(NEXT_GO) go run . -before $(BEFORE) -rounds $(or $(ROUNDS),9) -json results/next.json
	cd bench && go run . -report results/now.json results/next.json

# It needs Node.js and npm and, for the images, Linux and skopeo, which it installs on Debian.
.PHONY: dist
dist: ## Build archives, npm packages and container images of epcommerce in dist, and check them (6 min)
	bash .ci/dist

.PHONY: mutation
mutation: ## Change the code, and count the changes that no test notices (an hour and a half)
	bash .ci/mutation

.PHONY: cover
cover: ## Print the coverage of the root package and internal/ by all tests
	go test -coverpkg=.,./internal/... -coverprofile=coverage.out ./...
	@go tool cover -func=coverage.out | tail -n 1

# Environment of live: COMMERCE_BASE_URL, and COMMERCE_TOKEN or both of
# COMMERCE_CLIENT_ID and COMMERCE_CLIENT_SECRET. It makes carts and removes them.
.PHONY: live
live: ## Test a real store, named by COMMERCE_* variables (see Makefile): .cache/report.md has the facts
	mkdir -p .cache
	status=0; go -C cmd/epcommerce run . verify --yes --report $(CURDIR)/.cache/report.md || status=$$?; \
	COMMERCE_LIVE=1 go test -run '^TestLive' -count=1 -v ./internal/e2e/live && exit $$status

.PHONY: live-rehearsal
live-rehearsal: ## Run the same against the fake store, both generations (40 s)
	bash .ci/live

.PHONY: vendor-clients
vendor-clients: ## Drive the fake store with the vendor's own clients, and write docs/evidence/vendor-clients.md (needs Node.js)
	bash .ci/vendors update

# It needs Node.js, Python 3 and Chromium (CHROMIUM, which it installs on Debian). SCREENSHOTS=docs
# draws the page again.
.PHONY: serve
serve: ## Use epcommerce serve as programs in other languages do, and its page in a browser (40 s)
	SCREENSHOTS=$(SCREENSHOTS) bash .ci/serve

.PHONY: next-go
next-go: ## Run vet and all tests under NEXT_GO (go1.27.4)
	GOTOOLCHAIN=$(NEXT_GO) go vet ./...
	GOTOOLCHAIN=$(NEXT_GO) go test ./...

.PHONY: consumer
consumer: ## Build and test a module that uses the library; check what it links
	bash .ci/consumer

.PHONY: tidy
tidy: ## Tidy go.mod and go.sum of all modules
	go mod tidy
	cd otelcommerce && go mod tidy
	cd rediscommerce && go mod tidy
	cd sqlcommerce && go mod tidy
	cd cmd/epcommerce && go mod tidy
	cd recipes/discounts && go mod tidy
	cd recipes/queues && go mod tidy
	cd recipes/prometheus && go mod tidy
	cd bench && go mod tidy
	cd .ci/packages && go mod tidy

# DRAFT=-draft takes a changelog without a date. MODULE=otelcommerce, rediscommerce, sqlcommerce or cmd/epcommerce is for that module.
.PHONY: release-check
release-check: ## Check whether this checkout may be tagged as a release
	bash .ci/release-check $(DRAFT) $(MODULE)

.PHONY: ci
ci: ## Run the checks that main must pass, on a clone of HEAD
	bash .ci/run
