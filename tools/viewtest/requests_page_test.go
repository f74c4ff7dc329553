//go:build !race

package viewtest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
)

// TestRequests runs what the page says of requests and of what made them slow.
func TestRequests(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"TheSlowestRequestIsFoundWithItsCause", b.TheSlowestRequestIsFoundWithItsCause},
		{"RequestsAreSortedFilteredAndCounted", b.RequestsAreSortedFilteredAndCounted},
		{"NumbersOfAStretchAreCompleteAndSaved", b.NumbersOfAStretchAreCompleteAndSaved},
		{"LinksOfPacketsHaveTheirBytes", b.LinksOfPacketsHaveTheirBytes},
		{"AFileCountsAsTheServerDoes", b.AFileCountsAsTheServerDoes},
		{"WaitsForLocksAndForPacketsSentAgainAreSaidInWords", b.WaitsForLocksAndForPacketsSentAgainAreSaidInWords},
		{"WhatIsNotSureOfAPathIsNotSaidAsIfItWere", b.WhatIsNotSureOfAPathIsNotSaidAsIfItWere},
		{"WhatTheBoundsLeaveOpenIsSaidToBeUndecided", b.WhatTheBoundsLeaveOpenIsSaidToBeUndecided},
	})
}

const requestRows = `document.querySelectorAll("#panel-requests table")[0].querySelectorAll("tbody tr")`

// The slowest request and what the server did meanwhile: two actions from the first view.
func (b *panelBrowser) TheSlowestRequestIsFoundWithItsCause(t *testing.T) {
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, timelineOf(t, indextest.Shop(t, "")), "light", "")
		p.still()
		p.key("q")
		p.until(requestRows+`.length === 100 && document.querySelector("#panel-requests .said").textContent.includes("100 of 120 requests")`, kind+": the requests are not listed")
		p.click(`#panel-requests tbody .pick`, "") // the first
		p.until(`document.querySelector(".path-total")`, kind+": a press shows no path")
		for _, want := range []string{"in all. The longest part: render on cart (30.00 ms). Network ", "Beyond 59 like requests: render on cart (27.9"} {
			if got := p.text(); !strings.Contains(got, want) {
				t.Errorf("%s: the path lacks %q:\n%s", kind, want, got)
			}
		}
		// The request fills the view, and the path lies over its rows.
		p.until(fmt.Sprintf(`meridian.view.from > %[1]d && meridian.view.from < %[1]d + 1e6 * 50 && meridian.view.to - meridian.view.from < 5e7`, indextest.SlowRender*50_000_000-4_000_000), kind+": the view does not fit the request")
		p.still()
		at := fmt.Sprint(indextest.SlowRender*50_000_000 + 20_000_000)
		x := value[[]float64](p.logic, `[meridian.plot.left + meridian.x(`+at+`), meridian.plot.top + meridian.endY(1)]`)
		if !p.drawn(x[0], x[1]) {
			t.Errorf("%s: the path is not drawn over the row of the cart", kind)
		}
		p.shots("requests-" + kind)
	}
}

func (b *panelBrowser) RequestsAreSortedFilteredAndCounted(t *testing.T) {
	p := b.serve(t, timelineOf(t, indextest.Shop(t, "")), "dark", "")
	p.key("q")
	p.until(requestRows+`.length === 100`, "the requests are not listed")
	p.typed("#panel-requests input[type=search]", "select")
	p.until(`document.querySelector("#panel-requests .said").textContent === "60 of 60 requests of 120 in all"`, "the filter does not choose")
	p.until(requestRows+`.length === 60`, "others are listed")
	value[bool](p.logic, `(s => { s.value = "network"; s.dispatchEvent(new Event("change")); return true; })(document.querySelector("#panel-requests select"))`)
	// 12 ms back, and 150 us there; each way within 100 us of the estimate, since both clocks are off by 50.
	p.until(requestRows+`[0].innerText.replaceAll("\t", " ").replaceAll("\n", " ").includes("12.15 ms") && `+requestRows+`[0].innerText.includes("cart → db")`, "the longest on the wire is not first")
	if got := value[string](p.logic, `document.querySelectorAll("#panel-requests table")[1].innerText`); !strings.Contains(got, "SELECT") || !strings.Contains(got, "cart → db") || !strings.Contains(got, "60") {
		t.Errorf("percentiles are %s", got)
	}
	p.shots("requests-filtered")
	p.click(`#panel-requests .check`, "")
	value[bool](p.logic, `(meridian.setView(0, 149000000), true)`)
	p.until(`document.querySelector("#panel-requests .said").textContent === "3 of 3 requests of 120 in all"`, "what is not in view is listed")
	p.clear("#panel-requests input[type=search]")
	p.typed("#panel-requests input[type=search]", "nothing like this")
	p.until(`document.querySelector("#panel-requests .said").textContent.startsWith("0 of 0 requests") && `+requestRows+`.length === 0`, "what is not there is listed")
}

func (b *panelBrowser) WhatTheBoundsLeaveOpenIsSaidToBeUndecided(t *testing.T) {
	l := b.load(t)
	value[bool](l, `(Object.assign(globalThis.App, { about: { hosts: [{ name: "a" }, { name: "b" }] }, hostOf: (row) => globalThis.App.about.hosts[row] }), true)`)
	for name, c := range map[string]struct{ path, total, beyond string }{
		"named": {`{ total: [0], beyond: [1], like: 20 }`, "60ns in all. The longest part: work on b (40ns). Network a ↔ b: 20ns both ways.", "Beyond 20 like requests: on the wire a → b (5ns … 9ns)."},
		"open":  {`{ total: [0, 1], beyond: [0, 1], like: 20 }`, "60ns in all. Undecided what took longest, the bounds of the clocks leave: work on b (40ns), or on the wire a → b (10ns … 50ns). Network a ↔ b: 20ns both ways.", "Beyond 20 like requests, undecided: work on b (1ns … 2ns), or on the wire a → b (5ns … 9ns)."},
		"few":   {`{ total: [0], beyond: [], like: 3 }`, "60ns in all. The longest part: work on b (40ns). Network a ↔ b: 20ns both ways.", "Only 3 like requests: too few to say what is unusual."},
		"within": {`{ items: [{ name: "", host: 1, fromHost: 0, estimate: 35, low: 30, high: 40 }], total: [0], beyond: [], like: 3 }`,
			"60ns in all. The longest part: on the wire a → b (30ns … 40ns). Network a ↔ b: 20ns both ways of its own messages; with exchanges within it the path has 35ns on the wire, by the estimate.", "Only 3 like requests: too few to say what is unusual."},
		"wrong": {`{ total: [0, 1], beyond: [0], like: 20, contradiction: true }`, "60ns in all. Undecided: the bounds of the clocks contradict the messages. Network a ↔ b: 20ns both ways.", ""},
	} {
		got := value[[]string](l, `(({ total, beyond }) => [total, beyond])(Path.sentences({ request: { client: 0, server: 1, total: 60, network: 20, beyond: 9 }, items: [
			{ name: "work", host: 1, fromHost: -1, estimate: 40, low: 40, high: 40, beyondLow: 1, beyondHigh: 2 }, { name: "", host: 1, fromHost: 0, estimate: 20, low: 10, high: 50, beyondLow: 5, beyondHigh: 9 }], ...`+c.path+` }, (ns) => ns + "ns"))`)
		if got[0] != c.total || got[1] != c.beyond {
			t.Errorf("%s: %q, want %q and %q", name, got, c.total, c.beyond)
		}
	}
}

func (b *panelBrowser) WhatIsNotSureOfAPathIsNotSaidAsIfItWere(t *testing.T) {
	l := b.load(t)
	value[bool](l, `(Object.assign(globalThis.App, { about: { hosts: [{ name: "a" }, { name: "b" }] }, hostOf: (row) => globalThis.App.about.hosts[row] }), true)`)
	for ask, want := range map[string]string{
		// Of pieces those that can be the longest: a way from 5 to 50 beside 40 at a host, not beside 60.
		`Path.longest([host(40), way(5, 50)]).length`:                   "2",
		`Path.longest([host(60), way(5, 50)]).length`:                   "1",
		`Path.longest([host(60), way(null, null)]).length`:              "2",
		`Path.longest([host(40), host(39), way(1, 2)])[0].end`:          "40",
		`said(-3, { impossible: true })`:                                "impossible, both ways took less than nothing. The messages are matched wrongly, or a clock was read wrongly.",
		`said(-3, { impossible: false })`:                               "less than a step of the stamps.",
		`said(3, {})`:                                                   "3ns both ways.",
		`Path.itemName({ fromHost: -1, host: 1, name: "at the host" })`: "at the host b",
	} {
		got := value[string](l, `((host, way, said) => String(`+ask+`))((n) => ({ from: -1, begin: 0, end: n }), (low, high) => ({ from: 1, begin: 0, end: 9, low, high }),
			(network, there) => Path.sentences({ request: { client: 0, server: 1, total: 9, network, there }, items: [{ name: "x", host: 0, fromHost: -1, low: 1, high: 1 }], total: [0], beyond: [], like: 0 }, (ns) => ns + "ns").total.split("a ↔ b: ")[1])`)
		if got != want {
			t.Errorf("%s: %q, want %q", ask, got, want)
		}
	}
}

func (b *panelBrowser) WaitsForLocksAndForPacketsSentAgainAreSaidInWords(t *testing.T) {
	l := b.load(t)
	value[bool](l, `(Object.assign(globalThis.App, { about: { hosts: [{ name: "a" }, { name: "b" }], rows: [{ name: "r", host: 0 }, { name: "s", host: 1 }] }, hostOf: (row) => globalThis.App.about.hosts[row] }), true)`)
	for ask, want := range map[string]string{
		`Path.locked({ holder: 0, total: 9, elsewhere: 5, unknown: 0, hosts: [1] }, write)`:     "The lock on a was held across hosts: it was waited for 9ns, of that 5ns while its holder (r) waited for b, by the clock of a alone.",
		`Path.locked({ holder: 0, total: 9, elsewhere: 5, unknown: 2, hosts: [1] }, write)`:     "The lock on a was held across hosts: it was waited for 9ns, of that 5ns while its holder (r) waited for b, by the clock of a alone. For 2ns it is not known what the holder waited for.",
		`Path.locked({ holder: 0, total: 9, elsewhere: 0, unknown: 2, hosts: [] }, write)`:      "Undecided whether the lock on a was held across hosts: it was waited for 9ns. For 2ns it is not known what the holder waited for.",
		`Path.locked({ holder: 0, total: 9, elsewhere: 0, unknown: 0, hosts: [] }, write)`:      "The lock on a was held there alone: it was waited for 9ns, and its holder (r) waited for no other host.",
		`Path.again({ pieces: [sent(1, 1), { from: 1, row: 0, depth: 0 }] }, write).join("|")`:  "Sent again: a packet, 7ns after its first sending by the clock of b alone. a waited for it.",
		`Path.again({ pieces: [sent(0, 0), { from: 0, row: 1, depth: 0 }] }, write).join("|")`:  "Sent again: a packet, 7ns after its first sending by the clock of a alone. a waited for the answer.",
		`Path.again({ pieces: [{ from: -1, row: 0, name: "CPU", depth: 0 }] }, write).join("")`: "",
	} {
		got := value[string](l, `((write, sent) => `+ask+`)((ns) => ns + "ns", (row, depth) => ({ from: -1, row, depth, name: "retransmission", detail: "a packet", begin: 3, end: 10 }))`)
		if got != want {
			t.Errorf("%s: %q, want %q", ask, got, want)
		}
	}
}

func (b *panelBrowser) NumbersOfAStretchAreCompleteAndSaved(t *testing.T) {
	l := b.load(t)
	if got := value[string](l, `Save.csv([{ title: "a, b", text: (r) => r.n }, { title: "t", text: (r) => "x", value: (r) => r.v, number: true }], [{ n: "say \"hi\"", v: 1.5 }, { n: "=1+1", v: -2 }, { n: "-5 ms", v: 0 }])`); got != "\"a, b\",t (number)\r\n\"say \"\"hi\"\"\",1.5\r\n'=1+1,-2\r\n-5 ms,0\r\n" {
		t.Errorf("a table is saved as %q", got)
	}
	p := b.serve(t, timelineOf(t, indextest.Shop(t, "")), "light", "#v=1&t=0,149000000")
	p.still()
	p.key("y")
	// Three requests: in each the cart works, and renders for 2.00, 2.02 and 2.04 ms.
	const names = `[...document.querySelectorAll("#panel-numbers table")[0].tBodies[0].rows].map((r) => r.innerText.replaceAll("\t", " ").replaceAll("\n", " "))`
	p.until(names+`.some((r) => r.startsWith("render cart · process 3 6.060 ms"))`, "the rendering of three requests does not take 6.06 ms")
	p.until(`document.querySelector("#panel-numbers .said").textContent.endsWith("all of it, 5 names and 12 messages.")`, "not all is counted")
	p.until(`document.querySelectorAll("#panel-numbers .said")[1].textContent.startsWith("States of threads need the switches of a kernel")`, "it is not said why there are no states")
	p.until(`[...document.querySelectorAll("#panel-numbers table")[2].tBodies[0].rows].length === 4`, "not all links are counted")
	p.shots("numbers")
	p.typed("#filter", "db")
	p.until(`document.querySelector("#panel-numbers .said").textContent.endsWith("all of it, 1 name and 0 messages; 2 rows hidden or filtered out.")`, "the filter of rows is not heeded")
}

// AFileCountsAsTheServerDoes compares all numbers; percentiles of the server are exact to 1/32. A file that holds a part says so, and
// tables that nothing was counted for claim nothing.
func (b *panelBrowser) AFileCountsAsTheServerDoes(t *testing.T) {
	const numbers = `meridian.data.questions().numbers(%d, %d, %q).then((n) => ({ names: n.names, links: n.links, skipped: n.skipped ?? {} }), (e) => ({ why: e.message }))`
	type counted struct {
		Names   []index.NameNumbers
		Links   []index.LinkNumbers
		Skipped map[string]int64
		Why     string
	}
	for name, c := range map[string]struct {
		data   view.Data
		asks   [][2]int64
		rows   string
		counts int // of the answers of the file
	}{
		"shop":   {timelineOf(t, indextest.Shop(t, "")), [][2]int64{{0, 1 << 40}, {1_000_000, 2_000_000}, {149_000_000, 149_000_001}}, "1", 3},
		"folded": {foldedTimeline(t), [][2]int64{{0, 1 << 40}, {2_500_500, 2_501_500}, {95_000_250, 95_700_000}}, "0", 3},
		"busy":   {busyTimeline(t, 60_000), [][2]int64{{0, 1 << 40}, {0, 2_000_000}, {50_000_000, 51_000_000}}, "2", -1},
	} {
		served, file := b.serve(t, c.data, "light", ""), b.file(t, c.data, "light", "")
		answers := 0
		for _, stretch := range c.asks {
			for _, without := range []string{"", c.rows} {
				ask := fmt.Sprintf(numbers, stretch[0], stretch[1], without)
				want, got := value[counted](served.logic, ask), value[counted](file.logic, ask)
				if got.Why != "" {
					if !strings.HasPrefix(got.Why, "This file does not hold all events of the stretch, so nothing is counted") {
						t.Errorf("%s, %v: %s", name, stretch, got.Why)
					}
					continue
				}
				answers++
				near := func(a, b index.Lengths) bool {
					ok := a.Least == b.Least && a.Greatest == b.Greatest
					for _, p := range [][2]int64{{a.P50, b.P50}, {a.P90, b.P90}, {a.P99, b.P99}} {
						ok = ok && p[0] <= p[1] && 32*(p[1]-p[0]) <= max(p[0], -p[0], p[1], -p[1], 32)
					}
					return ok
				}
				for i := range want.Names {
					if i < len(got.Names) && near(got.Names[i].Lengths, want.Names[i].Lengths) {
						got.Names[i].Lengths = want.Names[i].Lengths
					}
				}
				for i := range want.Links {
					if i < len(got.Links) && near(got.Links[i].Lengths, want.Links[i].Lengths) {
						got.Links[i].Lengths = want.Links[i].Lengths
					}
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("%s, %v without %q: the file counts\n%+v, the server\n%+v", name, stretch, without, got, want)
				}
			}
		}
		if c.counts >= 0 && answers != 2*c.counts {
			t.Errorf("%s: the file answers %d of %d", name, answers, 2*c.counts)
		}
		t.Logf("%s: %d answers", name, answers)
	}
	p := b.fileOf(t, busyTimeline(t, 60_000), view.Options{Budget: 300_000}, "light", "")
	p.key("y")
	p.until(`document.querySelector("#panel-numbers .said").textContent.includes("does not hold all")`, "it is not said that nothing is counted")
	if got := p.text(); strings.Contains(got, "Nothing happened") || strings.Contains(got, "No messages") {
		t.Errorf("a table that nothing was counted for claims\n%s", got)
	}
}

// packeted is a shop whose messages were packets.
type packeted struct{ *view.Timeline }

func (p packeted) About() *index.About {
	a := *p.Timeline.About()
	a.Rows = slices.Clone(a.Rows)
	for i := range a.Rows {
		a.Rows[i].Kind = "messages"
	}
	return &a
}

func (packeted) Traffic(from, to int64) (*view.Traffic, error) {
	return &view.Traffic{Ways: []view.Way{{From: 0, To: 1, Bytes: to - from}}, UpTo: 5e6}, nil
}

func (b *panelBrowser) LinksOfPacketsHaveTheirBytes(t *testing.T) {
	const heads, cells = `[...document.querySelectorAll("#panel-numbers table")[2].querySelectorAll("th[scope=col]")].filter((e) => !e.hidden).map((e) => e.textContent).join(",")`,
		`[...document.querySelectorAll("#panel-numbers table")[2].tBodies[0].rows].map((r) => r.cells[3].textContent).filter(Boolean).join(",")`
	p := b.serve(t, packeted{timelineOf(t, indextest.Shop(t, ""))}, "light", "#v=1&t=0,149000000")
	p.key("y")
	p.until(heads+`.startsWith("from,to,messages,TCP bytes,p50") && `+cells+` === "149\u2009000\u2009000"`, "the bytes are not told")
	p.until(`/TCP bytes are the payload .* There are too many packets: none after \+5\.000000 ms was read/.test(document.querySelector("#panel-numbers").innerText)`, "it is not said how far the bytes go")
	q := b.serve(t, timelineOf(t, indextest.Shop(t, "")), "light", "#v=1&t=0,149000000")
	q.key("y")
	q.until(heads+`.startsWith("from,to,messages,p50")`, "a column without bytes is shown")
}
