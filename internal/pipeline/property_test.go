package pipeline_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/align"
	"meridian/clock"
	"meridian/format/messages"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/show"
	"meridian/internal/sim"
	"meridian/internal/testseed"
	"meridian/trace"
)

// scenario is a few hosts with linear clocks, of which some talk, some only listen and some are alone with another.
func scenario(t *rapid.T) sim.Traffic {
	n := rapid.IntRange(2, 5).Draw(t, "hosts")
	traffic := sim.Traffic{
		Start:       clock.TimelineTime(rapid.SampledFrom([]int64{0, 1_700_000_000_000_000_000, -3_000_000_000_000}).Draw(t, "start")),
		Span:        time.Duration(rapid.IntRange(50, 60_000).Draw(t, "span, ms")) * time.Millisecond,
		Seed:        rapid.Uint64().Draw(t, "seed"),
		Granularity: rapid.SampledFrom([]int64{1, 1000}).Draw(t, "granularity"),
	}
	for i := range n {
		traffic.Hosts = append(traffic.Hosts, sim.Clock{
			Origin:   traffic.Start,
			OffsetNs: rapid.Int64Range(-1e15, 1e15).Draw(t, fmt.Sprintf("offset %d", i)),
			SkewPPM:  rapid.Float64Range(-240, 240).Draw(t, fmt.Sprintf("skew %d", i)),
		})
	}
	delay := func(name string) sim.Delay {
		return sim.Delay{
			// Not none: readings are rounded to the nearest nanosecond, and a message must not arrive before it was sent.
			Min:          time.Duration(rapid.IntRange(1, 2000).Draw(t, name+" delay, us")) * time.Microsecond,
			Jitter:       time.Duration(rapid.IntRange(0, 2000).Draw(t, name+" jitter, us")) * time.Microsecond,
			Distribution: rapid.SampledFrom([]sim.Distribution{sim.Exponential, sim.HeavyTail}).Draw(t, name+" shape"),
		}
	}
	for i := range n {
		for j := i + 1; j < n; j++ {
			name := fmt.Sprintf("link %d-%d", i, j)
			kind := rapid.SampledFrom([]string{"none", "both", "one way"}).Draw(t, name)
			if kind == "none" {
				continue
			}
			link := sim.Link{From: i, To: j, Period: traffic.Span / 20, Delay: delay(name)}
			if kind == "both" {
				back := delay(name + " back")
				link.Back = &back
			}
			traffic.Links = append(traffic.Links, link)
		}
	}
	return traffic
}

// aligned writes a problem as a list of messages and aligns it. It returns nil for a problem without messages, of which
// there is no list.
func aligned(t *rapid.T, directory string, p *trace.Problem, o pipeline.Options) (*pipeline.Outcome, []byte) {
	list := trace.List{Channels: p.Channels}
	count := 0
	for _, c := range p.Clocks {
		list.Hosts = append(list.Hosts, c.Name)
	}
	for _, c := range p.Channels {
		count += len(c.Messages)
	}
	if count == 0 {
		return nil, nil
	}
	path, report := filepath.Join(directory, "list.txt"), filepath.Join(directory, "report.json")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := messages.Write(file, &list); err != nil {
		t.Fatal(err)
	}
	inputs, err := input.Parse([]string{path})
	if err != nil {
		t.Fatal(err)
	}
	o.Outputs = []string{report}
	outcome, err := pipeline.Run(t.Context(), inputs, o)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(report)
	if err != nil {
		t.Fatal(err)
	}
	return outcome, text
}

func TestReportHasAllThatTheDesignPromises(t *testing.T) {
	directory := t.TempDir()
	testseed.Check(t, func(t *rapid.T) {
		traffic := scenario(t)
		problem, _ := traffic.Generate()
		o := pipeline.Options{}
		o.Align.Method = rapid.SampledFrom([]string{"envelope", "hull", "regression", "regression-filtered", "lts", "interval"}).Draw(t, "method")
		o.Align.Network = rapid.SampledFrom(append([]string{""}, align.Networks()[1:]...)).Draw(t, "network")
		o.Align.Repair = rapid.SampledFrom(append([]string{""}, pipeline.Repairs()...)).Draw(t, "repair")
		_, text := aligned(t, directory, &problem, o)
		if text == nil {
			return
		}
		var report map[string]any
		decoder := json.NewDecoder(strings.NewReader(string(text)))
		decoder.UseNumber()
		if err := decoder.Decode(&report); err != nil {
			t.Fatal(err)
		}
		has(t, report, "reference method network assumption wander_ppb_s epsilon_ns max_skew_ppm repair steps routes hosts pairs quality warnings")
		for _, step := range report["steps"].([]any) {
			has(t, step, "host at_ns by_ns")
		}
		for _, route := range report["routes"].([]any) {
			has(t, route, "from to at_ns by_ns")
		}
		if o.Align.Repair != "" {
			repair := has(t, report["repair"], "method inversions largest_ns remaining remaining_ns")
			if integer(t, repair["inversions"]) < 0 || integer(t, repair["largest_ns"]) < 0 {
				t.Fatalf("repaired %v", repair)
			}
		}
		within := o.Align.Method == "hull" && o.Align.Network == "" && o.Align.Repair == ""
		for _, host := range report["hosts"].([]any) {
			h := has(t, host, "name component addresses skew_ppm map error")
			for _, e := range h["error"].([]any) {
				has(t, e, "host_ns sd_ns")
			}
			integer(t, h["component"])
			checkMap(t, h, within)
		}
		for _, pair := range report["pairs"].([]any) {
			p := has(t, pair, "a b messages_ab messages_ba min_rtt_ns fit offset_ns skew_ppm bound_ns sigma evidence_nats")
			integer(t, p["messages_ab"])
			integer(t, p["messages_ba"])
			if !slices.Contains([]string{"exact", "fallback", "one-way", "absent"}, p["fit"].(string)) {
				t.Fatalf("fit %v", p["fit"])
			}
			for _, name := range []string{"min_rtt_ns", "offset_ns", "bound_ns"} {
				if p[name] != nil {
					integer(t, p[name])
				}
			}
		}
		quality := has(t, report["quality"], "messages inversions inversions_beyond_granularity too_fast bound_ns")
		has(t, quality["bound_ns"], "best mean worst")
	})
}

// checkMap holds the map of a host of a report: its knots are in order and have bounds that something lies between, which
// is the estimate if within.
func checkMap(t *rapid.T, h map[string]any, within bool) {
	knots := h["map"].([]any)
	if len(knots) == 0 {
		t.Fatalf("%v has no map", h["name"])
	}
	var before int64
	for i, knot := range knots {
		k := has(t, knot, "host_ns timeline_ns low_ns high_ns")
		at, middle := integer(t, k["host_ns"]), integer(t, k["timeline_ns"])
		if i > 0 && at <= before {
			t.Fatalf("%v: knots out of order", h["name"])
		}
		before = at
		low, high := middle, middle
		if k["low_ns"] != nil {
			low = integer(t, k["low_ns"])
		}
		if k["high_ns"] != nil {
			high = integer(t, k["high_ns"])
		}
		switch {
		case within && (low > middle || middle > high):
			t.Fatalf("%v: the estimate is not between its bounds: %v", h["name"], k)
		case k["low_ns"] != nil && k["high_ns"] != nil && low > high:
			// A line of least squares may leave the bounds, which must be some nevertheless.
			t.Fatalf("%v: nothing is between the bounds: %v", h["name"], k)
		}
	}
}

// has returns an object that has all the fields.
func has(t *rapid.T, value any, fields string) map[string]any {
	object, ok := value.(map[string]any)
	if !ok {
		t.Fatalf("%v is no object", value)
	}
	for _, name := range strings.Fields(fields) {
		if _, there := object[name]; !there {
			t.Fatalf("%s is not in %v", name, object)
		}
	}
	return object
}

// integer returns a number that is written as an int64: no fraction, no exponent.
func integer(t *rapid.T, value any) int64 {
	n, err := strconv.ParseInt(string(value.(json.Number)), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestTruthLiesWithinTheReportedBoundsWhileClocksAreLinear(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	testseed.Check(t, func(t *rapid.T) {
		traffic := scenario(t)
		problem, _ := traffic.Generate()
		outcome, _ := aligned(t, directory, &problem, pipeline.Options{})
		if outcome == nil {
			return
		}
		report := outcome.Report
		// Where there is one way only between any two hosts, all messages lie on it and none may be inverted.
		components := 0
		for i := range report.Hosts {
			components = max(components, report.Hosts[i].Component+1)
		}
		if n := report.Quality.InversionsBeyondGranularity; n > 0 && len(report.Pairs) == len(report.Hosts)-components {
			t.Fatalf("%d inversions", n)
		}
		hosts := make(map[string]*show.Host)
		for i := range report.Hosts {
			hosts[report.Hosts[i].Name] = &report.Hosts[i]
		}
		for _, channel := range problem.Channels {
			for _, end := range []int{channel.From, channel.To} {
				host := hosts[problem.Clocks[end].Name]
				if host == nil {
					if len(channel.Messages) > 0 {
						t.Fatalf("%s has messages and is not in the report", problem.Clocks[end].Name)
					}
					continue
				}
				reference := slices.IndexFunc(problem.Clocks, func(c trace.Clock) bool { return c.Name == host.Reference })
				m := host.ClockMap()
				for _, x := range channel.Messages {
					stamp := x.Sent
					if end == channel.To {
						stamp = x.Received
					}
					// A stamp was cut down to the granularity: the clock showed it earlier than the event happened.
					truth := traffic.On(reference, end, stamp)
					low, high, lowOK, highOK := m.Bounds(stamp)
					// Readings are rounded to the nearest nanosecond, on both clocks.
					const rounding = 2
					if lowOK && truth < clock.TimelineTime(clock.Sub(low, rounding)) || highOK && truth > clock.Add(high, rounding) {
						t.Fatalf("%s: its %d is %d, which is not from %d to %d", host.Name, stamp, truth, low, high)
					}
				}
			}
		}
	})
}
