# What can be done with this project. CI runs the same targets (.ci/run).

# A count, not a time: up to Go 1.26 a fuzz target can fail for its time being up (go.dev/issue/75804).
FUZZTIME ?= 10000x
EXECUTIONS ?= 1000000
DECODERS := ./sensor ./sensor/ring ./sensor/daemon ./trace ./format/... ./internal/sim ./internal/show/index ./internal/record/... ./internal/probe/... ./internal/reduced ./internal/spool ./internal/collect/... ./internal/show ./internal/pipeline ./internal/demo ./internal/s3 ./internal/plainhttp ./internal/experiment/... ./internal/filter ./internal/show/view ./internal/redact ./match
PACKETS  ?= 5000000
WORLDS   ?= 10000
SESSIONS ?= 200
MESSAGES ?= 1000000
TRAFFIC  ?= 60s
DATAGRAMS ?= 1000000
FLAGS    ?=
FOR      ?= 10m
PACKAGES ?= ./clock ./internal/filter ./match ./align/bound ./align/causal

# "make module PATH=..." sets PATH for the programs that make runs as well. They need the one that make was started with.
ifeq ($(origin PATH),command line)
MODULE := $(PATH)
override PATH := $(shell { /usr/bin/tr '\0' '\n' </proc/$$PPID/environ | /usr/bin/sed -n 's/^PATH=//p'; } 2>/dev/null)
ifeq ($(PATH),)
override PATH := /usr/local/go/bin:/opt/homebrew/bin:/usr/local/bin:/usr/bin:/bin
endif
endif

.DEFAULT_GOAL := help
.PHONY: bench-collect live-packets help build test quick lint lint-page race explore fuzz fuzz-decoders bench bench-align bench-hosts bench-ctf bench-sensor bench-record audit bench-start bench-view bench-live bench-subscribe bench-tls bench-clock live-index live-kills truth truth-error study adversary live-clocks live-steered pairs sorter steered steering lossy forged mutate module tidy demo chaos

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

build: ## the command, as bin/meridian
	go build -trimpath -o bin/meridian ./cmd/meridian

test: ## what CI runs: all tests, the race detector, lint, cross; as root it installs the programs that they need, else it prints what it skips
	CGO_ENABLED=0 go run ./tools/testall -- $(FLAGS)

quick: ## the daily tests, under a minute once built: no root, no browser, no other programs, fewer random cases
	CGO_ENABLED=0 go run ./tools/testall -short -- $(FLAGS)

lint: lint-page ## gofmt, the analyzers of go vet and staticcheck, lint-page
	@unformatted=$$(find . -name node_modules -prune -o -name '*.go' -print0 | xargs -0 gofmt -l); if [ -n "$$unformatted" ]; then echo "gofmt -w $$unformatted"; exit 1; fi
	CGO_ENABLED=0 go run ./tools/lint work

lint-page: ## types and rules of the timeline page's modules; npm fetches the checkers once, pinned
	@command -v npm >/dev/null || { echo "lint-page: npm is missing; the page's modules are not checked"; exit $${MERIDIAN_CI:-0}; }; \
	cd internal/show/view/page && \
	{ cmp -s package-lock.json node_modules/.lint-page || { npm ci --ignore-scripts --no-audit --no-fund && cp package-lock.json node_modules/.lint-page; }; } && \
	npm run --silent lint

race: ## the tests of packages with goroutines under the race detector
	CGO_ENABLED=0 go run ./tools/testall -stages race -- $(FLAGS)

explore: ## random tests and fuzz targets on new seeds for FOR (10m): prints the seed and the command that repeats each failure
	CGO_ENABLED=0 go run ./tools/explore -for $(FOR) $(FLAGS)

fuzz: ## every fuzz target on FUZZTIME inputs (10000x)
	go run ./tools/fuzzall -n $(FUZZTIME:x=) $(FLAGS) work

fuzz-decoders: ## every decoder's fuzz target on EXECUTIONS inputs (1000000), costly ones too; hours (FLAGS="-limit 15m" for each)
	go run ./tools/fuzzall -exact -n $(EXECUTIONS) $(FLAGS) $(DECODERS)

bench: bench-align ## bench-align, then all benchmarks
	go test -run '^$$' -bench . -benchmem work

.PHONY: bench-compare
bench-compare: ## the stages' benchmarks beside those of revision BASE, in one run; fails where one is slower (FLAGS="-bench Emit ./sensor")
	@test -n "$(BASE)" || { echo "bench-compare: name a revision: make bench-compare BASE=main"; exit 2; }
	go build -o bin/benchcompare ./tools/benchcompare
	bin/benchcompare -base $(BASE) $(FLAGS)

bench-align: build ## meridian align against mergecap on two captures of PACKETS (5000000) packets each
	go run ./tools/speed -packets $(PACKETS)

bench-hosts: build ## meridian align on networks of many hosts, against its bars (FLAGS="-only chain")
	go run ./tools/manyhosts $(FLAGS)

bench-ctf: ## reading a CTF trace of ten million events beside babeltrace2, which must be installed
	go run ./tools/ctfspeed

bench-sensor: ## the cost of a sensor's event beside LTTng-UST, loggers and tracers, against its bars
	go run ./tools/sensorbench -check

bench-record: build ## the cost of recording beside tcpdump and trace-cmd, against its bars; needs root, ten minutes
	go build -o bin/recordbench ./tools/recordbench
	bin/recordbench -check $(FLAGS)

audit: build ## all counts of the packets of SESSIONS (200) recordings: what the trace lacks is counted as lost; needs root, half an hour
	go build -o bin/recordbench ./tools/recordbench
	bin/recordbench -audit $(SESSIONS) $(FLAGS)

bench-start: build ## the first events of programs with a million a second, recorded 252 times; needs a C compiler, five minutes
	go build -o bin/recordstart ./tools/recordstart
	bin/recordstart -check $(FLAGS)

.PHONY: bench-run run-kills
bench-run: build ## how near to each other the phases of 32 daemons start, with and without load, against its bars; needs root
	go build -o bin/runbench ./tools/runbench
	bin/runbench -meridian bin/meridian $(FLAGS)

run-kills: build ## experiments of which a part is killed at a random instant, 100 times: nothing is left; as root in namespaces too
	go build -o bin/runkill ./tools/runkill
	bin/runkill -meridian bin/meridian $(FLAGS)

.PHONY: picture
picture: build ## the picture of README.md anew; needs Chromium
	go run ./tools/picture docs/images/timeline.png

.PHONY: pictures
pictures: ## the pictures of docs/viewer.md anew, by the tests of the page; needs Chromium
	dir=$$(mktemp -d) && MERIDIAN_SHOTS=$$dir go test -count 1 ./tools/viewtest -run 'TestHonesty|TestRequests|TestTwoRuns|TestQuestions|TestTheGuideOfTheShop' && \
	for p in requests:requests-served apart:apart raw:raw-inverted-served numbers:numbers against:against-served why:why between:between delays:delays-bar live:live-requests \
		runqueue:WhichHostsRunQueueMadeARequestSlow again:WhichPacketWasSentAgainAndWhatWaitedForIt lock:WhetherALockIsHeldAcrossHosts shop:shop; do cp $$dir/$${p#*:}-1400-light.png docs/images/$${p%%:*}.png || exit 1; done; rm -r $$dir

bench-view: ## the timeline of ten million events in a browser, against its bars; needs Chromium
	go build -o bin/viewbench ./tools/viewbench
	bin/viewbench -browser -check $(FLAGS)

bench-clock: build ## synchronisers side by side where the truth is known: chronyd, ptp4l, ours; needs root, chrony and linuxptp
	go build -o bin/clockbench ./tools/clockbench
	bin/clockbench -check $(FLAGS)
	bin/clockbench -low -check -length 400s -settle 80s $(FLAGS)
	bin/clockbench -warp -check -settle 40s $(FLAGS)
	bin/clockbench -hops 10 $(FLAGS)
	bin/clockbench -hosts 8 $(FLAGS)

bench-live: build ## the time until an event is seen in the browser and printed by tail, and a page of ten million that grows; needs Chromium and root
	go build -o bin/livebench ./tools/livebench
	go build -o bin/viewbench ./tools/viewbench
	bin/livebench -check $(FLAGS)
	bin/livebench -check -tail json $(FLAGS)
	bin/viewbench -grow 10000 -check

bench-tls: ## what keys and TLS take of the collection of traces, on a machine that does nothing else
	go run ./tools/tlsbench $(FLAGS)

bench-subscribe: build ## the time from a sensor to a subscriber of the server's timeline, and what agent and server take
	go build -o bin/subscribebench ./tools/subscribebench
	bin/subscribebench -check $(FLAGS)
	bin/subscribebench -rate 38000 -flush 100ms -batch 100ms $(FLAGS)

.PHONY: archive
archive: ## what servers archive, in versitygw and MinIO that are killed and started again; builds them, minutes at first
	go test -count 1 -v -timeout 60m ./internal/collect/archive ./cmd/meridian -run TestObjectStoresOfOthers -tags peers

.PHONY: nats
nats: ## servers and agents as NATS's own client shows them; builds it, minutes at first
	go test -count 1 -v -timeout 60m ./internal/collect/service -run TestTheClientOfNATS -tags peers

bench-collect: build ## how fast a trace is copied to servers, beside a TCP connection into a file and beside JetStream that syncs
	go build -o bin/collectbench ./tools/collectbench
	bin/collectbench -check $(FLAGS)

.PHONY: bench-fleet
bench-fleet: build ## events a second of two agents, memory of a server of 64, and a mark that passes a backlog of 1 GiB
	go build -o bin/fleetbench ./tools/fleetbench
	bin/fleetbench -agents 2 -rate 1250000 -length 8s -least 2000000 $(FLAGS)
	bin/fleetbench -agents 64 -rate 5000 -memory 256 $(FLAGS)
	bin/fleetbench -agents 1 -rate 0 -backlog 1024 -urgent 50ms $(FLAGS)

live-index: ## the index that grows: its writer killed at 200 random instants, and ten million events in flat memory
	go test -count 1 -v ./internal/show/index -run 'TestKilledAtAnyInstant|TestLiveNeeds' -kills 200 -live-events 10000000

live-kills: ## view --follow killed at 200 random instants, its recorder at 50: every event once
	go test -count 1 -v ./cmd/meridian -run TestFollowerAndRecorderThatAreKilledGoOn -follow-kills 200

chaos: ## processes of a collection killed, stopped, slowed, parted for 5 s and short of disk or memory in 100 rounds, clocks that are wrong or set; a table; as root; ten minutes
	go test -count 1 -timeout 60m -v -run 'TestWhateverIsKilled|TestWhatIsDroppedBefore' ./internal/collect -rounds 100 -apart 5s $(FLAGS)
	go test -count 1 -timeout 60m -v -run 'TestProcessesThatAreKilled|TestClocksThatAreWrong' ./cmd/meridian -chaos-rounds 100 -chaos-apart 5s $(FLAGS)

.PHONY: chaos-long
chaos-long: ## the same for an hour, FLAGS="-chaos-for 8h" for longer: nothing lost or doubled, memory, files and goroutines flat over the last half; as root; about one processor
	go test -count 1 -timeout 0 -v -run TestProcessesThatAreKilled ./cmd/meridian -chaos-for 1h -chaos-apart 5s $(FLAGS)

.PHONY: simulation
simulation: ## 10,000 seeded schedules of faults of a collection in virtual time and 3,000 of probes, and seven planted bugs; two minutes of 2 cores
	go test -count 1 -timeout 60m -v -run 'TestNoSchedule|TestPlanted' ./internal/collect/simulation -schedules 10000 $(FLAGS)
	go test -count 1 -timeout 60m -v -run 'TestNoSchedule|TestPlanted' ./internal/probe -schedules 3000 $(FLAGS)

live-packets: ## memory of the live path over 2 million packets
	go test -count 1 -v ./internal/live -run TestMemoryIsFlatOverALongRunOfPackets -packets-long 2000000

truth: ## bounds of real traffic compared with the true times, with figures; needs root
	go test ./internal/pipeline -run TestRealTraffic -count 1 -v

truth-error: ## the statistical error over a veth pair, held against the true times, with figures; needs root, ten minutes
	go test ./internal/pipeline -run TestStatisticalErrorHoldsOverVeth -count 1 -v -timeout 30m -args -veth 3

study: ## every table of docs/benchmarks.md, on fresh seeds (FLAGS="-first-seed 50000"); half an hour
	@set -e; go build -o bin/study ./tools/study; status=0; \
	for table in accuracy bounds calibration coverage networks speed clement poirier; do \
		bin/study $$table $(FLAGS) || status=1; \
	done; exit $$status

live-clocks: ## align/live over 12 h of two clocks that wander and are set, and 1 h of eight hosts that come and go, against the truth
	go build -o bin/liveclocks ./tools/liveclocks
	bin/liveclocks $(FLAGS)
	bin/liveclocks -hosts 8 -span 1h -period 500ms $(FLAGS)

live-steered: ## align/live over 30 minutes of clocks that a real chronyd steers, from its start on and later
	go test -count=1 -timeout 30m -run ChronydSteers ./internal/livetest -args -steered 30m -steered-from 0s
	go test -count=1 -timeout 30m -run ChronydSteers ./internal/livetest -args -steered 30m -steered-from 2h

adversary: ## bounds of meridian align on WORLDS (10000) worlds whose truth is known: a failing one is made small and printed
	go build -o bin/adversary ./tools/adversary
	bin/adversary -seeds $(WORLDS) $(FLAGS)

pairs: ## packets of known ways through lossy captures, MESSAGES (1000000) matched, and as many made to deceive: none may be false
	go build -o bin/pairs ./tools/pairs
	bin/pairs -messages $(MESSAGES) $(FLAGS)
	bin/pairs -adverse -messages $(MESSAGES) $(FLAGS)

sorter: ## late events against latency for settings of the on-line sorter's time frame, and its time for an event; a minute
	go build -o bin/sorter ./tools/sorter
	bin/sorter $(FLAGS)

lossy: ## real traffic of TRAFFIC (60s) over a wire that loses, repeats and reorders, its captures thinned 20 times: no message may be false; needs root
	go test -count 1 -v -timeout 30m -run TestRealTrafficOverALossyWire ./internal/pipeline -lossy $(TRAFFIC) -thinned 20

forged: ## DATAGRAMS (1000000) malformed, replayed and forged ones at the clock server: no answer, no state; a minute or two
	go test -count 1 -v -timeout 30m -run TestHostileDatagramsGetNoAnswerAndLeaveNoState ./internal/probe -forged $(DATAGRAMS)

steered: ## every hour of clocks that daemons steer, over LAN, cloud and WAN delays: the truth within the bounds, and their width
	go test -count 1 -v -timeout 30m -run TestEveryHourOfSteeredClocks ./align/bound -every-steered

steering: ## recorded hosts while the machine's clock is slewed by 100 ppm to and fro, as root; its rate is restored
	MERIDIAN_STEERING=1 go test -count 1 -v -run TestRecordedHostsAreFreeClocks ./internal/pipeline

.PHONY: vuln
vuln: ## known vulnerabilities in what is built, by govulncheck; it says so where their list cannot be reached
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT; \
	GOFLAGS= GOWORK=off GOBIN=$$dir go install golang.org/x/vuln/cmd/govulncheck@v1.9.0 || { echo "vuln: govulncheck cannot be fetched: NOTHING WAS CHECKED"; exit 0; }; \
	status=0; for module in . clock examples sensor sensor/sensorgrpc tools; do \
		echo "== $$module"; (cd $$module && $$dir/govulncheck ./...) >$$dir/out 2>&1; code=$$?; cat $$dir/out; \
		if grep -q '^govulncheck: fetching vulnerabilities' $$dir/out; then echo "vuln: https://vuln.go.dev cannot be reached: NOTHING WAS CHECKED"; exit 0; fi; \
		[ $$code -eq 0 ] || status=1; \
	done; exit $$status

.PHONY: cover
cover: ## statement coverage of alignment, matching, order, rings, CTF, collection and probes, against the bar of 90 %; as root; some minutes
	go run ./tools/cover $(FLAGS)

.PHONY: defences
defences: ## the tests of docs/security.md, each without its defence: all must fail; as root, some minutes
	go run ./tools/defences $(FLAGS)

mutate: ## how many of 25 random changes to PACKAGES their own tests catch (FLAGS="-seed 7")
	go run ./tools/mutate -least 23 $(FLAGS) $(PACKAGES)

module: ## give the modules another path, in every file: PATH=host/owner/meridian
	go run ./tools/modules rename "$(MODULE)"

# What is there on Linux alone must be left out elsewhere. The clocks and the sensors have assembly for each processor.
.PHONY: cross
cross: ## whether other platforms could be built: the command for macOS and Windows, sensors and recorder for Linux on arm64
	CGO_ENABLED=0 go run ./tools/crosscheck darwin/arm64 ./cmd/meridian , windows/amd64 ./cmd/meridian , linux/arm64 ./clock ./sensor/... ./internal/record/...
	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build ./clock ./sensor ./sensor/ring

.PHONY: release
release: ## all files of a release, the same bytes each time, into dist/: make release VERSION=0.2.0
	go run ./tools/release -version "$(VERSION)" $(FLAGS)

tidy: ## go mod tidy for every module
	go run ./tools/modules tidy

demo: ## three processes, clocks that disagree, one timeline
	go run ./cmd/meridian-demo
