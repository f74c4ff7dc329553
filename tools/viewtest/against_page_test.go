//go:build !race

package viewtest

import (
	"strings"
	"testing"

	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
)

// TestTwoRuns runs what the page says of two runs.
func TestTwoRuns(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{{"WhatChangedBetweenTwoRunsIsFirst", b.WhatChangedBetweenTwoRunsIsFirst}, {"WithoutAnotherRunThereIsNoPanel", b.WithoutAnotherRunThereIsNoPanel}})
}

const againstRows = `[...document.querySelectorAll("#panel-against table")[0].tBodies[0].rows].map((r) => r.innerText.replaceAll(/\s+/g, " "))`

// One action from the first view.
func (b *panelBrowser) WhatChangedBetweenTwoRunsIsFirst(t *testing.T) {
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		before, after := timelineOf(t, indextest.Shop(t, "")), timelineOf(t, indextest.ShopAfter(t, ""))
		before.Against(after, "before/", "after/")
		p := open(t, before, "light", "")
		p.still()
		p.key("V")
		p.until(againstRows+`.length === 11`, kind+": the names are not paired")
		rows := value[[]string](p.logic, againstRows)
		if !strings.HasPrefix(rows[0], "query db ▲ +4") || !strings.Contains(rows[0], " µs (") {
			t.Errorf("%s: first is %q, want the query of the database", kind, rows[0])
		}
		if list := strings.Join(rows, "\n"); !strings.Contains(list, "message on its way client → cart within noise, bounds +1") || !strings.Contains(list, "render cart within noise, bounds") {
			t.Errorf("%s: what does not differ beyond the bounds is not said to:\n%s", kind, list)
		}
		if got := p.text(); !strings.Contains(got, "Of 11 names that both have, 6 differ beyond noise and bounds (▲ longer, ▼ shorter in B); 1 name only one has.") || !strings.Contains(got, "audit\tdb\tB\t60") {
			t.Errorf("%s: the panel says %s", kind, got)
		}
		p.shots("against-" + kind)
		p.click("#panel-against .check", "")
		p.until(againstRows+`.length === 6`, kind+": what does not differ is listed")
		p.click("#panel-against tbody .pick", "query")
		p.until(`document.querySelector("#panel-search .said").textContent.startsWith("120 hits")`, kind+": what was pressed is not found")
	}
}

func (b *panelBrowser) WithoutAnotherRunThereIsNoPanel(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	if value[bool](p.logic, `document.getElementById("tab-against") !== null`) {
		t.Error("there is a panel for another run")
	}
}
