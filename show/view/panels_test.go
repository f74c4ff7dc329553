package view

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// logic is the code of the panels in a real Chromium, without a page: what it computes is asked for as JSON.
type logic struct {
	t   *testing.T
	ctx context.Context
}

// panelLogic loads the files of page whose functions are to be asked; App is there so that they can register.
func panelLogic(t *testing.T) *logic {
	t.Helper()
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome", "headless-shell"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("MERIDIAN_CI") == "1" {
			t.Fatal("no Chromium, and MERIDIAN_CI=1 says there must be one")
		}
		t.Skip("no Chromium on this machine")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewExecAllocator(ctx, append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox)...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	l := &logic{t, ctx}
	var code strings.Builder
	code.WriteString(`"use strict"; (() => { const App = { on() {}, about: null };` + "\n")
	names := []string{"Time", "Elements", "Query", "Tables", "Details", "Order", "Measure", "Search", "Violations", "Clocks", "Delays", "Chain", "Switches", "Share", "Help"}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("page", strings.ToLower(name)+".js"))
		if err != nil {
			t.Fatal(err)
		}
		code.Write(text)
	}
	fmt.Fprintf(&code, "Object.assign(globalThis, { %s });\n})(); true", strings.Join(names, ", "))
	if err := chromedp.Do(ctx, chromedp.Navigate("about:blank")); err != nil {
		t.Fatal(err)
	}
	if !value[bool](l, code.String()) {
		t.Fatal("the code did not load")
	}
	return l
}

// value evaluates an expression; a promise is waited for.
func value[T any](l *logic, script string) T {
	l.t.Helper()
	v, err := chromedp.Run(l.ctx, chromedp.Evaluate[T](script, chromedp.EvalAwaitPromise))
	if err != nil {
		l.t.Fatalf("%.200s: %v", script, err)
	}
	return v
}

// literal writes a value as JavaScript.
func literal(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}

func TestSearchFindsWhatTheExamplesSay(t *testing.T) {
	l := panelLogic(t)
	text, err := os.ReadFile("../index/testdata/search.json")
	if err != nil {
		t.Fatal(err)
	}
	var examples struct {
		Events  []json.RawMessage
		Queries []struct {
			Q     string
			Found []int
			Error bool
		}
	}
	if err := json.Unmarshal(text, &examples); err != nil {
		t.Fatal(err)
	}
	if len(examples.Events) < 5 || len(examples.Queries) < 50 {
		t.Fatalf("%d events and %d queries", len(examples.Events), len(examples.Queries))
	}
	got := value[[]struct {
		Found []int
		Error string
	}](l, fmt.Sprintf(`(({ events, queries }) => queries.map(({ q }) => {
		try { const p = Query.parse(q); return { found: events.flatMap((e, i) => (Query.matches(p, e) ? [i] : [])), error: "" }; }
		catch (e) { return { found: [], error: e.message }; }
	}))(%s)`, text))
	for i, q := range examples.Queries {
		if (got[i].Error != "") != q.Error || !slices.Equal(got[i].Found, q.Found) {
			t.Errorf("%s: found %v, error %q; want %v, an error: %v", q.Q, got[i].Found, got[i].Error, q.Found, q.Error)
		}
	}
}

// end is an end as the page's Order has it, with the stamp as text.
type end struct {
	Event     int      `json:"event"`
	At        float64  `json:"at"`
	Row       int      `json:"row"`
	Clock     int      `json:"clock"`
	Recorded  string   `json:"recorded"`
	Low       *float64 `json:"low"`
	High      *float64 `json:"high"`
	Component int      `json:"component"`
}

// withStamps makes BigInts of stamps on the page's side.
const withStamps = `const withStamps = (e) => ({ ...e, recorded: e.recorded === "" ? null : BigInt(e.recorded) });`

func TestTwoEventsAreOrderedIfAndOnlyIfEveryPairOfTrueTimesIs(t *testing.T) {
	l := panelLogic(t)
	random := rand.New(rand.NewPCG(7, 7))
	type pair struct {
		A, B        end
		Granularity float64
	}
	side := func(v float64) *float64 {
		if random.IntN(12) == 0 {
			return nil
		}
		return &v
	}
	var pairs []pair
	for range 3000 {
		one := func(event int) end {
			at, clock := float64(random.IntN(40)), random.IntN(3)-1
			e := end{Event: event, At: at, Clock: clock, Row: clock + 1, Recorded: fmt.Sprint(1_700_000_000_000_000_000 + int64(at)), Component: random.IntN(8) / 7}
			e.Low, e.High = side(at-float64(random.IntN(12))), side(at+float64(random.IntN(12)))
			if clock < 0 {
				e.Low, e.High = &e.At, &e.At
			}
			return e
		}
		p := pair{A: one(1), B: one(2), Granularity: float64(random.IntN(4))}
		p.B.Component = p.A.Component
		if p.A.Clock != p.B.Clock && random.IntN(6) == 0 {
			p.B.Component++
		}
		pairs = append(pairs, p)
	}
	got := value[[]struct {
		Answer, Why string
		Margin      *float64
	}](l, fmt.Sprintf(`(() => { %s return %s.map(({ A, B, Granularity }) => Order.judge(withStamps(A), withStamps(B), { granularity: Granularity })); })()`, withStamps, literal(pairs)))
	counts := map[string]int{}
	for i, p := range pairs {
		// All instants, at half a ns, at which each may have happened; without a bound, as far as the others reach.
		times := func(e end) (ts []float64) {
			low, high := -100.0, 200.0
			if e.Low != nil {
				low = *e.Low
			}
			if e.High != nil {
				high = *e.High
			}
			for x := low; x <= high; x += 0.5 {
				ts = append(ts, x)
			}
			return ts
		}
		as, bs := times(p.A), times(p.B)
		want := "unknown"
		switch {
		case p.A.Clock >= 0 && p.A.Clock == p.B.Clock:
			step := max(1, p.Granularity)
			if p.B.At-p.A.At >= step {
				want = "yes"
			} else if p.A.At-p.B.At >= step {
				want = "no"
			}
		case p.A.Component != p.B.Component:
		case slices.Max(as) < slices.Min(bs) && p.A.High != nil && p.B.Low != nil:
			want = "yes"
		case slices.Max(bs) < slices.Min(as) && p.B.High != nil && p.A.Low != nil:
			want = "no"
		}
		if got[i].Answer != want {
			t.Fatalf("%s: %+v, want %s", literal(p), got[i], want)
		}
		counts[got[i].Why]++
		if got[i].Why == "intervals" {
			// The margin is the distance of the intervals, or by how much they overlap.
			gap := math.Inf(-1)
			if p.A.High != nil && p.B.Low != nil {
				gap = *p.B.Low - *p.A.High
			}
			if p.B.High != nil && p.A.Low != nil {
				gap = max(gap, *p.A.Low-*p.B.High)
			}
			if *got[i].Margin != gap {
				t.Fatalf("%s: margin %v, want %v", literal(p), *got[i].Margin, gap)
			}
		}
	}
	for _, why := range []string{"clock", "granularity", "intervals", "unbounded", "half", "unconnected"} {
		if counts[why] == 0 {
			t.Errorf("no pair was decided by %q: %v", why, counts)
		}
	}
}
