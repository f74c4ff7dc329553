//go:build !race

package viewtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"meridian/internal/show/index"
	"meridian/internal/show/view"
)

// TestHonesty runs what the page may claim of clocks: what it is sure of, what it is not, and why.
func TestHonesty(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"HostsThatNothingConnectsStandApart", b.HostsThatNothingConnectsStandApart},
		{"EveryPanelSaysTheSameOfOneMessage", b.EveryPanelSaysTheSameOfOneMessage},
		{"ADelayIsNeverBelowTheLeast", b.ADelayIsNeverBelowTheLeast},
		{"RawTimeCountsAndListsInversionsAndKeepsAllHostsInSight", b.RawTimeCountsAndListsInversionsAndKeepsAllHostsInSight},
		{"ABoundSaysWhyItIsWide", b.ABoundSaysWhyItIsWide},
		{"MeasuringWorksOnHostLinesAndBelowTheRows", b.MeasuringWorksOnHostLinesAndBelowTheRows},
	})
}

// both sizes and schemes in which pictures are looked at.
func (p *panelPage) shots(name string) {
	p.t.Helper()
	if shots() == "" {
		return
	}
	for _, size := range [][2]int64{{1400, 900}, {820, 900}} {
		if err := chromedp.Do(p.ctx, chromedp.EmulateViewport(size[0], size[1])); err != nil {
			p.t.Fatal(err)
		}
		for range 2 {
			value[bool](p.logic, `(document.getElementById("do-theme").click(), true)`)
			p.still()
			p.shot(fmt.Sprintf("%s-%d-%s", name, size[0], value[string](p.logic, `meridian.theme.dark ? "dark" : "light"`)))
		}
	}
	if err := chromedp.Do(p.ctx, chromedp.EmulateViewport(1400, 860)); err != nil {
		p.t.Fatal(err)
	}
}

// apartScene is the scene without the messages of the database: nothing connects its host.
type apartScene struct{ *scene }

func (s apartScene) About() *index.About {
	a := s.scene.About()
	a.Hosts[2].Component, a.Hosts[2].Reference, a.Clocks[2].Component = 1, "db", 1
	a.Links, a.Delays, a.Messages = []index.Link{a.Links[0], a.Links[3]}, []index.Histogram{a.Delays[0], a.Delays[3]}, 80
	a.Verdicts = [5]int64{78, 1, 1, 0, 0}
	return a
}

func (s apartScene) Events(from int64, count int) ([]index.Event, error) {
	list, err := s.scene.Events(from, count)
	for i := range list {
		if c := list[i].Class; c >= 2 && c <= 5 {
			list[i].Flow = nil
		}
	}
	return list, err
}

func (b *panelBrowser) HostsThatNothingConnectsStandApart(t *testing.T) {
	p := b.serve(t, apartScene{newScene("")}, "light", viewed)
	p.still()
	const band = `document.querySelector("#names .band")`
	p.until(`document.getElementById("notice").textContent.includes("no messages lead between (client, web) and (db)")`, "nothing says that db is not connected")
	if !value[bool](p.logic, `(() => { const h = document.querySelector("#line-h2").getBoundingClientRect(), w = document.querySelector("#line-2").getBoundingClientRect(), b = `+band+`.getBoundingClientRect();
		return b.top >= w.bottom - 1 && b.bottom <= h.top + 1 && b.height >= 40; })()`) {
		t.Error("no band lies between what is connected and what is not")
	}
	p.draws(`(() => { const b = `+band+`.getBoundingClientRect(); return near(pixel("rows", meridian.plot.left + meridian.plot.width - 20, b.top + 14), css(meridian.theme.panel), 40) && !near(pixel("rows", meridian.plot.left + meridian.plot.width - 20, b.top + 14), css(meridian.theme.ground), 4); })()`, "the band is not drawn over the plot")
	s := newScene("")
	value[bool](p.logic, fmt.Sprintf(`(location.hash = "%s&a=%d&b=%d", true)`, viewed[1:], s.number(2, 20_000_000), s.number(3, 20_000_000)))
	p.until(`(d => d.answer === "unknown" && d.why === "unconnected")(document.querySelector(".answer").dataset)`, "the order of hosts that nothing connects is answered")
	p.until(`document.querySelector(".answer").textContent.includes("What would decide it: messages between the two groups of hosts.")`, "nothing says what would decide it")
	p.shots("apart")
	p.panel("measure")
	p.click("#panel-measure button", "measure between A and B")
	p.until(`document.querySelector("#panel-measure .said").textContent.endsWith("not comparable: no messages connect the hosts")`, "a span between them is measured")
}

// number is that of the first event of a class from an instant on.
func (s *scene) number(class int, from int64) int {
	for _, e := range s.events {
		if e.class == class && e.at >= from {
			return e.number
		}
	}
	return -1
}

func (b *panelBrowser) EveryPanelSaysTheSameOfOneMessage(t *testing.T) {
	s := newScene("")
	// Of request 10, the query is received 30 us before it was sent by the stamps; the bounds allow up to 25 us (26 with the steps).
	p := b.open(t, s, "dark", fmt.Sprintf("#v=1&t=9900000,11100000&a=%d&b=%d", s.number(2, 10_000_000), s.number(3, 10_000_000)))
	p.until(`(d => d.answer === "yes" && d.why === "message")(document.querySelector(".answer").dataset)`, "Order does not know the message")
	p.panel("measure")
	p.click("#panel-measure button", "measure between A and B")
	p.until(`document.querySelector("#panel-measure .said").textContent.includes("the order is certain, by a message, the other way round: web before db")`, "Measure does not say what Order says")
	p.until(`document.querySelector("#panel-measure .said").textContent.includes("truly −26.00 µs … 0 ns")`, "Measure has another interval")
	p.shots("same-measure")
	p.panel("details")
	for _, want := range []string{"−30.00 µs by the stamps, which cannot be", "0 ns … 26 µs", "◇ undecidable"} {
		if got := p.text(); !strings.Contains(got, want) {
			t.Errorf("the details lack %q:\n%s", want, got)
		}
	}
	p.key("v")
	p.until(`[...document.querySelectorAll("#panel-violations tbody tr")].some((e) => e.innerText.includes("web") && e.innerText.includes("0 ns … 25 µs"))`, "Violations has another interval")
	p.shots("same-violations")
}

func (b *panelBrowser) ADelayIsNeverBelowTheLeast(t *testing.T) {
	l := b.load(t)
	type bounds struct {
		Delta     float64  `json:"delta"`
		Low, High *float64 `json:",omitempty"`
		Hops      int      `json:"hops"`
		Least     float64  `json:"least"`
		Back      bool     `json:"back"`
	}
	random := rand.New(rand.NewPCG(5, 5))
	side := func(v float64) *float64 {
		if random.IntN(8) == 0 {
			return nil
		}
		return &v
	}
	var cases []bounds
	for range 2000 {
		d := float64(random.IntN(200) - 100)
		c := bounds{Delta: d, Low: side(d - float64(random.IntN(100))), High: side(d + float64(random.IntN(100))), Hops: 1 + random.IntN(3), Least: float64(random.IntN(30)), Back: random.IntN(2) == 0}
		cases = append(cases, c)
	}
	type answer struct {
		Low, High    *float64
		Cut, Against bool
	}
	script := `(cases) => cases.map((c) => Relation.narrow({ delta: c.delta, low: c.Low ?? null, high: c.High ?? null, comparable: true, oneClock: false }, { way: c.back ? "ba" : "ab", hops: Array(c.hops) }, c.least))`
	got := value[[]answer](l, fmt.Sprintf("(%s)(%s)", script, literal(cases)))
	// The bounds of the same, each side further out: nothing that was open may become decided.
	wider := make([]bounds, len(cases))
	for i, c := range cases {
		wider[i] = c
		if c.Low != nil {
			v := *c.Low - float64(random.IntN(50))
			wider[i].Low = &v
		}
		if c.High != nil {
			v := *c.High + float64(random.IntN(50))
			wider[i].High = &v
		}
	}
	wide := value[[]answer](l, fmt.Sprintf("(%s)(%s)", script, literal(wider)))
	low, high := func(v *float64) float64 {
		if v == nil {
			return math.Inf(-1)
		}
		return *v
	}, func(v *float64) float64 {
		if v == nil {
			return math.Inf(1)
		}
		return *v
	}
	for i, c := range cases {
		floor := float64(c.Hops) * c.Least
		from, to := floor, math.Inf(1)
		if c.Back {
			from, to = math.Inf(-1), -floor
		}
		wantLow, wantHigh := max(low(c.Low), from), min(high(c.High), to)
		g := got[i]
		if g.Against != (wantLow > wantHigh) {
			t.Fatalf("%s: against is %v, and %v … %v is left", literal(c), g.Against, wantLow, wantHigh)
		}
		if !g.Against && (low(g.Low) != wantLow || high(g.High) != wantHigh) {
			t.Fatalf("%s: %s, want %v … %v", literal(c), literal(g), wantLow, wantHigh)
		}
		if w := wide[i]; w.Against && !g.Against || !g.Against && !w.Against && (low(w.Low) > low(g.Low) || high(w.High) < high(g.High)) {
			t.Fatalf("%s: wider bounds %s say more than %s", literal(c), literal(w), literal(g))
		}
	}
}

// inverted is the scene with what raw time makes of it: the web server's clock is 2 ms ahead, so all its messages to others are inverted.
type inverted struct{ *scene }

func (s inverted) About() *index.About {
	a := s.scene.About()
	n := int64(len(s.raw()))
	a.Inverted = &n
	return a
}

func (s inverted) raw() (list []index.RawInversion) {
	for lane := 7; lane <= 10; lane++ {
		for _, p := range s.links[lane] {
			d := p[1].at + s.offset(s.clock(p[1].row)) - p[0].at - s.offset(s.clock(p[0].row))
			if d+1000 <= 0 {
				list = append(list, index.RawInversion{Sent: p[0].at, Delay: d, From: int64(p[0].number), To: int64(p[1].number), Link: lane})
			}
		}
	}
	return list
}

func (s inverted) Violations() *index.Violations {
	v := s.scene.Violations()
	list := s.raw()
	v.Raw = &index.Raw{Inverted: int64(len(list)), List: list}
	return v
}

func (b *panelBrowser) RawTimeCountsAndListsInversionsAndKeepsAllHostsInSight(t *testing.T) {
	s := inverted{newScene("")}
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, s, "light", viewed)
		p.still()
		if got := value[string](p.logic, `document.getElementById("totals").textContent`); strings.Contains(got, "raw") {
			t.Errorf("%s: before raw time the header has %q", kind, got)
		}
		p.key("v")
		p.click("#do-raw", "")
		p.until(fmt.Sprintf(`document.getElementById("totals").textContent.includes("%d inverted in raw time")`, len(s.raw())), kind+": inverted messages are not counted")
		p.until(fmt.Sprintf(`document.querySelector(".raw-said").textContent.includes("%d of 160 messages were received before they were sent")`, len(s.raw())), kind+": the panel does not count them")
		// What was in sight on each host still is.
		p.draws(`[0, 1, 2].every((c) => [20000000, 21000000].every((at) => { const x = meridian.x(at, c); return x >= 0 && x <= meridian.plot.width; }))`, kind+": a host is out of sight in raw time")
		// Their lines are of another colour and pattern than those of messages in order, and the corner says what they are.
		p.draws(`(() => {
			const c = document.getElementById("rows"), d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, want = css(meridian.theme.inverted), plain = css(meridian.theme.message);
			let backwards = 0, forwards = 0, corner = 0;
			for (let i = 0; i < d.length; i += 4) {
				if (near(d.subarray(i, i + 3), want, 40)) { backwards++; if (i / 4 / c.width > c.height - 24 * devicePixelRatio) corner++; }
				if (near(d.subarray(i, i + 3), plain, 40)) forwards++;
			}
			return backwards > 200 && forwards > 100 && corner > 50;
		})()`, kind+": inverted messages look like others, or are not explained")
		p.shots("raw-inverted-" + kind)
		p.click("#do-raw", "")
		p.shows(viewFrom, viewTo, kind+": the view does not come back")
		p.click(`#panel-violations section[aria-label="In raw time"] tbody .pick`, "")
		p.until(`meridian.view.raw && meridian.selection.a && meridian.selection.b`, kind+": a press on one does not show it")
		p.draws(`(() => { const { a, b } = meridian.selection, x = meridian.x(a.at, meridian.clockOf(a.row, a.at)), y = meridian.x(b.at, meridian.clockOf(b.row, b.at)); return x > y && y >= 0 && x <= meridian.plot.width; })()`, kind+": it is not drawn backwards")
	}
}

func (b *panelBrowser) ABoundSaysWhyItIsWide(t *testing.T) {
	l := b.load(t)
	type pair struct {
		Other     int      `json:"other"`
		Out       int      `json:"out"`
		Back      int      `json:"back"`
		RoundTrip *float64 `json:"bothWays"`
	}
	type known struct {
		Width       *float64 `json:"width"`
		Least       *float64 `json:"least"`
		Reference   string   `json:"reference"`
		IsReference bool     `json:"isReference"`
		Host        int      `json:"host"`
		Pairs       []pair   `json:"pairs"`
		Before      *float64 `json:"before"`
		After       *float64 `json:"after"`
		Granularity float64  `json:"granularity"`
		Set         bool     `json:"set"`
		Low         bool     `json:"low"`
		High        bool     `json:"high"`
		Connected   []int    `json:"connected"`
	}
	ns := func(v float64) *float64 { return &v }
	fine := known{Width: ns(5e3), Least: ns(5e3), Reference: "h0", Host: 1, Pairs: []pair{{0, 9, 9, ns(1e6)}}, Before: ns(1e6), After: ns(2e6), Granularity: 1, Low: true, High: true, Connected: []int{0}}
	for name, c := range map[string]struct {
		change func(*known)
		says   string // and nothing else; "" for nothing
	}{
		"nothing is wide":       {func(*known) {}, ""},
		"one way only":          {func(k *known) { k.Width, k.High, k.Pairs = nil, false, []pair{{0, 9, 0, nil}} }, "one way only, from h1 to h0"},
		"a pause":               {func(k *known) { k.Width, k.Before = ns(5e5), ns(4e10); k.After = nil }, "The nearest messages are 4e10 before"},
		"a long route":          {func(k *known) { k.Width, k.Least = ns(9e6), ns(9e6); k.Pairs[0].RoundTrip = ns(2e7) }, "The quickest message to h0 and the quickest back took 2e7 together, which may be of two exchanges"},
		"the clock was set":     {func(k *known) { k.Set = true }, "The clock was set"},
		"over others":           {func(k *known) { k.Pairs[0].Other = 2; k.Connected = []int{2} }, "The way to h0 leads over h2"},
		"coarse stamps":         {func(k *known) { k.Granularity = 1e3 }, "Stamps are in steps of 1000"},
		"nobody":                {func(k *known) { k.Width, k.Pairs, k.Connected = nil, nil, nil }, "No messages connect h1"},
		"nobody, the reference": {func(k *known) { k.IsReference, k.Pairs, k.Connected = true, nil, nil }, ""},
	} {
		k := fine
		k.Pairs = append([]pair{}, fine.Pairs...)
		c.change(&k)
		got := value[[][2]string](l, fmt.Sprintf(`Why.reasons({ ...%s, pairs: %s, connected: %s, names: (h) => "h" + h }, (ns) => ns >= 1e7 ? ns.toExponential().replace("+", "") : String(ns))`, literal(k), literal(append([]pair{}, k.Pairs...)), literal(append([]int{}, k.Connected...))))
		if (c.says == "") != (len(got) == 0) || len(got) > 1 || c.says != "" && (!strings.Contains(got[0][0], c.says) || got[0][1] == "") {
			t.Errorf("%s: %q, want %q", name, got, c.says)
		}
	}
	p := b.open(t, newScene(""), "light", viewed)
	p.panel("clocks")
	p.until(`[...document.querySelectorAll("#panel-clocks .why-of li")].some((e) => e.textContent.includes("The quickest message to client and the quickest back took"))`, "the panel Clocks does not say why")
	p.shots("why")
}

func (b *panelBrowser) MeasuringWorksOnHostLinesAndBelowTheRows(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.key("m")
	x, y := p.spot("web", 20_100_000, viewFrom, viewTo, 10)
	p.press(x, y, 0)
	p.until(`document.querySelector("#panel-measure .said").textContent.includes("first point taken")`, "the line of a host is no point")
	p.press(x+200, p.box("#over").Y+p.box("#over").Height-12, 0)
	p.until(`/ from web to .*; truly .* the order is/.test(document.querySelector("#panel-measure .said").textContent)`, "below the rows is no point")
}
