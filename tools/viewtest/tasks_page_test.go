//go:build !race

package viewtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
)

// TestQuestionsAreAnsweredFromTheFirstView asks what people ask of a timeline, on data whose answers are known. Each question is
// answered within five actions, a key, a press or a text each, and the answer says how sure it is.
func TestQuestionsAreAnsweredFromTheFirstView(t *testing.T) {
	b := startPanelBrowser(t)
	shop := func(t *testing.T) view.Data { return timelineOf(t, indextest.Shop(t, "")) }
	forty := func(*testing.T) view.Data { return newScene("") }
	kernels := func(t *testing.T) view.Data { return timelineOf(t, indextest.Kernels(t)) }
	two := func(t *testing.T) view.Data {
		before := timelineOf(t, indextest.Shop(t, ""))
		before.Against(timelineOf(t, indextest.ShopAfter(t, "")), "before", "after")
		return before
	}
	var rules []rule
	for _, q := range []struct {
		name string
		data func(*testing.T) view.Data
		ask  func(*asker)
		says []string // in the panel that is shown, between blanks
	}{
		{"WhichRequestIsSlowestAndWhatTheServerDidMeanwhile", shop, func(a *asker) {
			a.key("q")
			a.until(requestRows+`.length === 100`, "no requests are listed")
			a.click(`#panel-requests tbody .pick`, "")
			a.until(`document.querySelector(".path-total")`, "there is no path")
		}, []string{"GET /cart 32.", "The longest part: render on cart (30.00 ms).", "Beyond 59 like requests: render on cart (27.9"}},
		{"WhichMessagesWereInvertedBeforeAlignment", func(*testing.T) view.Data { return inverted{newScene("")} }, func(a *asker) {
			a.key("r")
			a.key("v")
			a.until(`document.querySelectorAll("#panel-violations table").length > 1`, "raw inversions are not listed")
		}, []string{"80 of 160 messages were received before they were sent. Alignment leaves 1 that certainly were."}},
		{"HowMuchProcessorTimeAThreadTook", shop, func(a *asker) {
			a.key("y")
			// 59 requests render for 2.00 to 2.12 ms, the slow one for 30: 151.4 ms in all.
			a.until(`/render\scart · process\s60\s1/.test(document.querySelector("#panel-numbers").innerText)`, "nothing is counted")
		}, []string{"render cart · process 60 151.", ": all of it, 5 names and 240 messages."}},
		{"WhichClockIsWorstKnown", forty, func(a *asker) {
			a.key("k")
			a.until(`!document.getElementById("panel-clocks").hidden`, "clocks are not shown")
		}, []string{"db 50 us -350 us +1.2 ppm client", "web 5 us +2000 us +1.2 ppm client"}},
		{"WhetherOneEventWasBeforeAnother", forty, func(a *asker) {
			x, y := a.spot("worker", 5_200_000, -800_000, 40_800_000, onFirst)
			a.press(x, y, 0)
			a.until(`meridian.selection.a`, "nothing is selected")
			x, y = a.spot("engine", 5_250_000, a.from(), a.to(), onFirst)
			a.press(x, y, chromedp.ModifierShift)
			a.until(`meridian.selection.b`, "nothing is selected as B")
			a.key("o")
			a.until(`document.querySelector("#panel-order .answer").dataset.answer`, "there is no answer")
		}, []string{"Yes: A is before B by at least 4.001 µs", "A message leads from A to B"}},
		{"WhatIsSeenIsExported", shop, func(a *asker) {
			a.keepFiles()
			a.key("t")
			a.until(`document.querySelectorAll("#panel-tables tbody tr").length > 100`, "nothing is in view")
			a.click("#panel-tables button", "save the messages in view as CSV")
			if lines := strings.Count(a.savedText("messages.csv"), "\r\n"); lines != 241 {
				a.t.Errorf("%d lines are saved, want 240 and a head", lines)
			}
		}, []string{"messages.csv has 240 lines"}},
		{"WhatChangedBetweenTwoRuns", two, func(a *asker) {
			a.key("V")
			a.until(againstRows+`.length === 11`, "nothing is compared")
		}, []string{"query db ▲ +4", "message on its way client → cart within noise, bounds", "How runs differ among themselves is not known from one run of each"}},
		{"WhichHostsRunQueueMadeARequestSlow", kernels, pathOf(5), []string{
			"15.46 ms in all. The longest part: run queue on db (12.01 ms).", "Beyond 19 like requests: run queue on db (12.00 ms).",
			"run queue (CPU 0 ran thread 333) db · database 12.01 ms exact", "run queue (CPU 0 ran thread 222) server · worker 2.010 ms exact"}},
		{"WhichPacketWasSentAgainAndWhatWaitedForIt", kernels, pathOf(1), []string{
			"The longest part: retransmission on server (30.00 ms).",
			"Sent again: 10.0.0.2:7000 → 10.0.0.1:40000, 16 bytes from sequence number 129, 30.00 ms after its first sending by the clock of server alone. client waited for it."}},
		{"WhetherALockIsHeldAcrossHosts", kernels, pathOf(2), []string{
			"The longest part: sleep on db (24.99 ms).",
			"The lock on server was held across hosts: it was waited for 26.25 ms, of that 25.41 ms while its holder (writer) waited for db, by the clock of server alone."}},
		{"WhetherALockIsHeldOnOneHost", kernels, pathOf(4), []string{
			"The longest part: lock on server (17.77 ms).",
			"The lock on server was held there alone: it was waited for 17.77 ms, and its holder (writer) waited for no other host."}},
	} {
		rules = append(rules, rule{q.name, func(t *testing.T) {
			a := &asker{panelPage: b.serve(t, q.data(t), "light", "")}
			a.still()
			q.ask(a)
			if strings.HasSuffix(q.name, "MadeARequestSlow") || strings.HasSuffix(q.name, "WaitedForIt") || strings.HasSuffix(q.name, "AcrossHosts") {
				value[bool](a.logic, `(document.querySelector(".path").scrollIntoView(), true)`)
				a.shots(q.name)
			}
			if a.actions > 5 {
				t.Errorf("%d actions, want at most 5", a.actions)
			}
			text := strings.Join(strings.Fields(a.text()), " ")
			for _, want := range q.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
		}})
	}
	run(t, rules)
}

// pathOf asks for the path of the request that took longest, second longest and so on.
func pathOf(nth int) func(*asker) {
	return func(a *asker) {
		a.key("q")
		a.until(requestRows+`.length > 20`, "no requests are listed")
		a.click(fmt.Sprintf(`#panel-requests tbody tr:nth-child(%d) .pick`, nth), "")
		a.until(`document.querySelector(".path-total")`, "there is no path")
	}
}

// asker counts what is done to a page.
type asker struct {
	*panelPage
	actions int
}

func (a *asker) key(keys string) {
	a.t.Helper()
	a.actions++
	a.panelPage.key(keys)
}

func (a *asker) click(selector, text string) {
	a.t.Helper()
	a.actions++
	a.panelPage.click(selector, text)
}

func (a *asker) press(x, y float64, modifiers chromedp.Modifier) {
	a.t.Helper()
	a.actions++
	a.panelPage.press(x, y, modifiers)
}

func (a *asker) from() float64 { from, _ := a.now(); return from }
func (a *asker) to() float64   { _, to := a.now(); return to }
