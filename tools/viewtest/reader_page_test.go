//go:build !race

package viewtest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"

	"meridian/internal/show/view"
)

// spoken is an element as a screen reader has it.
type spoken struct {
	role, name, value string
	props             map[string]string
	children          []*spoken
}

// tree returns the accessibility tree, without what is left out of it.
func (p *panelPage) tree() *spoken {
	p.t.Helper()
	got, err := chromedp.Call(p.ctx, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		p.t.Fatal(err)
	}
	text := func(v *accessibility.Value) string {
		if v == nil || len(v.Value) == 0 {
			return ""
		}
		var any any
		if err := json.Unmarshal([]byte(v.Value), &any); err != nil {
			return ""
		}
		return fmt.Sprint(any)
	}
	all := map[accessibility.NodeID]*spoken{}
	for _, n := range got.Nodes {
		s := &spoken{role: text(n.Role), name: text(n.Name), value: text(n.Value), props: map[string]string{}}
		for _, q := range n.Properties {
			s.props[string(q.Name)] = text(q.Value)
		}
		all[n.NodeID] = s
	}
	for _, n := range got.Nodes {
		for _, id := range n.ChildIDs {
			if child := all[id]; child != nil {
				all[n.NodeID].children = append(all[n.NodeID].children, child)
			}
		}
	}
	return all[got.Nodes[0].NodeID]
}

// find lists what has a role and, unless it is empty, a name.
func (s *spoken) find(role, name string) (list []*spoken) {
	if s.role == role && (name == "" || s.name == name) {
		list = append(list, s)
	}
	for _, c := range s.children {
		list = append(list, c.find(role, name)...)
	}
	return list
}

func (s *spoken) names(role string) (list []string) {
	for _, c := range s.find(role, "") {
		list = append(list, c.name)
	}
	return list
}

func (b *panelBrowser) AScreenReaderHasTheTables(t *testing.T) {
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, newScene(""), "light", viewed+"&a=309&b=307")
		p.still()
		for _, c := range []struct {
			panel, table, columns string
			rows                  int
			says                  []string
		}{
			{"tables", "Events in view", "time name where length or value", 12, []string{"+20.100000 ms send request client · app", "+20.150000 ms handle web · worker 470.0 µs"}},
			{"tables", "Messages in view", "sent delay verdict from to", 4, []string{"+20.455000 ms −100.0 µs ◆ certain db · engine web · worker"}},
			{"violations", "Violations", "verdict from to delay truly sent", 3, []string{"◇ undecidable web db −30.00 µs", "▷ too fast client web 2.000 µs"}},
			{"delays", "One-way delays", "from to messages least mean p50 p90 p99 greatest off by up to", 4, []string{"db web 40 −100.0 µs"}},
			{"clocks", "Pairs of hosts", "a b a to b b to a min RTT fit offset b−a skew b−a bound if all true", 1, []string{"client web 40 40 85 us exact"}},
		} {
			p.panel(c.panel)
			p.until(fmt.Sprintf(`[...document.querySelectorAll("#panel-%s table")].some((e) => e.caption?.textContent === %s && e.tBodies[0].rows.length >= %d)`, c.panel, literal(c.table), c.rows), kind+": the table is not filled")
			tables := p.tree().find("table", c.table)
			if len(tables) != 1 {
				t.Errorf("%s: %d tables are called %s", kind, len(tables), c.table)
				continue
			}
			if got := strings.Join(tables[0].names("columnheader"), " "); got != c.columns {
				t.Errorf("%s: %s has the columns %q", kind, c.table, got)
			}
			var rows []string
			for _, r := range tables[0].find("row", "") {
				var cells []string
				for _, cell := range r.children {
					if cell.role == "rowheader" || cell.role == "cell" || cell.role == "gridcell" {
						cells = append(cells, cell.name)
					}
				}
				if len(cells) > 0 {
					rows = append(rows, strings.Join(cells, " "))
				}
			}
			if len(rows) < c.rows {
				t.Errorf("%s: %s has %d rows: %q", kind, c.table, len(rows), rows)
			}
			for _, want := range c.says {
				if !strings.Contains(strings.Join(rows, "\n"), want) {
					t.Errorf("%s: %s lacks %q:\n%s", kind, c.table, want, strings.Join(rows, "\n"))
				}
			}
		}
	}
}

func (b *panelBrowser) AScreenReaderHasTheRowsAndIsToldWhatHappens(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	tree := p.tree()
	var items []string
	for _, i := range tree.find("treeitem", "") {
		items = append(items, fmt.Sprintf("%s %s", i.props["level"], i.name))
	}
	for _, want := range []string{"1 client", "2 app", "1 web", "2 worker", "2 CPU 0", "1 db", "2 engine", "2 load"} {
		if !strings.Contains(strings.Join(items, "\n"), want) {
			t.Errorf("the tree of rows lacks %q: %q", want, items)
		}
	}
	if got := tree.find("slider", ""); len(got) != 1 || !strings.HasPrefix(got[0].name, "the whole timeline") {
		t.Errorf("the minimap is %v", got)
	}
	if got := tree.find("application", ""); len(got) != 1 || !strings.Contains(got[0].name, "question mark") {
		t.Errorf("the canvas does not say how to go on: %v", got)
	}
	for _, role := range []string{"button", "textbox", "searchbox", "checkbox", "combobox", "tab", "treeitem"} {
		for _, s := range tree.find(role, "") {
			if strings.TrimSpace(s.name) == "" {
				t.Errorf("a %s has no name", role)
			}
		}
	}
	for _, c := range []struct{ keys, says string }{
		{"n", "selected b: receive"}, {"r", "raw time"}, {"r", "corrected time"}, {"g\u0302\u0302", "folded"}, {"\u0303", "unfolded"}, {"m", "measuring"}, {"m", "no longer measuring"},
	} {
		p.key(c.keys)
		p.until(fmt.Sprintf(`document.getElementById("live").textContent.includes(%s)`, literal(c.says)), c.keys+" is not told")
	}
	if got := p.tree().find("status", ""); len(got) == 0 {
		t.Error("there is no live region")
	}
}
