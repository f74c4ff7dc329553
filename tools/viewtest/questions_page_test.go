//go:build !race

package viewtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
)

// TestQuestions runs what panels ask a server beside tiles: of a timeline that grows, of two events, of a bar.
func TestQuestions(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"RequestsAndNumbersComeWhileTheTimelineGrows", b.RequestsAndNumbersComeWhileTheTimelineGrows},
		{"ThePathBetweenTwoEventsIsOneKeyAway", b.ThePathBetweenTwoEventsIsOneKeyAway},
		{"BothPathsAreOfferedWhereTheOrderIsOpen", b.BothPathsAreOfferedWhereTheOrderIsOpen},
		{"ABarOfDelaysListsItsMessages", b.ABarOfDelaysListsItsMessages},
		{"ColumnsThatNoRequestFillsAreNotShown", b.ColumnsThatNoRequestFillsAreNotShown},
	})
}

func (b *panelBrowser) RequestsAndNumbersComeWhileTheTimelineGrows(t *testing.T) {
	schema, events := indextest.ShopEvents(indextest.ShopRequests)
	x, err := index.NewLive(t.TempDir(), schema, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &liveScene{t: t, live: view.NewLive(), schema: schema, index: x}
	t.Cleanup(func() {
		if err := s.live.Close(); err != nil {
			t.Error(err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	// upTo shows all events of the first requests, each of which begins after 50 ms.
	upTo := func(requests int64) {
		for ; s.events < len(events) && events[s.events].Time < liveBegin+clock.TimelineTime(requests*50_000_000); s.events++ {
			if err := x.Write(&events[s.events]); err != nil {
				t.Fatal(err)
			}
		}
		s.publish(requests * 50_000_000)
	}
	upTo(20)
	p, _ := b.follow(t, s, "reduce")
	p.key("q")
	const said = `document.querySelector("#panel-requests .said").textContent`
	p.until(said+` === "40 of 40 requests"`, "the requests are not listed while the timeline grows")
	upTo(40)
	p.until(said+` === "80 of 80 requests"`, "those that come are not listed")
	// The slow one is chosen while the list grows; its number changes meanwhile, and its path is still found.
	upTo(41)
	p.until(requestRows+`[0].innerText.includes("32.")`, "the slowest is not first")
	p.click(`#panel-requests tbody .pick`, "")
	p.until(`document.querySelector(".path-total")?.textContent.includes("The longest part: render on cart (30.00 ms)")`, "there is no path")
	p.shots("live-requests")
	upTo(60)
	value[bool](p.logic, `(document.activeElement.blur(), true)`)
	p.until(said+` === "100 of 120 requests"`, "the list does not go on once the focus has left it")
	p.until(`document.querySelector("#panel-requests tr[aria-current]")?.innerText.includes("32.")`, "the chosen request is not marked any more")
	p.key("y")
	value[bool](p.logic, `(s => { s.value = "all"; s.dispatchEvent(new Event("change")); return true; })(document.querySelector("#panel-numbers select"))`)
	p.until(`/render\scart · process\s60\s151\./.test(document.querySelector("#panel-numbers").innerText.replaceAll("\n", "\t"))`, "nothing is counted")
}

func (b *panelBrowser) ThePathBetweenTwoEventsIsOneKeyAway(t *testing.T) {
	data := timelineOf(t, indextest.Shop(t, ""))
	list, err := data.Requests(view.RequestQuery{Most: 1})
	if err != nil {
		t.Fatal(err)
	}
	r := list.Requests[0]
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, data, "light", fmt.Sprintf("#v=1&a=%d&b=%d", r.Event, r.Last))
		p.until(`document.querySelector(".answer")?.dataset.answer === "yes"`, kind+": the order is not answered")
		p.key("C")
		if kind == "file" {
			p.until(`document.querySelector("#panel-order").innerText.includes("The path from A to B: one file does not hold all events; meridian view finds paths between two")`, "a file does not say why there is no path")
			continue
		}
		p.until(`document.querySelector("#panel-order .path-total")?.textContent.includes("The longest part: render on cart (30.00 ms)")`, "there is no path")
		if got := p.text(); !strings.Contains(got, "The path from A to B.") || strings.Contains(got, "Network 0") {
			t.Errorf("the panel says\n%s", got)
		}
		p.shots("between")
		// The other way round the path is the same, and swapping lets go of the one that is shown.
		p.click("#panel-order button", "swap A and B")
		p.until(`document.querySelector(".answer").dataset.answer === "no" && !document.querySelector("#panel-order .path-total")`, "the path of the order before is still shown")
		p.click("#panel-order button", "critical path from B to A")
		p.until(`document.querySelector("#panel-order .path-total")`, "there is no path the other way round")
	}
}

func (b *panelBrowser) BothPathsAreOfferedWhereTheOrderIsOpen(t *testing.T) {
	l := b.load(t)
	for ask, want := range map[string]string{
		`{ answer: "yes", why: "clocks" }`:          "A to B",
		`{ answer: "no", why: "message" }`:          "B to A",
		`{ answer: "unknown", why: "intervals" }`:   "B to A?,A to B?",
		`{ answer: "unknown", why: "unconnected" }`: "",
	} {
		got := value[string](l, `Between.ways(`+ask+`, { at: 20 }, { at: 10 }).map((w) => w.name + (w.undecided ? "?" : "")).join(",")`)
		if got != want {
			t.Errorf("%s: the paths are %q, want %q", ask, got, want)
		}
	}
	value[bool](l, `(Object.assign(globalThis.App, { hostOf: (row) => ({ name: "ab"[row] }) }), true)`)
	for ask, want := range map[string]string{
		`{ reaches: true, pieces: [1], request: { client: 0, server: 1 } }, "A to B", false`:  "The path from A to B.",
		`{ reaches: false, pieces: [1], request: { client: 0, server: 1 } }, "A to B", false`: "The path from A to B. It does not pass a: nothing that was recorded says that b waited for it.",
		`{ reaches: false, pieces: [], request: { client: 0, server: 1 } }, "B to A", true`:   "Undecided which event was first; this is the path from B to A, if it was in this order. By the estimate no time lies between them.",
	} {
		if got := value[string](l, `Between.sentence(`+ask+`)`); got != want {
			t.Errorf("%s: %q, want %q", ask, got, want)
		}
	}
}

func (b *panelBrowser) ABarOfDelaysListsItsMessages(t *testing.T) {
	p := b.serve(t, timelineOf(t, indextest.Shop(t, "")), "light", "")
	p.panel("delays")
	// Of the answers of the database one was 12 ms under way.
	const figure = `[...document.querySelectorAll("#panel-delays figure")].find((f) => f.querySelector("figcaption").textContent.startsWith("db → cart"))`
	p.until(figure+`?.querySelectorAll(".bar").length > 3`, "there are no bars")
	value[bool](p.logic, `(() => { const bar = [...`+figure+`.querySelectorAll(".bar")].at(-1); bar.dispatchEvent(new MouseEvent("click", { bubbles: true })); return true; })()`)
	p.until(figure+`.querySelectorAll("tbody tr").length === 1 && `+figure+`.querySelector(".said").textContent.endsWith(": 1 message.")`, "the message is not listed")
	value[bool](p.logic, `(`+figure+`.scrollIntoView(), true)`)
	p.shots("delays-bar")
	p.click("#panel-delays figure tbody .pick", "")
	p.until(`meridian.selection.a && meridian.selection.b && meridian.selection.b.at - meridian.selection.a.at === 12000000`, "the message is not selected with both ends")
	// Keys go along the bars, one of which the tab key reaches.
	value[bool](p.logic, `(`+figure+`.querySelector(".bar").focus(), true)`)
	p.key(kb.ArrowRight) // right
	p.until(`document.activeElement === `+figure+`.querySelectorAll(".bar")[1] && `+figure+`.querySelectorAll('.bar[tabindex="0"]').length === 1`, "an arrow does not go to the next bar")
	p.key("\r")
	p.until(figure+`.querySelector(".said").textContent.startsWith("From ")`, "Enter does not list them")
}

func (b *panelBrowser) ColumnsThatNoRequestFillsAreNotShown(t *testing.T) {
	const heads = `[...document.querySelectorAll("#panel-requests table")[0].querySelectorAll("th[scope=col]")].filter((e) => !e.hidden).map((e) => e.textContent).join(",")`
	for name, c := range map[string]struct {
		data view.Data
		want string
	}{
		"spans":   {timelineOf(t, indextest.Shop(t, "")), "name,total,beyond,server,network,there,back,client,hosts,begins"},
		"packets": {timelineOf(t, indextest.Kernels(t)), "name,total,beyond,server,network,there,back,transfer,sent again,hosts,peer,begins"},
	} {
		p := b.serve(t, c.data, "light", "")
		p.key("q")
		p.until(requestRows+`.length > 20`, name+": no requests are listed")
		if got := value[string](p.logic, heads); got != c.want {
			t.Errorf("%s: the columns are %s, want %s", name, got, c.want)
		}
		if name == "packets" {
			const partial = `document.querySelector("#panel-requests .sheet .partial")`
			if value[bool](p.logic, `!`+partial+`.hidden`) {
				t.Error("a list of all requests says that some are not listed")
			}
			value[bool](p.logic, `((s) => { s.value = "20"; s.dispatchEvent(new Event("change")); return true; })(document.querySelectorAll("#panel-requests select")[1])`)
			p.until(partial+`.textContent.startsWith("A column sorts the 20 listed here; ") && !`+partial+`.hidden`, "it is not said that a column sorts what is listed alone")
			p.until(`document.querySelector("#panel-requests tbody").innerText.includes("1 packet")`, "the request whose packet was sent again does not say so")
			p.until(`/:7000/.test(document.querySelector("#panel-requests tbody").innerText)`, "the address of the server is not told")
			p.shots("requests-packets")
			p.key("y")
			p.until(`/server · worker[^\n]*blocked[^\n]*lock\s/.test(document.querySelector("#panel-numbers").innerText)`, "it is not told for how long the worker was blocked by a lock")
			p.shots("states")
		}
	}
}
