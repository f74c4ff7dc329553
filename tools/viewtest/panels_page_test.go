//go:build !race

package viewtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"

	"meridian/internal/show/view"
)

// Request 20 and what is around it: its answer of the database is received 100 us before it was sent.
const (
	viewFrom, viewTo = 19_900_000.0, 21_100_000.0
	viewed           = "#v=1&t=19900000,21100000"
	sendRequest      = 20_100_000.0 // on app
	getRequest       = 20_146_000.0 // on worker
	sendRows         = 20_455_000.0 // on engine
	getRows          = 20_355_000.0 // on worker
	instants         = 9.0          // how far below a row's top its instants are, and the ends of messages
)

func (b *panelBrowser) DetailsSayAllThatIsKnownOfAnEvent(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	x, y := p.spot("engine", sendRows, viewFrom, viewTo, instants)
	p.press(x, y, 0)
	p.until(`document.querySelector("#panel-details .verdict")`, "a click on an event shows no details of its message")
	p.shot("details")
	text := p.text()
	for _, want := range []string{"send rows", "db", "engine", "2023-11-14 22:13:20.020455000 UTC", "2023-11-14 22:13:20.020105000 UTC", "−350.0 µs", "±51 µs",
		"web, worker", "−100.0 µs", "−156 µs … −44 µs", "◆ certain", "beyond", "rows\t0", "id\t20"} {
		if want == "beyond" {
			want = "more than the bounds of both clocks allow"
		}
		if !strings.Contains(text, want) {
			t.Errorf("the details lack %q:\n%s", want, text)
		}
	}
	p.click("#panel-details dd button", "go to where it received by")
	p.until(`document.querySelector("#panel-details h2").textContent === "receive rows"`, "the other end is not gone to")
	p.click("#panel-details button", "copy as text")
	p.until(`document.querySelector("#panel-details .said").textContent !== ""`, "copying says nothing")
	if got := value[string](p.logic, `document.querySelector("#panel-details table caption").textContent + document.querySelectorAll("#panel-details th[scope=row]").length`); got != "Fields of event 3071" {
		t.Errorf("the fields are %q", got)
	}
	if got := p.text(); !strings.Contains(got, "Message received") && !strings.Contains(got, "MESSAGE RECEIVED") {
		t.Errorf("the other end has no message:\n%s", got)
	}
}

func (b *panelBrowser) TheOrderOfTwoEventsIsAnsweredWithItsReason(t *testing.T) {
	p := b.open(t, newScene(""), "dark", viewed)
	p.key("o")
	ask := func(row string, at float64, other string, second float64, answer, why string, says ...string) {
		t.Helper()
		x, y := p.spot(row, at, viewFrom, viewTo, instants)
		p.press(x, y, 0)
		x, y = p.spot(other, second, viewFrom, viewTo, instants)
		p.press(x, y, chromedp.ModifierShift)
		ends := fmt.Sprintf(`[...document.querySelectorAll(".slots .what")].map((e) => /[+](\d+)/.exec(e.textContent.replace(".", ""))[1]).join() === "%.0f,%.0f"`, at, second)
		p.until(ends, "other events are selected")
		p.until(fmt.Sprintf(`(({ ariaBusy, dataset: d }) => !ariaBusy && d.answer === %q && d.why === %q)(document.querySelector(".answer"))`, answer, why), "the answer is another one")
		for _, want := range says {
			if got := p.text(); !strings.Contains(got, want) {
				t.Errorf("the answer lacks %q:\n%s", want, got)
			}
		}
	}
	ask("app", sendRequest, "worker", getRequest, "yes", "message", "Yes: A is before B", "by at least 40.00 µs", "A message leads from A to B")
	p.shot("order-message")
	ask("worker", getRequest, "app", sendRequest, "no", "message", "No: B is before A", "A message leads from B to A")
	ask("app", sendRequest, "engine", sendRows, "yes", "message", "A chain of 2 messages")
	// The answer of the database seems received before it was sent.
	ask("engine", sendRows, "worker", getRows, "yes", "message", "the clocks' bounds say the opposite")
	ask("worker", getRequest, "worker", getRows, "yes", "clock", "by 209.0 µs", "same clock")
	// 52 us apart, and no message: the interval of the database's event is 50 us to either side, the web server's 5, and the stamps hide 1.
	ask("worker", 20_200_000+0, "engine", 20_261_000, "yes", "message", "within −5 µs … +5.999 µs of its instant", "within ±51 µs of its instant")
	x, y := p.spot("engine", 20_261_000-50_000, viewFrom, viewTo, 17)
	if !p.drawn(x, y) {
		t.Error("the interval of B is not drawn to its lowest instant")
	}
	p.shot("order")
	p.click(".slots button", "let go of B")
	p.until(`!document.querySelector(".answer").dataset.answer`, "without B there still is an answer")
}

func (b *panelBrowser) EventsThatNoMessageOrdersAreJudgedByTheirIntervals(t *testing.T) {
	// The answer of request 10 left the database before its own query came, by the clocks: take a request's end at the web
	// server and the counter of the database, which messages do not order.
	s := newScene("")
	p := b.open(t, s, "light", viewed)
	number := func(class, row int, after int64) string {
		for _, e := range s.events {
			if e.class == class && e.row == row && e.at >= after {
				return fmt.Sprint(e.number)
			}
		}
		return ""
	}
	for _, c := range []struct{ a, b, answer, why, says string }{
		{number(11, 4, 20_000_000), number(1, 1, 20_000_000), "unknown", "intervals", "overlap by 9.999 µs"},
		{number(11, 4, 20_000_000), number(2, 1, 20_000_000), "yes", "intervals", "by at least 44.00 µs"},
		{number(2, 1, 20_000_000), number(11, 4, 20_000_000), "no", "intervals", "by at least 44.00 µs"},
	} {
		value[bool](p.logic, fmt.Sprintf(`(location.hash = "%s&a=%s&b=%s", true)`, viewed[1:], c.a, c.b))
		p.until(fmt.Sprintf(`(d => d.answer === %q && d.why === %q)(document.querySelector(".answer").dataset)`, c.answer, c.why), "the answer is another one")
		if got := value[string](p.logic, `document.querySelector(".answer").textContent`); !strings.Contains(got, c.says) {
			t.Errorf("the answer lacks %q: %s", c.says, got)
		}
	}
}

func (b *panelBrowser) ASpanIsMeasuredByDraggingAndByTwoClicks(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	x0, y0 := p.spot("app", sendRequest, viewFrom, viewTo, instants)
	x1, y1 := p.spot("engine", sendRows, viewFrom, viewTo, instants)
	held := func(e *input.DispatchMouseEventParams) {
		e.Modifiers, e.Buttons, e.Button, e.ClickCount = int64(chromedp.ModifierShift), 1, input.MouseButtonLeft, 1
	}
	if err := chromedp.Do(p.ctx, chromedp.MouseEvent(chromedp.MousePressed, x0, y0, held), chromedp.MouseEvent(chromedp.MouseMoved, (x0+x1)/2, y1, held),
		chromedp.MouseEvent(chromedp.MouseMoved, x1, y1, held), chromedp.MouseEvent(chromedp.MouseReleased, x1, y1, held)); err != nil {
		t.Fatal(err)
	}
	p.until(`document.querySelector("#panel-measure .said").textContent.startsWith("355.0 µs from client to db; truly 304.0 µs … 406.0 µs; the order is certain, by a message")`, "the span is another one")
	p.shot("measure")
	x0, _ = p.spot("app", sendRequest, viewFrom, viewTo, instants) // the panel takes some of the plot's room
	x1, _ = p.spot("app", sendRows, viewFrom, viewTo, instants)
	if !p.drawn(x0, y1+200) || !p.drawn(x1, y1+200) {
		t.Error("the span is not drawn")
	}
	p.click("#panel-measure button", "clear")
	p.until(`document.querySelector("#panel-measure .said").textContent === ""`, "the span is not let go")
	p.key("m")
	x2, y2 := p.spot("worker", getRequest, viewFrom, viewTo, instants)
	p.press(x2, y2, 0)
	x2, y2 = p.spot("worker", getRows, viewFrom, viewTo, instants)
	p.press(x2, y2, 0)
	p.until(`document.querySelector("#panel-measure .said").textContent === "209.0 µs from web to web, by one clock, to within 1.000 µs"`, "two clicks measure something else")
	if got := value[string](p.logic, `document.getElementById("do-measure").getAttribute("aria-pressed")`); got != "false" {
		t.Errorf("after two clicks measuring is %q", got)
	}
}

func (b *panelBrowser) ViolationsAreListedByVerdictAndGoneTo(t *testing.T) {
	p := b.open(t, newScene(""), "dark", "")
	p.key("v")
	const rows = `[...document.querySelectorAll("#panel-violations tbody tr")].map((e) => e.innerText.replaceAll("\t", " ").replaceAll("\n", " ")).join("|")`
	p.until(`document.querySelectorAll("#panel-violations tbody tr").length === 3`, "not three are listed")
	if got, want := value[string](p.logic, rows), "◇ undecidable web db −30.00 µs 0 ns … 25 µs +10.200000 ms|◆ certain db web −100.0 µs impossible: the bounds say −155 µs … −45 µs +20.455000 ms|▷ too fast client web 2.000 µs 0 ns … 7 µs +30.100000 ms"; got != want {
		t.Errorf("listed\n%s, want\n%s", got, want)
	}
	p.click("#panel-violations .sort", "delay")
	p.until(rows+`.startsWith("▷")`, "the greatest delay is not first")
	p.click("#panel-violations .sort", "delay")
	p.until(rows+`.startsWith("◆")`, "the least delay is not first")
	if got := value[string](p.logic, `document.querySelector("#panel-violations th[aria-sort]").getAttribute("aria-sort")`); got != "ascending" {
		t.Errorf("sorted %s", got)
	}
	p.click("#panel-violations tbody .pick", "◆ certain")
	p.until(`document.querySelector("#panel-violations tr[aria-current]").innerText.includes("certain")`, "what was gone to is not marked")
	p.until(`location.hash.includes("t=20075000,20735000")`, "the view is elsewhere")
	p.shot("violations")
	p.click("#panel-violations button", "next ▸")
	p.until(`document.querySelector("#panel-violations tr[aria-current]").innerText.includes("too fast")`, "the next one is another")
	p.click("#panel-violations .check", "")
	p.until(`document.querySelectorAll("#panel-violations tbody tr").length === 2`, "the certain one is still listed")
	for _, want := range []string{"4 messages of 160", "within a step", "the bounds of the clocks allow the right order", "quicker than the least delay"} {
		if got := p.text(); !strings.Contains(got, want) {
			t.Errorf("the panel lacks %q:\n%s", want, got)
		}
	}
}

func (b *panelBrowser) DelaysAndClocksAreDrawnAndTold(t *testing.T) {
	p := b.open(t, newScene(""), "light", "")
	p.panel("delays")
	p.until(`document.querySelectorAll("#panel-delays svg").length === 4 && document.querySelectorAll("#panel-delays tbody tr").length === 4`, "not four pairs are drawn")
	if got := value[string](p.logic, `document.querySelector("#panel-delays svg").getAttribute("aria-label")`); !strings.Contains(got, "client to web: 40 messages, delays from 2.000 µs to 46.00 µs") {
		t.Errorf("the first picture is of %q", got)
	}
	if got := value[float64](p.logic, `Math.max(...[...document.querySelectorAll("#panel-delays .column")].map((e) => e.getBoundingClientRect().height))`); got < 60 {
		t.Errorf("the highest column has %v pixels", got)
	}
	p.shot("delays")
	p.panel("clocks")
	p.until(`[...document.querySelectorAll("#panel-clocks img")].filter((e) => e.src.startsWith("data:image/svg+xml")).length === 3`, "not three pictures are shown")
	value[bool](p.logic, `(s => { s.value = "2"; s.dispatchEvent(new Event("change")); return true; })(document.querySelector("#panel-clocks select"))`)
	p.until(`document.querySelectorAll("#panel-clocks img").length === 1`, "a host does not choose its pictures")
	p.click("#panel-clocks .zoom", "")
	p.until(`document.querySelector("dialog.enlarged[open] img").complete`, "a picture is not enlarged")
	p.shot("clocks")
	p.key("\u001b")
	p.until(`!document.querySelector("dialog.enlarged")`, "Escape does not close it")
}

func (b *panelBrowser) AChainIsFollowedAcrossHosts(t *testing.T) {
	p := b.open(t, newScene(""), "dark", viewed+"&a=306")
	p.until(`document.querySelector("#panel-details h2")?.textContent === "query"`, "another event is selected")
	p.key("c")
	p.until(`document.querySelectorAll("#panel-chain tbody tr").length === 20`, "the chain has not its 20 messages")
	value[bool](p.logic, `(s => { s.value = "1000000"; s.dispatchEvent(new Event("change")); return true; })(document.querySelector("#panel-chain select"))`)
	p.until(`/20 messages over 3 hosts, and more/.test(document.querySelector("#panel-chain .said").textContent)`, "the chain is another one")
	text := p.text()
	for _, want := range []string{"on the wire", "client", " %", "web · worker", "db · engine"} {
		if !strings.Contains(text, want) {
			t.Errorf("the chain lacks %q:\n%s", want, text)
		}
	}
	// Between send query and receive query the chain goes over the plot.
	x0, _ := p.spot("worker", 20_230_500, viewFrom, viewTo, 0)
	_, top := p.spot("worker", 0, viewFrom, viewTo, 12)
	_, bottom := p.spot("engine", 0, viewFrom, viewTo, 12)
	if !p.drawn(x0, (top+bottom)/2) {
		t.Error("the chain is not drawn")
	}
	p.shot("chain")
	p.click("#panel-chain button", "clear")
	p.until(`document.querySelectorAll("#panel-chain tbody tr").length === 0`, "the chain is not let go")
}

func (b *panelBrowser) ASearchGoesOnOverSeveralAnswersAndMarksWhatItFinds(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.key("/")
	p.clear("#panel-search input")
	p.typed("#panel-search input", "rows\r")
	p.until(`document.querySelector("#panel-search .said").textContent === "80 hits"`, "not 80 events are found")
	x, y := p.spot("engine", sendRows, viewFrom, viewTo, 4)
	if !p.drawn(x, y) {
		t.Error("a hit is not marked on its row")
	}
	if got := value[bool](p.logic, `(c => c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((v) => v > 0))(document.querySelector("canvas.hits"))`); !got {
		t.Error("hits are not marked on the map of all")
	}
	p.shot("search")
	p.key("\r") // again: the next one, from the middle of the view
	p.until(`document.querySelector("#panel-search .said").textContent === "43 of 80 hits"`, "the next hit is another one")
	p.click("#panel-search button", "◂ previous")
	p.until(`document.querySelector("#panel-search tr[aria-current]").innerText.includes("20.455")`, "the previous hit is another one")
	for text, says := range map[string]string{"len>x\r": `Invalid search: operator > needs a number, not "x".`, "missing\r": "nothing found"} {
		p.clear("#panel-search input")
		p.typed("#panel-search input", text)
		p.until(fmt.Sprintf(`document.querySelector("#panel-search .said").textContent === %s`, literal(says)), "a search says something else")
	}
}

func (b *panelBrowser) SwitchesHideWhatTheyName(t *testing.T) {
	p := b.open(t, newScene(""), "light", "#v=1")
	p.key("e")
	p.click(`section[aria-label="Hosts"] .check`, "db100")
	const names = `[...document.querySelectorAll(".name .text")].map((e) => e.textContent).join(" ")`
	p.until(names+` === "client app web worker CPU 0"`, "the host is still there")
	p.click(`section[aria-label="Hosts"] button`, "show all hosts")
	p.until(names+` === "client app web worker CPU 0 db engine load"`, "the host is not back")
	p.typed(`section[aria-label="Event types"] input[type=search]`, "receive")
	p.until(`document.querySelectorAll('section[aria-label="Event types"] .items .check').length === 4`, "the filter leaves something else")
	p.click(`section[aria-label="Event types"] button`, "none: hide all event types")
	p.until(`document.querySelector('section[aria-label="Event types"] .said').textContent === "4 hidden"`, "not the four that were filtered are hidden")
	if got := value[bool](p.logic, `document.querySelector('section[aria-label="Event types"] .group input').checked`); got {
		t.Error("a group of which all are hidden is ticked")
	}
	p.click(`section[aria-label="Messages"] button`, "none: hide all messages")
	p.until(`document.querySelector('section[aria-label="Messages"] .said').textContent === "4 hidden"`, "the links are not hidden")
	p.shot("switches")
	p.until(`location.hash.includes("links=7-10") && location.hash.includes("classes=1,3,5,7")`, "the address does not say what is hidden")
}

func (b *panelBrowser) ASharedLinkShowsTheSame(t *testing.T) {
	p := b.open(t, newScene(""), "dark", "#v=1&t=19900000,21100000&raw=1&a=309&b=307&hosts=0&rows=4&classes=8&links=7&fold=h1&q=rows")
	p.until(`document.querySelector("#panel-details h2").textContent === "send rows"`, "the selection is another one")
	p.until(`/^80 hits/.test(document.querySelector("#panel-search .said").textContent)`, "the search is not there")
	p.until(`[...document.querySelectorAll(".name .text")].map((e) => e.textContent).join(" ") === "web db engine"`, "the rows are others")
	p.key("l")
	// Served, what is copied is the view alone: before it stands the secret by which the trace can be read.
	p.until(`/^#v=1&id=[0-9a-z]{6,14}&t=19900000,21100000&raw=1&a=309&b=307&hosts=0&rows=4&classes=8&links=7&fold=h1&q=rows$/.test(document.querySelector("#share input").value)`,
		"the link is another one: "+value[string](p.logic, `document.querySelector("#share input").value`))
	if text := value[string](p.logic, `document.getElementById("share").innerText`); !strings.Contains(text, "gives access to the whole trace") {
		t.Errorf("that the address is a secret is not said: %s", text)
	}
	p.shot("share")
	p.click("#share button", "close")
	p.until(`!document.getElementById("share").open`, "the dialog does not close")
}

func (b *panelBrowser) HelpListsEveryKeyOnce(t *testing.T) {
	p := b.open(t, newScene(""), "light", "")
	p.key("?")
	p.until(`document.getElementById("help").open`, "there is no help")
	p.shot("help")
	keys := value[[]string](p.logic, `[...document.querySelectorAll("#help kbd")].map((e) => e.textContent)`)
	seen := map[string]bool{}
	for _, k := range keys {
		if seen[k] {
			t.Errorf("the key %s has two meanings", k)
		}
		seen[k] = true
	}
	for _, k := range strings.Split("i o v k e t / m c l ? b n", " ") {
		if !seen[k] {
			t.Errorf("the help lacks %s: %v", k, keys)
		}
	}
	p.key("\u001b")
	p.until(`!document.getElementById("help").open`, "Escape does not close it")
}

func (b *panelBrowser) TablesSayWhatIsInView(t *testing.T) {
	s := newScene("")
	p := b.open(t, s, "light", viewed)
	p.key("t")
	var want []string
	for _, e := range s.events {
		if end := e.at; e.phase != "end" && float64(end) >= viewFrom && float64(e.at) < viewTo {
			want = append(want, fmt.Sprint(e.at))
		}
	}
	p.until(fmt.Sprintf(`document.querySelectorAll("#panel-tables section[aria-label=Events] tbody tr").length === %d`, len(want)), "the events are others")
	const cells = `[...document.querySelectorAll("#panel-tables section[aria-label=Messages] tbody tr")].map((e) => e.innerText.replaceAll("\t", " ").replaceAll("\n", " ")).join("|")`
	if got, want := value[string](p.logic, cells), "+20.455000 ms −100.0 µs ◆ certain db · engine web · worker"; !strings.Contains(got, want) {
		t.Errorf("the messages\n%s lack\n%s", got, want)
	}
	p.shot("tables")
	p.click("#panel-tables .pick", "+20.455000 ms")
	p.until(`location.hash.includes("a=309")`, "an event of the table is not selected")
}

func (b *panelBrowser) PanelsCanBeUsedWithoutSeeingThem(t *testing.T) {
	p := b.open(t, newScene(""), "dark", viewed+"&a=309&b=307")
	for _, panel := range panelIDs {
		p.panel(panel)
		value[bool](p.logic, `new Promise((done) => setTimeout(() => done(true), 0))`)
	}
	p.key("?")
	wrong := value[[]string](p.logic, `(() => {
		const wrong = [], name = (e) => (e.getAttribute("aria-label") ?? e.labels?.[0]?.textContent ?? e.textContent ?? "").trim();
		for (const e of document.querySelectorAll("button, input, select, [tabindex]")) if (!name(e) && !e.title) wrong.push("no name: " + e.outerHTML.slice(0, 90));
		for (const e of document.querySelectorAll(".panel table, #help table")) {
			if (!e.caption?.textContent && !e.closest("section[aria-label]")) wrong.push("no caption: " + e.outerHTML.slice(0, 90));
			for (const th of e.querySelectorAll("th")) if (!th.scope) wrong.push("no scope: " + th.outerHTML.slice(0, 90));
			for (const tr of e.querySelectorAll("tbody tr")) if (tr.cells[0].tagName !== "TH") wrong.push("a row without a head: " + tr.outerHTML.slice(0, 90));
		}
		for (const e of document.querySelectorAll(".panel")) if (!e.querySelector("h2")) wrong.push("no heading: " + e.id);
		for (const e of document.querySelectorAll("img, svg")) if (!e.alt && !e.getAttribute("aria-label")) wrong.push("a picture without words: " + e.outerHTML.slice(0, 90));
		for (const e of document.querySelectorAll("dialog")) if (!e.getAttribute("aria-label")) wrong.push("a dialog without a name");
		const ids = [...document.querySelectorAll("[id]")].map((e) => e.id);
		for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push("twice: " + id);
		for (const id of ["measure", "search", "violations", "chain", "tables", "order"]) if (!document.querySelector("#panel-" + id + " [aria-live=polite]")) wrong.push("nothing is said: " + id);
		for (const e of document.querySelectorAll("[style]")) if (!(e instanceof HTMLElement)) wrong.push("style of " + e.tagName);
		return wrong;
	})()`)
	for _, w := range wrong {
		t.Error(w)
	}
	p.click("#help button", "close")
	// By keys alone: from the tab into the list, and on to an event.
	p.key("v")
	p.until(`document.querySelectorAll("#panel-violations tbody .pick").length === 3`, "no list")
	value[bool](p.logic, `(document.querySelector("#panel-violations tbody .pick").focus(), true)`)
	p.key("\r")
	p.until(`document.querySelector("#panel-violations tr[aria-current]")`, "Enter does not go there")
}

var panelIDs = []string{"details", "order", "measure", "search", "violations", "chain", "delays", "clocks", "switches", "tables"}

func (b *panelBrowser) NothingOfATraceIsMarkupInThePanels(t *testing.T) {
	p := b.open(t, newScene(`</script><script>document.title="pwned"</script><img src=x onerror="document.title='pwned'">`), "light", viewed+"&a=309&b=307&q=rows")
	before := value[string](p.logic, `document.querySelectorAll("script, iframe, object, embed, link, meta, base, form").length + ""`)
	for _, panel := range panelIDs {
		p.panel(panel)
		value[bool](p.logic, `new Promise((done) => setTimeout(() => done(true), 0))`)
	}
	p.key("c")
	p.until(`document.querySelectorAll("#panel-chain tbody tr").length > 3`, "no chain")
	p.shot("hostile")
	if got := value[string](p.logic, `document.querySelectorAll("script, iframe, object, embed, link, meta, base, form").length + ""`); got != before {
		t.Errorf("%s elements of a kind became %s", before, got)
	}
	if got := value[string](p.logic, `[...document.querySelectorAll("img")].filter((e) => !e.src.startsWith("data:image/svg+xml")).length + " " + (document.title.includes("pwned") && !document.title.includes("<script>"))`); got != "0 false" {
		t.Errorf("images and title: %s", got)
	}
	if got := p.text(); !strings.Contains(got, "<script>") {
		t.Error("the name is not shown as it is")
	}
}

func (b *panelBrowser) AFileFromADiskSearchesByItself(t *testing.T) {
	var file bytes.Buffer
	if err := view.WriteFile(&file, newScene(""), view.Options{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "timeline.html")
	if err := os.WriteFile(path, file.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	p := b.address(t, "file://"+path+viewed, "light")
	p.key("/")
	p.clear("#panel-search input")
	p.typed("#panel-search input", `"send" rows>3 host=db`+"\r")
	p.until(`document.querySelector("#panel-search .said").textContent === "8 hits among what this file holds"`, "the file finds something else")
	p.shot("file")
	p.click("#do-share", "")
	p.until(`document.querySelector("#share input").value.startsWith("file:///")`, "the link is another one")
}
