//go:build !race

package viewtest

import (
	"fmt"
	"net/http/httptest"
	"testing"

	"github.com/chromedp/chromedp"

	"meridian/internal/show/view"
	"meridian/trace"
)

// TestLive runs what is tested of a timeline that grows.
func TestLive(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"TheViewFollowsTheEnd", b.TheViewFollowsTheEnd},
		{"TheViewStaysWhereOneLooks", b.TheViewStaysWhereOneLooks},
		{"HostsAndRowsThatComeMoveNothingOneLooksAt", b.HostsAndRowsThatComeMoveNothingOneLooksAt},
		{"WhatWasSettledAndYetChangedIsDrawnAnew", b.WhatWasSettledAndYetChangedIsDrawnAnew},
		{"ALostConnectionIsTriedAgain", b.ALostConnectionIsTriedAgain},
		{"ThePageWaitsForTheFirstEvent", b.ThePageWaitsForTheFirstEvent},
		{"PanelsShowWhatComes", b.PanelsShowWhatComes},
		{"WithLessMotionTheViewMovesInSteps", b.WithLessMotionTheViewMovesInSteps},
	})
}

const second = 1_000_000_000

// firstLane is the lane of requests.
const firstLane = `meridian.about.rows[0].lanes[0].lane`

func (b *panelBrowser) TheViewFollowsTheEnd(t *testing.T) {
	s := newLiveScene(t)
	s.requests(0, 3*second, second/20)
	s.publish(3 * second)
	p, _ := b.follow(t, s, "no-preference")
	p.until(`meridian.live?.following && Math.abs(meridian.view.to - meridian.view.from - 10e9) < 1`, "it does not follow ten seconds at first")
	for _, now := range []int64{5, 20, 63} {
		s.requests((now-2)*second, now*second, second/20)
		s.publish(now * second)
		p.until(fmt.Sprintf(`meridian.view.from < %d && meridian.view.to >= %[1]d && Math.abs(meridian.view.to - meridian.view.from - 10e9) < 1`, now*second), "the end is not in sight")
		p.until(seen(0, firstLane, (now-2)*second, now*second)+" === 40", "the latest events are not drawn")
		p.until(fmt.Sprintf(`document.getElementById("chip").textContent.startsWith("0.2 s behind") && document.getElementById("totals").textContent.includes("%d events")`, s.events), "the header does not say how far it is")
	}
	p.shot("live-follows")
	// The rate, losses and late events are told; a screen reader is not told of each.
	s.lost, s.late = 12, 3
	s.publish(64 * second)
	p.until(`/12 lost · 3 late/.test(document.getElementById("chip").textContent)`, "losses are not told")
	p.until(`document.getElementById("live").textContent === ""`, "a screen reader is told of growth")
	// All that there is stays in sight while there is more of it.
	p.key("0")
	p.until(`meridian.live.following && meridian.view.from <= 0`, "not all is in sight")
	s.requests(64*second, 90*second, second/20)
	s.publish(90 * second)
	p.until(`meridian.live.following && meridian.view.from <= 0 && meridian.view.to >= 90e9`, "what comes moves the first out of sight")
	s.live.End()
	p.until(`document.getElementById("chip").textContent.startsWith("recording ended") && !meridian.live.following`, "the end is not told")
}

func (b *panelBrowser) TheViewStaysWhereOneLooks(t *testing.T) {
	s := newLiveScene(t)
	s.requests(0, 30*second, second/20)
	s.publish(30 * second)
	p, _ := b.follow(t, s, "no-preference")
	p.until(`meridian.live?.following && meridian.view.to >= 30e9`, "it does not follow")
	// Zooming out keeps the end in sight, and goes on following.
	p.key("-")
	p.until(`meridian.live.following && Math.abs(meridian.view.to - meridian.view.from - 20e9) < 1e7`, "zooming out stops following")
	p.key("+")
	p.until(`meridian.live.following && Math.abs(meridian.view.to - meridian.view.from - 10e9) < 1e7`, "zooming in at the end stops following")
	p.drag(700, 400, 900, 400, 0)
	p.until(`!meridian.live.following && document.getElementById("do-live").getAttribute("aria-pressed") === "false"`, "it follows though the view was moved away")
	from := p.number(`meridian.view.from`)
	s.requests(30*second, 45*second, second/20)
	s.publish(45 * second)
	p.until(fmt.Sprintf(`meridian.about.events === %d && meridian.about.span > 44e9`, s.events), "what came is not told")
	if now := p.number(`meridian.view.from`); now != from {
		t.Errorf("the view moved from %v to %v", from, now)
	}
	p.shot("live-stays")
	p.click("#do-live", "")
	p.until(`meridian.live.following && meridian.view.to >= 45e9 && meridian.view.from < 45e9`, "the button does not go back to the end")
	p.key("L")
	p.until(`!meridian.live.following`, "the key does not stop it")
	p.until(`document.getElementById("live").textContent === "no longer following the end"`, "a screen reader is not told")
}

func (b *panelBrowser) HostsAndRowsThatComeMoveNothingOneLooksAt(t *testing.T) {
	s := newLiveScene(t)
	for i := range 40 {
		s.row("web", fmt.Sprintf("worker %d", i))
	}
	for row := range 41 {
		s.write(int64(row)*1000, row, 0, 0)
	}
	s.requests(second, 5*second, second/20)
	s.publish(5 * second)
	p, _ := b.follow(t, s, "reduce")
	p.still()
	p.click(`#line-20 .text`, "")
	p.until(`meridian.focused.row === 20`, "the row is not focused")
	at := p.number(`meridian.rowY(20).top`)
	// A row above what one looks at, and one of more lanes; a host with its rows, and messages to it.
	s.row("web", "cron")
	s.schema.Streams[len(s.schema.Streams)-1].Parent = 0
	s.host("db", "postgres")
	cron, db := len(s.schema.Streams)-2, len(s.schema.Streams)-1
	s.schema.Classes = append(s.schema.Classes, trace.Class{Name: "cron job"})
	s.write(6*second, cron, 3, 0)
	s.write(6*second+100, 0, 1, 7)
	s.write(6*second+2000, db, 2, 7)
	s.publish(6 * second)
	p.until(`meridian.about.hosts.length === 2 && meridian.about.links.length === 1 && meridian.rowY(41) && meridian.rowY(42)`, "what came is not laid out")
	p.until(`meridian.rowY(41).top < meridian.rowY(20).top`, "the new row is not above")
	if now := p.number(`meridian.rowY(20).top`); now != at {
		t.Errorf("the row one looks at moved from %v to %v", at, now)
	}
	value[bool](p.logic, `meridian.reveal(42), true`)
	p.until(seen(1, `meridian.about.rows[42].lanes[0].lane`, 6*second, 7*second)+" === 1", "the events of the new host are not drawn")
	p.until(seen(2, `meridian.about.links[0].lane`, 6*second, 7*second)+" === 1", "its message is not drawn")
	p.until(`document.getElementById("totals").textContent.includes("2 hosts") && document.getElementById("totals").textContent.includes("1 message")`, "the totals are old")
	p.shot("live-grown")
}

func (b *panelBrowser) WhatWasSettledAndYetChangedIsDrawnAnew(t *testing.T) {
	s := newLiveScene(t)
	s.host("db", "postgres")
	s.write(0, 0, 1, 1)
	s.write(1000, 1, 2, 1)
	s.requests(second, 2*second, second/20)
	s.write(2*second, 0, 1, 2)
	s.requests(2*second+1, 20*second, second/20)
	s.publish(20 * second)
	p, _ := b.follow(t, s, "reduce")
	p.until(`meridian.live?.following`, "it does not follow")
	value[bool](p.logic, `meridian.setView(1e9, 4e9), true`)
	p.still()
	lane := `meridian.about.links[0].lane`
	p.until(seen(2, lane, second, 4*second)+" === 0", "the message is there before it was received")
	p.until(`[...Array(8).keys()].every((i) => meridian.data.best(2, Math.floor(Math.log2(3e9 / meridian.plot.width)), i)?.settled !== false || i > 3)`, "tiles of long ago are not settled")
	// Its receipt comes 19 seconds after it was sent.
	s.write(21*second, 1, 2, 2)
	s.publish(21 * second)
	p.until(seen(2, lane, second, 4*second)+" === 1", "a message that came late is not drawn where it was sent")
	p.until(`meridian.stats().arrows === 1`, "there is no arrow")
	p.shot("live-late")
}

func (b *panelBrowser) ALostConnectionIsTriedAgain(t *testing.T) {
	s := newLiveScene(t)
	s.requests(0, 3*second, second/20)
	s.publish(3 * second)
	p, cut := b.follow(t, s, "reduce")
	p.until(`meridian.live?.state === "on"`, "it is not connected")
	// It may be connected again before anybody looks.
	value[bool](p.logic, `(() => {
		globalThis.lossTold = false;
		new MutationObserver(() => { globalThis.lossTold ||= document.getElementById("chip").textContent.startsWith("connection lost"); })
			.observe(document.getElementById("chip"), { childList: true, characterData: true, subtree: true });
		return true;
	})()`)
	cut.cut()
	p.until(`globalThis.lossTold`, "the loss is not told")
	s.requests(3*second, 9*second, second/20)
	s.publish(9 * second)
	p.until(fmt.Sprintf(`meridian.live.state === "on" && meridian.about.events === %d`, s.events), "the connection is not made again")
	p.until(seen(0, firstLane, 8*second, 9*second)+" === 20", "what came meanwhile is not drawn")
	p.mu.Lock()
	p.trouble = nil // the browser logs that the connection was cut
	p.mu.Unlock()
}

func (b *panelBrowser) ThePageWaitsForTheFirstEvent(t *testing.T) {
	s := newLiveScene(t)
	server := httptest.NewServer(view.Handler(s.live))
	defer server.CloseClientConnections()
	ctx := b.tab(t)
	if err := chromedp.Do(ctx, chromedp.Navigate(server.URL+"/")); err != nil {
		t.Fatal(err)
	}
	p := &panelPage{logic: &logic{t, ctx}}
	p.until(`document.getElementById("notice").textContent.startsWith("Nothing has been recorded yet")`, "that there is nothing is not said")
	p.until(`performance.getEntriesByType("resource").filter((e) => /api\/about/.test(e.name) && e.responseStatus === 204).length > 2`, "the page does not ask again")
	s.requests(0, second, second/20)
	s.publish(second)
	p.until(`document.getElementById("notice").hidden && meridian.live?.following`, "the page does not begin")
	p.until(seen(0, firstLane, 0, second)+" === 20", "the first events are not drawn")
	if n := value[int](p.logic, `performance.getEntriesByType("resource").filter((e) => e.responseStatus >= 400).length`); n > 0 {
		t.Errorf("%d requests of a page that waits are refused: its console lists each", n)
	}
	s.live.End()
}

// sendBack writes a message that is received before it was sent.
func (s *liveScene) sendBack(at int64, from, to int, flow uint64) {
	s.write(at, to, 2, flow)
	s.write(at+1_000_000, from, 1, flow)
}

func (b *panelBrowser) PanelsShowWhatComes(t *testing.T) {
	s := newLiveScene(t)
	s.host("db", "postgres")
	s.bounded = true
	s.write(0, 0, 1, 1)
	s.write(1000, 1, 2, 1)
	s.requests(second, 3*second, second/20)
	s.publish(3 * second)
	p, _ := b.follow(t, s, "reduce")
	p.until(`meridian.live?.following`, "it does not follow")
	p.key("v")
	p.until(`document.querySelector("#panel-violations tbody").children.length === 0`, "there are violations")
	s.sendBack(4*second, 0, 1, 2)
	s.publish(5 * second)
	p.until(`document.querySelector("#panel-violations tbody").children.length === 1 && document.querySelector("#totals .certain").textContent === "1 certain"`, "a violation that came is not listed and counted")
	p.until(`document.getElementById("live").textContent.includes("certainly violates causality")`, "a screen reader is not told of it")
	p.shot("live-violation")
	// A search goes on through what comes; tables are those of what is in sight now.
	value[bool](p.logic, `meridian.show("search"), document.querySelector("#panel-search input").value = "name=receive", document.querySelector("#panel-search form").requestSubmit(), true`)
	p.until(`document.querySelector("#panel-search .said").textContent === "2 hits"`, "two are not found")
	s.sendBack(6*second, 0, 1, 3)
	s.publish(7 * second)
	value[bool](p.logic, `document.activeElement.blur(), true`)
	p.until(`document.querySelector("#panel-search .said").textContent === "3 hits" && document.querySelectorAll("#panel-search tbody tr").length === 3`, "the search does not go on")
	value[bool](p.logic, `meridian.show("tables"), true`)
	p.until(`document.querySelector("#panel-tables .said").textContent.includes("messages")`, "the tables are not filled")
	was := value[string](p.logic, `document.querySelector("#panel-tables .said").textContent`)
	s.requests(7*second+1, 8*second, second/20)
	s.publish(8 * second)
	p.until(`document.querySelector("#panel-tables .said").textContent !== `+literal(was), "the tables are not renewed")
	p.until(`document.querySelector("#panel-tables .said").getAttribute("aria-live") === "off"`, "a screen reader is told of each renewal")
	// Hosts that come are on the lists of what is shown, and of clocks.
	value[bool](p.logic, `meridian.show("switches"), true`)
	s.host("cache", "redis")
	s.write(9*second, 2, 0, 0)
	s.publish(9 * second)
	p.until(`document.querySelector("#panel-switches").textContent.includes("cache")`, "a host that came cannot be switched off")
	value[bool](p.logic, `meridian.show("clocks"), true`)
	p.until(`document.querySelector("#panel-clocks").textContent.includes("cache")`, "a host that came has no clock")
}

func (b *panelBrowser) WithLessMotionTheViewMovesInSteps(t *testing.T) {
	s := newLiveScene(t)
	s.requests(0, 3*second, second/20)
	s.publish(3 * second)
	p, _ := b.follow(t, s, "reduce")
	p.until(`meridian.live?.following && meridian.view.to > 3e9`, "it does not follow")
	// Within the view nothing moves; beyond it, it moves by a part.
	moves := value[int](p.logic, `new Promise((done) => {
		let moves = 0, was = meridian.view.from, n = 0;
		requestAnimationFrame(function each() { if (meridian.view.from !== was) moves++; was = meridian.view.from; if (++n < 40) requestAnimationFrame(each); else done(moves); });
	})`)
	if moves > 1 {
		t.Errorf("in 40 frames the view moved %d times", moves)
	}
	s.requests(3*second, 60*second, second/20)
	s.publish(60 * second)
	p.until(`meridian.view.from < 60e9 && meridian.view.to > 60e9 && meridian.live.following`, "the end is not in sight")
}
