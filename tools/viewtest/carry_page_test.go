//go:build !race

package viewtest

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"meridian/internal/show/index/indextest"
	"meridian/internal/traceprocessor"
)

// TestWhatIsTakenAlong runs what leaves the page as files and to other viewers, and fingers.
func TestWhatIsTakenAlong(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"WhatIsInSightIsSavedAsShapes", b.WhatIsInSightIsSavedAsShapes},
		{"WhatIsInViewIsSavedAsCSV", b.WhatIsInViewIsSavedAsCSV},
		{"WhatIsInViewOpensInPerfetto", b.WhatIsInViewOpensInPerfetto},
		{"WherePerfettoDoesNotAnswerAFileIsSaved", b.WherePerfettoDoesNotAnswerAFileIsSaved},
		{"FingersMoveAndStretchTheView", b.FingersMoveAndStretchTheView},
		{"HostLinesAndGapsAreMeasured", b.HostLinesAndGapsAreMeasured},
	})
}

// keepFiles has what the page saves kept in saved, by its name.
func (p *panelPage) keepFiles() {
	p.t.Helper()
	value[bool](p.logic, `(() => { let last = null; globalThis.saved = {}; URL.createObjectURL = (blob) => { last = blob; return "about:blank#"; };
		HTMLAnchorElement.prototype.click = function () { globalThis.saved[this.download] = last; }; return true; })()`)
}

func (p *panelPage) savedText(name string) string {
	p.t.Helper()
	p.until(fmt.Sprintf(`globalThis.saved[%s]`, literal(name)), name+" is not saved")
	return value[string](p.logic, fmt.Sprintf(`globalThis.saved[%s].text()`, literal(name)))
}

func (b *panelBrowser) WhatIsInSightIsSavedAsShapes(t *testing.T) {
	const hostile = `<script>alert("1")</script>&`
	for _, s := range []*scene{newScene(""), newScene(hostile)} {
		p := b.open(t, s, "light", viewed)
		p.still()
		p.keepFiles()
		p.key("G")
		text := p.savedText("timeline.svg")
		if s.hostile != "" && strings.Contains(text, "<script") {
			t.Errorf("a name is markup: %.2000s", text)
		}
		// It is XML, drawn by the browser itself: the handling of the request is a shape of its colour with its name.
		got := value[string](p.logic, fmt.Sprintf(`(async () => {
			const text = %s, doc = new DOMParser().parseFromString(text, "image/svg+xml");
			if (doc.querySelector("parsererror")) return doc.documentElement.outerHTML.slice(0, 500);
			const texts = [...doc.querySelectorAll("text")].map((e) => e.textContent), fill = meridian.color(8);
			const box = [...doc.querySelectorAll("rect")].find((e) => e.getAttribute("fill") === fill && Math.abs(e.getAttribute("width") - (meridian.x(20520000) - meridian.x(20050000))) < 1.5);
			const image = new Image(); image.src = "data:image/svg+xml," + encodeURIComponent(text); await image.decode();
			return [texts.some((t) => t.startsWith("client")), texts.some((t) => t.startsWith("worker")), texts.some((t) => t.startsWith("handle")), Boolean(box), doc.querySelectorAll("path").length >= 4, image.width > 900].join(" ");
		})()`, literal(text)))
		if got != "true true true true true true" {
			t.Errorf("the SVG has client, worker, handle, its slice, arrows, a size: %s", got)
		}
	}
}

func (b *panelBrowser) WhatIsInViewIsSavedAsCSV(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	p.keepFiles()
	p.panel("tables")
	p.click("#panel-tables button", "save the events in view as CSV")
	lines := strings.Split(p.savedText("events.csv"), "\r\n")
	if len(lines) < 13 || lines[0] != "time (number),name,where,length or value (number)" || !strings.Contains(strings.Join(lines, "\n"), "\n20150000,handle,web · worker,470000\n") {
		t.Errorf("events are saved as %q", lines)
	}
	p.click("#panel-tables button", "save the messages in view as CSV")
	lines = strings.Split(p.savedText("messages.csv"), "\r\n")
	if len(lines) < 6 || lines[0] != "sent (number),delay (number),verdict,from,to" || !strings.Contains(strings.Join(lines, "\n"), ",-100000,◆ certain,db · engine,web · worker\n") {
		t.Errorf("messages are saved as %q", lines)
	}
	// The filter of rows holds for what is saved.
	p.typed("#filter", "worker")
	p.until(`((rows) => rows.length > 0 && rows.every((e) => e.innerText.includes("worker")))([...document.querySelectorAll("#panel-tables section[aria-label=Events] tbody tr")])`, "the filter of rows is not heeded")
	// At a scale at which events are only counted, the page says how many are not in the file.
	p = b.serve(t, busyTimeline(t, 100_000), "light", "")
	p.still()
	p.keepFiles()
	p.panel("tables")
	p.click("#panel-tables button", "save the events in view as CSV")
	p.savedText("events.csv")
	p.until(`/more are only counted at this scale: zoom in/.test(document.querySelector("#panel-tables .said").textContent)`, "it is not said what the file lacks")
}

func (b *panelBrowser) WhatIsInViewOpensInPerfetto(t *testing.T) {
	p := b.serve(t, timelineOf(t, indextest.Shop(t, "")), "light", "#v=1&t=0,149000000")
	p.still()
	// Instead of the site: a tab that answers the second PING, and keeps what it is given. Another site's PONG counts for nothing.
	value[bool](p.logic, `(() => { let pings = 0; globalThis.given = []; const heard = (origin) => dispatchEvent(new MessageEvent("message", { data: "PONG", origin }));
		globalThis.open = (site) => { globalThis.site = site; return { postMessage: (m, to) => { if (m === "PING") { if (++pings === 1) heard("https://evil.example"); else if (pings === 2) heard("https://ui.perfetto.dev"); } else globalThis.given.push([m, to]); } }; }; return true; })()`)
	p.key("O")
	p.until(`globalThis.given.length === 1`, "the site is given nothing")
	p.until(`document.querySelector("#panel-tables .said").textContent.startsWith("ui.perfetto.dev has ")`, "it is not said")
	got := value[[]string](p.logic, `(([[m, to]]) => [globalThis.site, to, m.perfetto.title, m.perfetto.fileName, new TextDecoder().decode(m.perfetto.buffer)])(globalThis.given)`)
	if want := "https://ui.perfetto.dev https://ui.perfetto.dev a shop timeline.json"; strings.Join(got[:4], " ") != want {
		t.Errorf("given %v, want %s", got[:4], want)
	}
	if !json.Valid([]byte(got[4])) {
		t.Fatalf("not JSON: %.300s", got[4])
	}
	path := filepath.Join(t.TempDir(), "trace.json")
	if err := os.WriteFile(path, []byte(got[4]), 0o600); err != nil {
		t.Fatal(err)
	}
	// Perfetto's own trace processor: three requests, rendered for 2.00, 2.02 and 2.04 ms, four messages each.
	answers := traceprocessor.Query(t, path,
		`SELECT dur FROM slice WHERE name = 'render' ORDER BY ts`,
		`SELECT process.name, count(*) FROM slice JOIN thread_track ON track_id = thread_track.id JOIN thread USING (utid) JOIN process USING (upid) WHERE category IS NULL GROUP BY 1 ORDER BY 1`,
		`SELECT count(*) FROM flow`)
	for i, want := range []string{"2000000\n2020000\n2040000\n", "cart|9\nclient|3\ndb|3\n", "12\n"} {
		if got := answers[i].String(); got != want {
			t.Errorf("Perfetto says %q, want %q", got, want)
		}
	}
}

func (b *panelBrowser) WherePerfettoDoesNotAnswerAFileIsSaved(t *testing.T) {
	l := b.load(t)
	got := value[[]string](l, `(async () => {
		const said = []; let name = "";
		globalThis.open = () => null; // no tab may be opened
		URL.createObjectURL = () => "about:blank#"; HTMLAnchorElement.prototype.click = function () { name = this.download; };
		Object.assign(App, { about: { title: "t", origin: "1", hosts: [], rows: [], links: [], top: 10, span: 1000 }, view: { from: 0, to: 1000, raw: false }, data: { load: async () => null } });
		await Perfetto.open((words) => said.push(words), 1);
		globalThis.open = () => ({ postMessage() {} }); // a tab that never answers
		await Perfetto.open((words) => said.push(words), 1);
		return [name, ...said];
	})()`)
	failed := 0
	for _, words := range got[1:] {
		if strings.HasPrefix(words, "ui.perfetto.dev did not answer: timeline.json is saved") {
			failed++
		}
	}
	if got[0] != "timeline.json" || failed != 2 {
		t.Errorf("saved as %q, said %q", got[0], got[1:])
	}
}

func (b *panelBrowser) FingersMoveAndStretchTheView(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	plot := p.box("#over")
	touch := func(kind input.DispatchTouchEventType, xs ...float64) {
		t.Helper()
		points := []*input.TouchPoint{}
		for i, x := range xs {
			id := float64(i + 1)
			points = append(points, &input.TouchPoint{X: plot.X + plot.Width*x, Y: plot.Y + 60, ID: &id})
		}
		if err := enable(p.ctx, input.DispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: points}); err != nil {
			t.Fatal(err)
		}
	}
	length := viewTo - viewFrom
	touch("touchStart", 0.5)
	for _, x := range []float64{0.55, 0.65, 0.75} {
		touch("touchMove", x)
	}
	touch("touchEnd")
	p.shows(viewFrom-length/4, viewTo-length/4, "a finger does not move the view")
	touch("touchStart", 0.4)
	touch("touchStart", 0.4, 0.6)
	for _, by := range []float64{0.05, 0.1, 0.15, 0.2} {
		touch("touchMove", 0.4-by, 0.6+by)
	}
	touch("touchEnd")
	p.until(fmt.Sprintf(`meridian.view.to - meridian.view.from < %v`, length/2.5), "two fingers do not stretch it")
}

func (b *panelBrowser) HostLinesAndGapsAreMeasured(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	plot := p.box("#over")
	host := p.box("#names .host")
	below := plot.Y + plot.Height - 5 // below all rows
	for name, c := range map[string][2]float64{"line of a host": {host.Y + 5, host.Y + 5}, "below all rows": {below, below}, "from a host to nowhere": {host.Y + 5, below}} {
		p.drag(plot.X+plot.Width*0.25, c[0], plot.X+plot.Width*0.5, c[1], chromedp.ModifierShift)
		p.until(`!document.getElementById("panel-measure").hidden && /\d µs/.test(document.querySelector("#panel-measure .big").textContent)`, name+" is not measured")
		length := value[string](p.logic, `document.querySelector("#panel-measure .big").textContent`)
		if !strings.HasPrefix(length, "3") && !strings.HasPrefix(length, "29") { // a quarter of 1.2 ms, to a pixel
			t.Errorf("%s: a quarter of the view is %s", name, length)
		}
		p.click("#panel-measure button", "clear")
		value[bool](p.logic, `(meridian.show("measure", false), true)`)
		p.still()
		plot, host = p.box("#over"), p.box("#names .host")
	}
}
