//go:build !race

package viewtest

import (
	"fmt"
	"testing"

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
	cut.cut()
	p.until(`document.getElementById("chip").textContent.startsWith("connection lost")`, "the loss is not told")
	s.requests(3*second, 9*second, second/20)
	s.publish(9 * second)
	p.until(fmt.Sprintf(`meridian.live.state === "on" && meridian.about.events === %d`, s.events), "the connection is not made again")
	p.until(seen(0, firstLane, 8*second, 9*second)+" === 20", "what came meanwhile is not drawn")
	p.mu.Lock()
	p.trouble = nil // the browser logs that the connection was cut
	p.mu.Unlock()
}
