//go:build !race

package viewtest

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPanels runs all that is tested of panels: first what they compute, against brute force and examples; then, in the
// page of a timeline of which all is known, what people see when they click and type.
func TestPanels(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"SearchFindsWhatTheExamplesSay", b.SearchFindsWhatTheExamplesSay},
		{"TwoEventsAreOrderedIfAndOnlyIfEveryPairOfTrueTimesIs", b.TwoEventsAreOrderedIfAndOnlyIfEveryPairOfTrueTimesIs},
		{"AChainOfMessagesOrdersEventsWhateverTheClocksSay", b.AChainOfMessagesOrdersEventsWhateverTheClocksSay},
		{"ASpanBetweenTwoHostsIsNeverSurerThanBothBounds", b.ASpanBetweenTwoHostsIsNeverSurerThanBothBounds},
		{"TheChainOfARequestIsTheOneThatWasMade", b.TheChainOfARequestIsTheOneThatWasMade},
		{"HistogramsKeepTheirOrderAndSharesWithinTheBox", b.HistogramsKeepTheirOrderAndSharesWithinTheBox},
		{"ASharedAddressBringsBackTheViewAndNothingThatDoesNotFit", b.ASharedAddressBringsBackTheViewAndNothingThatDoesNotFit},
		{"AVerdictOfThePageIsThatOfTheContract", b.AVerdictOfThePageIsThatOfTheContract},
		{"DetailsSayAllThatIsKnownOfAnEvent", b.DetailsSayAllThatIsKnownOfAnEvent},
		{"TheOrderOfTwoEventsIsAnsweredWithItsReason", b.TheOrderOfTwoEventsIsAnsweredWithItsReason},
		{"EventsThatNoMessageOrdersAreJudgedByTheirIntervals", b.EventsThatNoMessageOrdersAreJudgedByTheirIntervals},
		{"ASpanIsMeasuredByDraggingAndByTwoClicks", b.ASpanIsMeasuredByDraggingAndByTwoClicks},
		{"ViolationsAreListedByVerdictAndGoneTo", b.ViolationsAreListedByVerdictAndGoneTo},
		{"DelaysAndClocksAreDrawnAndTold", b.DelaysAndClocksAreDrawnAndTold},
		{"AChainIsFollowedAcrossHosts", b.AChainIsFollowedAcrossHosts},
		{"ASearchGoesOnOverSeveralAnswersAndMarksWhatItFinds", b.ASearchGoesOnOverSeveralAnswersAndMarksWhatItFinds},
		{"SwitchesHideWhatTheyName", b.SwitchesHideWhatTheyName},
		{"ASharedLinkShowsTheSame", b.ASharedLinkShowsTheSame},
		{"HelpListsEveryKeyOnce", b.HelpListsEveryKeyOnce},
		{"TablesSayWhatIsInView", b.TablesSayWhatIsInView},
		{"PanelsCanBeUsedWithoutSeeingThem", b.PanelsCanBeUsedWithoutSeeingThem},
		{"NothingOfATraceIsMarkupInThePanels", b.NothingOfATraceIsMarkupInThePanels},
		{"AFileFromADiskSearchesByItself", b.AFileFromADiskSearchesByItself},
	})
}

func (b *panelBrowser) SearchFindsWhatTheExamplesSay(t *testing.T) {
	l := b.load(t)
	text, err := os.ReadFile("../../internal/show/index/testdata/search.json")
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

func (b *panelBrowser) TwoEventsAreOrderedIfAndOnlyIfEveryPairOfTrueTimesIs(t *testing.T) {
	l := b.load(t)
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
		want := orderOf(p.A, p.B, p.Granularity)
		if got[i].Answer != want {
			t.Fatalf("%s: %+v, want %s", literal(p), got[i], want)
		}
		counts[got[i].Why]++
		if got[i].Why == "intervals" {
			gap := gapOf(p.A, p.B)
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

// instants lists all instants, at half a ns, at which an event may have happened; without a bound, as far as the others reach.
func (e end) instants() (ts []float64) {
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

// orderOf answers whether a is before b by the definition: at all instants at which both may have happened.
func orderOf(a, b end, granularity float64) string {
	as, bs := a.instants(), b.instants()
	switch {
	case a.Clock >= 0 && a.Clock == b.Clock:
		step := max(1, granularity)
		if b.At-a.At >= step {
			return "yes"
		} else if a.At-b.At >= step {
			return "no"
		}
	case a.Component != b.Component:
	case slices.Max(as) < slices.Min(bs) && a.High != nil && b.Low != nil:
		return "yes"
	case slices.Max(bs) < slices.Min(as) && b.High != nil && a.Low != nil:
		return "no"
	}
	return "unknown"
}

// gapOf is the distance of two intervals, or, negative, by how much they overlap.
func gapOf(a, b end) float64 {
	gap := math.Inf(-1)
	if a.High != nil && b.Low != nil {
		gap = *b.Low - *a.High
	}
	if b.High != nil && a.Low != nil {
		gap = max(gap, *a.Low-*b.High)
	}
	return gap
}

type message struct {
	Sent     end `json:"sent"`
	Received end `json:"received"`
}

// chainProblem is two events and the messages by which one may be known to be before the other.
type chainProblem struct {
	A, B     end
	Messages []message
}

// newChainProblem makes one at random, and says by the closure of all messages whether A is before B, and B before A.
func newChainProblem(random *rand.Rand) (p chainProblem, before [2]bool) {
	// Events happen at true instants; each clock is off by a constant, so that the corrected times mislead.
	offsets := make([]int, 4)
	for i := range offsets {
		offsets[i] = random.IntN(60) - 30
	}
	n := 6 + random.IntN(40)
	ends, truth := make([]end, n), make([]int, n)
	for i := range ends {
		clock := random.IntN(len(offsets))
		truth[i] = i * 3
		at := truth[i] + offsets[clock]
		ends[i] = end{Event: i, At: float64(at), Row: clock, Clock: clock, Recorded: fmt.Sprint(at)}
	}
	after := make([][]bool, n) // after[i][j]: i is known to be before j
	for i := range after {
		after[i] = make([]bool, n)
		for j := i + 1; j < n; j++ {
			after[i][j] = ends[i].Clock == ends[j].Clock
		}
	}
	for range random.IntN(100) {
		i := random.IntN(n)
		j := min(n-1, i+1+random.IntN(8))
		if d := ends[i].Clock - ends[j].Clock; i < j && (d == 1 || d == -1) { // only neighbours talk, so that chains are long
			p.Messages = append(p.Messages, message{ends[i], ends[j]})
			after[i][j] = true
		}
	}
	for k := range n {
		for i := range n {
			for j := range n {
				after[i][j] = after[i][j] || after[i][k] && after[k][j]
			}
		}
	}
	i, j := random.IntN(n), random.IntN(n)
	p.A, p.B = ends[i], ends[j]
	return p, [2]bool{after[i][j], after[j][i]}
}

func (b *panelBrowser) AChainOfMessagesOrdersEventsWhateverTheClocksSay(t *testing.T) {
	l := b.load(t)
	random := rand.New(rand.NewPCG(1, 2))
	var problems []chainProblem
	var want [][2]bool
	for range 300 {
		p, after := newChainProblem(random)
		if p.A.Clock == p.B.Clock {
			continue
		}
		problems = append(problems, p)
		want = append(want, after)
	}
	got := value[[][2][]message](l, fmt.Sprintf(`(() => { %s return %s.map(({ A, B, Messages }) => {
		const a = withStamps(A), b = withStamps(B), m = (Messages ?? []).map(({ sent, received }) => ({ sent: withStamps(sent), received: withStamps(received) }));
		const text = (hops) => (hops ?? []).map(({ sent, received }) => ({ sent: { ...sent, recorded: String(sent.recorded) }, received: { ...received, recorded: String(received.recorded) } }));
		return [text(Order.through(a, b, m, () => 1)), text(Order.through(b, a, m, () => 1))];
	}); })()`, withStamps, literal(problems)))
	long := 0
	for i, p := range problems {
		for way, chain := range got[i] {
			if (len(chain) > 0) != want[i][way] {
				t.Fatalf("%s: a chain of %d messages, want one: %v", literal(p), len(chain), want[i][way])
			}
			from, to := p.A, p.B
			if way == 1 {
				from, to = to, from
			}
			for _, m := range chain { // each begins where the one before ended, or later on the same clock
				if m.Sent.Clock != from.Clock || m.Sent.At < from.At {
					t.Fatalf("%s: the chain %s is broken", literal(p), literal(chain))
				}
				from = m.Received
			}
			if len(chain) > 0 && (from.Clock != to.Clock || from.At > to.At) {
				t.Fatalf("%s: the chain %s does not end there", literal(p), literal(chain))
			}
			if len(chain) > 1 {
				long++
			}
		}
	}
	if long < 10 {
		t.Errorf("only %d chains of several messages", long)
	}
	if got := value[string](l, `(() => { const e = (event, clock, at) => ({ event, clock, at, row: clock, recorded: BigInt(at), low: at, high: at, component: 0 });
		const j = Order.judge(e(1, 0, 50), e(2, 1, 10), { path: { way: "ab", hops: [{}] } }); return j.answer + " " + j.why + " " + j.against; })()`); got != "yes message true" {
		t.Errorf("a message against the clocks says %q", got)
	}
}

func (b *panelBrowser) ASpanBetweenTwoHostsIsNeverSurerThanBothBounds(t *testing.T) {
	l := b.load(t)
	got := value[string](l, `(() => {
		const e = (clock, at, low, high, component = 0) => ({ clock, at, low, high, component, recorded: null });
		const d = (a, b, g) => { const r = Relation.difference(a, b, g); return [r.delta, r.low, r.high, r.comparable].join(" "); };
		return [d(e(0, 10, 8, 13), e(1, 100, 99, 104)), d(e(0, 10, null, 13), e(1, 100, 99, 104)), d(e(0, 10, 8, 13), e(0, 100, 99, 104), 2),
			d(e(0, 10, 8, 13, 0), e(1, 100, 99, 104, 1)), d(e(-1, 10, 10, 10), e(1, 100, 99, 104))].join("|");
	})()`)
	if want := "90 86 96 true|90 86  true|90 88 92 true|90   false|90 89 94 true"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func (b *panelBrowser) TheChainOfARequestIsTheOneThatWasMade(t *testing.T) {
	l := b.load(t)
	// client row 0 -> web row 1 -> database row 2 and back, with other messages and events between.
	const script = `(async () => {
		const events = [];
		const add = (row, at) => { const e = { event: events.length, row, at, class: 0, fields: [] }; events.push(e); return e; };
		const link = (a, b) => { a.flow = { received: b.event }; b.flow = { sent: a.event }; };
		const send1 = add(0, 10); add(0, 12); const other1 = add(3, 14); const get1 = add(1, 20); add(1, 25); const other2 = add(4, 26);
		const send2 = add(1, 30); const get2 = add(2, 45); const send3 = add(2, 60); const get3 = add(1, 80); const send4 = add(1, 90); const get4 = add(0, 99); add(0, 101);
		link(send1, get1); link(send2, get2); link(send3, get3); link(send4, get4); link(other1, other2);
		const hostOf = (row) => [0, 1, 2, 1, 2][row];
		const source = () => Chain.scanner(async (from, count) => events.slice(from, from + count), events.length, hostOf, { block: 4 });
		const hops = (c) => c.hops.map((h) => h.sent.event + ">" + h.received.event).join(" ");
		const out = [];
		for (const e of [send1, get2, get4, events[events.length - 1]]) out.push(hops(await Chain.follow(e, source())));
		out.push(hops(await Chain.follow(get2, source(), { most: 2 })));
		out.push(hops(await Chain.follow(send3, source(), { pause: 10 })));
		const s = Chain.sums(await Chain.follow(get2, source()), hostOf);
		out.push(JSON.stringify(s));
		return out.join("\n");
	})()`
	const all = "0>3 6>7 8>9 10>11"
	want := strings.Join([]string{all, all, all, all, "6>7 8>9", "8>9 10>11", `{"total":89,"wire":54,"hosts":[{"host":1,"time":20},{"host":2,"time":15}]}`}, "\n")
	if got := value[string](l, script); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// Pauses between requests are found among those within them, and the chain is cut there, around its start.
	cut := value[string](l, `(() => {
		const hops = [0, 100, 5000, 5100, 9000, 9130].map((at) => ({ sent: { at }, received: { at: at + 20 } })), chain = { hops, back: 3, full: true, start: hops[2].received };
		const limit = Chain.pauseOf(hops.slice(1).map((h, i) => h.sent.at - hops[i].received.at)), c = Chain.cut(chain, limit), all = Chain.cut(chain, Chain.pauseOf([5, 6, 9, 20]));
		return [limit > 110 && limit < 3880, c.hops.map((h) => h.sent.at).join(), c.back, c.full, all.hops.length, all.full, Chain.cut({ hops: [], back: 0, start: null, full: false }, 5).hops.length].join(" ");
	})()`)
	if cut != "true 5000,5100 1 false 6 true 0" {
		t.Errorf("cut at pauses: %s", cut)
	}
	// A file may claim circles.
	circle := value[float64](l, `(async () => {
		const events = [{ event: 0, row: 0, at: 0, flow: { sent: 1, received: 1 } }, { event: 1, row: 0, at: 0, flow: { sent: 0, received: 0 } }];
		const c = await Chain.follow(events[0], Chain.scanner(async (f, n) => events.slice(f, f + n), 2, () => 0));
		return c.hops.length;
	})()`)
	if circle > 4 {
		t.Errorf("a circle of two messages makes a chain of %v", circle)
	}
}

func (b *panelBrowser) HistogramsKeepTheirOrderAndSharesWithinTheBox(t *testing.T) {
	l := b.load(t)
	random := rand.New(rand.NewPCG(3, 3))
	type pair struct {
		Buckets  [][3]float64 `json:"buckets"`
		Least    float64      `json:"least"`
		Greatest float64      `json:"greatest"`
		Mean     float64      `json:"mean"`
	}
	pairs := []pair{
		{Buckets: [][3]float64{{100, 100, 5}}, Least: 100, Greatest: 100, Mean: 100},
		{Buckets: [][3]float64{{0, 1, 5}}, Least: 0, Greatest: 0, Mean: 0},
		{Buckets: [][3]float64{{-2000, -1000, 5}, {0, 1, 0}, {1e6, 2e6, 50}}, Least: -1500, Greatest: 1.2e6, Mean: 8e5},
		{},
	}
	for range 60 {
		p := pair{}
		at := float64(random.IntN(1_000_000)) + 1
		if random.IntN(3) == 0 {
			at = -at
		}
		p.Least = at
		for range 1 + random.IntN(40) {
			to := at + math.Abs(at)*0.2 + 10
			p.Buckets = append(p.Buckets, [3]float64{at, to, float64(random.IntN(1000))})
			at = to
		}
		p.Greatest, p.Mean = at, (p.Least+at)/2
		pairs = append(pairs, p)
	}
	type bar struct{ X, Y, Width, Height, From, N float64 }
	got := value[[]struct {
		Bars  []bar
		Most  float64
		Ticks []struct{ X, Value float64 }
		Marks map[string]struct{ X float64 }
	}](l, literal(pairs)+`.map((p) => { const { bars, most, ticks, marks } = Delays.layout({ ...p, buckets: p.buckets ?? [] }, 400, 100); return { bars, most, ticks, marks }; })`)
	for i, p := range pairs {
		g := got[i]
		full := slices.DeleteFunc(slices.Clone(p.Buckets), func(b [3]float64) bool { return b[2] == 0 })
		if len(g.Bars) != len(full) {
			t.Fatalf("%s: %d bars", literal(p), len(g.Bars))
		}
		for k, b := range g.Bars {
			if b.X < 0 || b.X+b.Width > 401 || b.Width < 1 || b.Y < 0 || math.Abs(b.Y+b.Height-100) > 1e-9 || k > 0 && b.X < g.Bars[k-1].X {
				t.Fatalf("%s: bar %d is %+v", literal(p), k, b)
			}
			if want := max(1, 100*b.N/g.Most); math.Abs(b.Height-want) > 1e-9 {
				t.Fatalf("%s: bar %d has height %v, want %v", literal(p), k, b.Height, want)
			}
		}
		for k, tick := range g.Ticks {
			if tick.X < 0 || tick.X > 400 || k > 0 && (tick.X-g.Ticks[k-1].X < 40 || tick.Value <= g.Ticks[k-1].Value) {
				t.Fatalf("%s: ticks %+v", literal(p), g.Ticks)
			}
		}
		if m := g.Marks; m["least"].X > m["mean"].X || m["mean"].X > m["greatest"].X || m["least"].X < 0 || m["greatest"].X > 400 {
			t.Fatalf("%s: marks %+v", literal(p), m)
		}
	}
	if got := value[string](l, `JSON.stringify([Delays.uncertainty({ low: true, high: true, corners: [[0, 5, 7, 0], [9, 1, 2, 0]] }, { low: true, high: false, corners: [[0, 3, 4, 0]] }), Delays.uncertainty(null, null)])`); got != `[{"low":-10,"high":null},{"low":0,"high":0}]` {
		t.Errorf("uncertainties %s", got)
	}
}

func (b *panelBrowser) ASharedAddressBringsBackTheViewAndNothingThatDoesNotFit(t *testing.T) {
	l := b.load(t)
	const limits = `{ events: 1000, hosts: 4, rows: 6, classes: 9, links: 3 }`
	round := value[string](l, `(() => {
		const s = { from: -1.5, to: 2e9, raw: true, a: 7, b: null, hidden: { hosts: [1], rows: [5, 0, 1, 2], classes: [], links: [2] }, collapsed: ["h1", "3", "k0.CPU, 1&2"], order: [5, 0, 1, 2, 4, 3], idle: true, notes: [{ at: 5, row: -1, text: "50 %, = & <b>:" }, { at: -2, to: 9, row: -1, text: "ü" }, { at: 7, row: 3, text: "c" }], q: "len>5 \"a|b\" ü#&=%" };
		const r = Share.read("#" + Share.write(s), `+limits+`);
		r.hidden.rows.sort(); s.hidden.rows.sort();
		return [JSON.stringify(r) === JSON.stringify({ ...s, collapsed: r.collapsed }), JSON.stringify(r.collapsed), Ranges.ranges([1, 2, 3, 7, 9, 8])].join(" ");
	})()`)
	if round != `true ["h1","3","k0.CPU, 1&2"] 1-3,7,9,8` {
		t.Errorf("round trip %s", round)
	}
	for text, want := range map[string]string{
		"":                           "null",
		"#anything":                  "null",
		"#v=1&t=5,1&a=1000&b=-1":     `{"from":null,"to":null,"raw":false,"a":null,"b":null,"hidden":{"hosts":[],"rows":[],"classes":[],"links":[]},"collapsed":[],"order":null,"idle":false,"notes":null,"q":""}`,
		"#v=1&t=NaN,1&a=1e9&order=0": `{"from":null,"to":null,"raw":false,"a":null,"b":null,"hidden":{"hosts":[],"rows":[],"classes":[],"links":[]},"collapsed":[],"order":null,"idle":false,"notes":null,"q":""}`,
		"#v=1&t=0,9&hosts=0-999999999,2,x,3-&rows=7&classes=8-2&links=1,1,1&fold=%25,h1,<b>,k1.%3Cb%3E&order=0-5,0-5": `{"from":0,"to":9,"raw":false,"a":null,"b":null,"hidden":{"hosts":[0,1,2,3],"rows":[],"classes":[],"links":[1]},"collapsed":["h1","k1.<b>"],"order":[0,1,2,3,4,5],"idle":false,"notes":null,"q":""}`,
	} {
		if got := value[string](l, fmt.Sprintf(`JSON.stringify(Share.read(%s, %s))`, literal(text), limits)); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func (b *panelBrowser) AVerdictOfThePageIsThatOfTheContract(t *testing.T) {
	l := b.load(t)
	got := value[string](l, `[[5, 1, 9, 0], [-5, -9, -1, 0], [-5, -9, 1, 0], [-5, -9, -1, 5], [-5, null, null, 0]].map(([delta, low, high, step]) => Violations.judge({ delta, low, high }, step).id).join(" ") + " " + Violations.verdicts.length`)
	if got != "ordered certain undecidable step undecidable 5" {
		t.Errorf("verdicts %s", got)
	}
}
