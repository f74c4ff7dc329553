package pipeline

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/internal/pipeline/input"
	"meridian/internal/show"
)

// Spans, made by others, whose clocks are known: ahead is that of the host's clock, ns.
func TestWhatSpansRestOnIsJudged(t *testing.T) {
	const ms = 1_000_000
	for _, c := range []struct {
		name      string
		reference string
		host      string // whose events are looked at
		ahead     int64
		cut       int64 // what its timestamps were cut by
		bound     int64 // at most, if every message is true; 0: none
		warns     string
		broken    string
		by        string // attribute that names the hosts
		premise   show.Premise
	}{
		{name: "js-starts-in-ms", reference: "a", host: "b", ahead: 2_300_000, bound: 700_000,
			premise: show.Premise{Kind: show.ServerEnds, Messages: 150, Alone: true}},
		{name: "two-sources-two-steps", reference: "a", host: "b", ahead: 1000 * ms, cut: ms, bound: 35_000},
		{name: "one-host-name-two-clocks", host: "otel-collector-0", broken: "otel-collector-0 is the host.name of several clocks: of 100 spans and their parents on it, " +
			"no single clock explains 100; their k8s.pod.name differs: use --host-attribute k8s.pod.name", premise: show.Premise{Kind: show.OneClock, Messages: 100, Tested: 100, Contradicted: 100}},
		{name: "one-host-name-two-clocks", reference: "front-7f", host: "back-7f", ahead: -50 * ms, by: "k8s.pod.name", bound: 180_000},
		{name: "replicas-one-service-name", reference: "web", warns: "hosts are named by their service alone", broken: "db is the service.name of several processes"},
		{name: "spans-server-ends-late", reference: "web", host: "db", bound: 1_300_000, warns: "do not show that servers of db end before their clients",
			premise: show.Premise{Kind: show.ServerBegins, Messages: 20, Alone: true}},
		{name: "servers-that-run-on", reference: "a", host: "b", ahead: 2_300_000, bound: 210_000, warns: "servers of b that end after their client got the reply, as they last longer (20)",
			premise: show.Premise{Kind: show.ServerEnds, Messages: 180, Tested: 180, Contradicted: 20, Alone: true}},
		{name: "consumer-begins-at-poll", reference: "worker", host: "web", bound: 77 * ms},
		{name: "spans-async-one-of-ten", reference: "db", bound: 230_000, warns: "as they last longer (30)",
			premise: show.Premise{Kind: show.ServerEnds, Messages: 270, Tested: 270, Contradicted: 30, Alone: true}},
	} {
		t.Run(c.name+c.by, func(t *testing.T) {
			paths, err := filepath.Glob(filepath.Join("testdata", "cases", c.name, "*.gz"))
			if err != nil || len(paths) == 0 {
				t.Fatalf("%q, %v", paths, err)
			}
			inputs, err := input.Parse(paths)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{}
			o.Align.Reference = c.reference
			if c.by != "" {
				o.Match.HostAttributes = []string{c.by}
			}
			rows, outcome := csvRows(t, inputs, o)
			if broken := strings.Join(outcome.Broken, "; "); !strings.Contains(broken, c.broken) || (broken == "") != (c.broken == "") {
				t.Errorf("broken: %q", broken)
			}
			if !slices.ContainsFunc(outcome.Warnings, func(w string) bool { return strings.Contains(w, c.warns) }) && c.warns != "" {
				t.Errorf("warnings: %q", outcome.Warnings)
			}
			for _, w := range outcome.Warnings {
				if strings.Contains(w, "was set") || strings.Contains(w, "slewed") {
					t.Errorf("a clock is blamed: %s", w)
				}
			}
			if p := c.premise; p.Kind != "" && !slices.ContainsFunc(outcome.Report.Premises, func(x show.Premise) bool {
				return x.Kind == p.Kind && x.Messages == p.Messages && x.Tested == p.Tested && x.Contradicted == p.Contradicted && x.Alone == p.Alone
			}) {
				t.Errorf("premises %+v", outcome.Report.Premises)
			}
			if c.bound == 0 {
				return
			}
			for _, h := range outcome.Report.Hosts {
				if h.BoundNs == nil || h.BoundAllTrueNs == nil {
					t.Errorf("%s has no bound", h.Name)
				} else if *h.BoundAllTrueNs > c.bound {
					t.Errorf("%s: bound %d ns, %d if every message is true", h.Name, *h.BoundNs, *h.BoundAllTrueNs)
				}
			}
			if c.host == "" {
				return
			}
			bounded, outside := 0, 0
			for _, row := range rows {
				if row["host"] != c.host || row["low_ns"] == "" || row["event"] == "clock bound" {
					continue
				}
				bounded++
				truth, cut := number(t, row["recorded_ns"])-c.ahead, int64(0)
				if strings.HasPrefix(row["event"], "work") {
					cut = c.cut - 1
				}
				if truth < number(t, row["low_ns"])-3 || truth+cut > number(t, row["high_ns"])+3 {
					outside++
				}
			}
			if bounded == 0 || outside > 0 {
				t.Errorf("%d of %d events of %s lie outside of their bounds", outside, bounded, c.host)
			}
		})
	}
}
