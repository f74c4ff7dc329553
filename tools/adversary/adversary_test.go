package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// truth is an outcome that places every event with a margin on both sides, by the first host's clock.
func truth(w *World, events []Event, margin int64) *Outcome {
	o := &Outcome{Hosts: map[string]HostReport{}}
	for _, h := range w.Hosts {
		o.Hosts[h.Name] = HostReport{Name: h.Name, Reference: w.Hosts[0].Name}
	}
	for _, e := range events {
		at := w.Hosts[0].Clock.read(e.At).Whole
		o.Rows = append(o.Rows, Row{Host: w.Hosts[e.Host].Name, Recorded: e.Stamp, Low: at - margin, High: at + margin, Bounded: true})
	}
	return o
}

func smallWorld(t *testing.T, name string) (*World, []Event) {
	t.Helper()
	for seed := uint64(1); ; seed++ {
		w := build(kindNamed(name), seed)
		if !w.List || len(w.Messages) > 200 {
			continue
		}
		w.settle()
		_, events, err := w.save(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return w, events
	}
}

func TestOracleCatchesOneBoundThatIsWrong(t *testing.T) {
	for _, name := range []string{"quiet", "limit", "network", "coarse"} {
		w, events := smallWorld(t, name)
		if v := w.judge(events, truth(w, events, 20)); v.Outside != 0 || v.fails(w) || v.Fault != "" {
			t.Errorf("%s: true bounds fail: %s", name, v)
		}
		for _, side := range []string{"low", "high"} {
			o := truth(w, events, 20)
			// Of events with one stamp the rows may be exchanged: the last one of all is alone.
			row := &o.Rows[len(o.Rows)-1]
			if side == "low" {
				row.Low += 25
				row.High += 1000
			} else {
				row.High -= 25
				row.Low -= 1000
			}
			if v := w.judge(events, o); v.Outside != 1 || !v.fails(w) || v.Worst < 3 || v.Worst > 6 {
				t.Errorf("%s: a %s bound on the wrong side of the event is not caught: %s", name, side, v)
			}
		}
	}
}

func TestOracleDemandsExitCodeThreeForRowsWithoutBounds(t *testing.T) {
	w, events := smallWorld(t, "quiet")
	o := truth(w, events, 20)
	o.Rows[3] = Row{Host: o.Rows[3].Host, Recorded: o.Rows[3].Recorded, Low: minInt64, High: maxInt64}
	if v := w.judge(events, o); !v.fails(w) || v.Unbounded != 1 {
		t.Errorf("a row without bounds passes with exit code 0: %s", v)
	}
	o.Exit = 3
	if v := w.judge(events, o); v.fails(w) {
		t.Errorf("a row without bounds fails with exit code 3: %s", v)
	}
	o.Rows = o.Rows[1:]
	if v := w.judge(events, o); !v.fails(w) {
		t.Errorf("a row that is missing passes")
	}
}

func TestBeyondTheAssumptionAWarningOnTheClockExcuses(t *testing.T) {
	w, events := smallWorld(t, "quiet")
	o := truth(w, events, 20)
	o.Rows[0].Low += 100
	o.Rows[0].High += 1000
	w.Kept = false
	for text, fails := range map[string]bool{
		"the clock of a was set 2 times":                false,
		"a.pcap: 3 packets cut short by the snaplength": true,
	} {
		o.Warnings = []string{text}
		if v := w.judge(events, o); v.fails(w) != fails {
			t.Errorf("with the warning %q the world fails: %t", text, v.fails(w))
		}
	}
	o.Warnings, o.Exit = nil, 3
	if v := w.judge(events, o); v.fails(w) {
		t.Error("exit code 3 does not excuse")
	}
}

// TestKeptClocksKeepTheAssumption looks for the slope that the assumption asks for, at sampled instants, with nothing of the budget.
func TestKeptClocksKeepTheAssumption(t *testing.T) {
	for _, k := range kinds {
		if !k.kept {
			continue
		}
		for seed := range uint64(12) {
			w := build(&k, seed)
			w.settle()
			l := limits{epsilon: 100, wander: 30, skew: 500}
			for i := 0; i+1 < len(w.Options); i += 2 {
				value, _ := strconv.ParseFloat(strings.TrimSuffix(w.Options[i+1], "ns"), 64)
				switch w.Options[i] {
				case "--wander":
					l.wander = value
				case "--epsilon":
					l.epsilon = value
				case "--max-skew":
					l.skew = value
				}
			}
			for a := range w.Hosts {
				for b := range a {
					checkPair(t, w, b, a, l)
				}
			}
			if t.Failed() {
				t.Fatalf("kind %s, seed %d: %s", k.name, seed, w)
			}
		}
	}
}

func checkPair(t *testing.T, w *World, a, b int, l limits) {
	t.Helper()
	var last int64 = 1
	for _, m := range w.Messages {
		last = max(last, m.Sent+m.Delay)
	}
	x := func(at int64) float64 { return w.Hosts[b].Clock.error(at) - w.Hosts[a].Clock.error(at) }
	const samples = 150
	for i := range 20 {
		at := last / 20 * int64(i)
		low, high := -l.skew*1e-6, l.skew*1e-6
		for k := range samples {
			// Instants everywhere, and more of them close by.
			to := last / samples * int64(k)
			if k%2 == 1 {
				to = at + int64(math.Pow(-1, float64(k/2))*float64(last)*math.Pow(0.8, float64(k/2)))
			}
			s := float64(to - at)
			if s == 0 {
				continue
			}
			d, g := x(to)-x(at), l.epsilon+l.wander*(s/1e9)*(s/1e9)/2
			if s > 0 {
				low, high = max(low, (d-g)/s), min(high, (d+g)/s)
			} else {
				low, high = max(low, (d+g)/s), min(high, (d-g)/s)
			}
		}
		if low > high+1e-15 {
			t.Errorf("no slope at %d ns suits all instants: from %g to %g", at, low, high)
			return
		}
	}
}

func TestBeyondClocksBreakTheAssumption(t *testing.T) {
	// Most worlds of these kinds, or they would try nothing.
	for _, name := range []string{"chronyd-start", "slew", "step", "fast", "many-steps", "pause"} {
		broken := 0
		for seed := range uint64(10) {
			w := build(kindNamed(name), seed)
			w.settle()
			var inner testing.T
			checkPair(&inner, w, 0, 1, limits{epsilon: 100, wander: 30, skew: 500})
			if inner.Failed() || len(w.Hosts) > 2 {
				broken++
			}
		}
		if broken < 5 {
			t.Errorf("%s: %d of 10 worlds break the assumption", name, broken)
		}
	}
}

func TestStampsAreTheLastStepBeforeTheReading(t *testing.T) {
	for _, g := range grains {
		for i := range int64(2000) {
			r := Reading{Whole: 1767225600*second + i*i*7919, Part: float64(i%10) / 10}
			s := g.stamp(r)
			if after := float64(r.Whole-s) + r.Part; after < 0 || after > float64(g.span())+1 {
				t.Fatalf("grain %+v: reading %v has the stamp %d", g, r, s)
			}
		}
	}
}

func TestOneSeedIsOneWorld(t *testing.T) {
	for i := range kinds {
		var worlds [2][]byte
		for k := range worlds {
			var err error
			if worlds[k], err = json.Marshal(build(&kinds[i], 5)); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(worlds[0], worlds[1]) {
			t.Errorf("%s: seed 5 makes two worlds", kinds[i].name)
		}
	}
}

func TestShrinkingKeepsTheFailureAndLittleElse(t *testing.T) {
	w, _ := smallWorld(t, "network")
	culprit := w.Messages[len(w.Messages)/2].ID
	failing := &Verdict{Outside: 1}
	small, _ := shrink(w, failing, 500, func(w *World) *Verdict {
		if slices.ContainsFunc(w.Messages, func(m Message) bool { return m.ID == culprit }) {
			return failing
		}
		return &Verdict{}
	})
	if len(small.Messages) > 2 || len(small.Options) > 0 {
		t.Errorf("%d messages are left, two would do: %s", len(small.Messages), small)
	}
}

// TestRealTableWithOneRowChangedIsCaught runs the command itself and spoils its table.
func TestRealTableWithOneRowChangedIsCaught(t *testing.T) {
	c := realCommand(t)
	w, _ := smallWorld(t, "limit")
	dir := t.TempDir()
	inputs, events, err := w.save(dir)
	if err != nil {
		t.Fatal(err)
	}
	o, err := c.run(w, dir, inputs)
	if err != nil {
		t.Fatal(err)
	}
	if v := w.judge(events, o); v.fails(w) || v.Outside > 0 {
		t.Fatalf("the world fails as it is: %s", v)
	}
	spoil(t, filepath.Join(dir, "events.csv"))
	again := &Outcome{Exit: o.Exit}
	if err := again.read(dir); err != nil {
		t.Fatal(err)
	}
	if v := w.judge(events, again); v.Outside == 0 || !v.fails(w) {
		t.Errorf("the spoiled row passes: %s", v)
	}
}

// spoil lets one bounded event of a table happen at its lower bound.
func spoil(t *testing.T, name string) {
	t.Helper()
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	records, err := csv.NewReader(file).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	column := func(name string) int { return slices.Index(records[0], name) }
	low, high, kind := column("low_ns"), column("high_ns"), column("row_kind")
	for _, r := range slices.Backward(records[1:]) {
		if r[kind] != "bounds" && r[low] != r[high] {
			r[high] = r[low]
			break
		}
	}
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(records); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestShownIsWhatNoLineFits(t *testing.T) {
	l := limits{epsilon: 100, wander: 30, skew: 500}
	// A round trip of 20 µs about an offset that jumps at 50 s.
	trace := func(jump float64) *series {
		s := &series{}
		for i := range 100 {
			at, x := float64(i)*1e9, 0.0
			if i >= 50 {
				x = jump
			}
			s.ceilings = append(s.ceilings, point{at, x + 10e3})
			s.floors = append(s.floors, point{at + 1e6, x - 10e3})
		}
		return s
	}
	for jump, want := range map[float64]bool{0: false, 19e3: false, -19e3: false, 26e3: true, -26e3: true, 1e9: true} {
		if got := trace(jump).contradicted(l); got != want {
			t.Errorf("a jump of %g ns is shown: %t", jump, got)
		}
	}
	drift := &series{} // 600 ppm
	for i := range 100 {
		at := float64(i) * 1e9
		drift.ceilings = append(drift.ceilings, point{at, at*600e-6 + 10e3})
		drift.floors = append(drift.floors, point{at, at*600e-6 - 10e3})
	}
	if !drift.contradicted(l) {
		t.Error("a skew of 600 ppm is not shown")
	}
}
