//go:build !race

package viewtest

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"meridian/internal/npmfile"
	"meridian/internal/testneed"
)

// axe is a checker of what WCAG asks of pages: contrast of text, names of what is pressed, roles and their children.
var axe = npmfile.File{
	Package: "axe-core@4.14.1",
	Name:    "package/axe.min.js",
	Sum:     "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c",
	Limit:   8 << 20,
}

// TestEveryPanelIsAccessible has axe look at the page with each of its panels, in both themes; at 820 pixels, at the page.
func TestEveryPanelIsAccessible(t *testing.T) {
	b := startPanelBrowser(t)
	path, err := axe.Path()
	if err != nil {
		testneed.Missing(t, "axe-core cannot be had: %v", err)
	}
	script, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var rules []rule
	for _, scheme := range []string{"light", "dark"} {
		rules = append(rules, rule{scheme, func(t *testing.T) {
			p := b.open(t, newScene(""), scheme, viewed+"&a=309&b=307&notes=20100000.0%3Aa%20note")
			p.still()
			value[bool](p.logic, string(script)+"; true")
			panels := value[[]string](p.logic, `[...document.querySelectorAll("[role=tab]")].map((e) => e.id.slice(4))`)
			if len(panels) < 12 || !slices.Contains(panels, "numbers") {
				t.Fatalf("the panels are %v", panels)
			}
			p.axe("document", "the page")
			for _, panel := range panels {
				value[bool](p.logic, fmt.Sprintf(`(meridian.show(%s), true)`, literal(panel)))
				p.axe(`"#dock"`, "panel "+panel)
			}
			p.do(chromedp.EmulateViewport(820, 900))
			p.axe("document", "820 wide")
			p.click("#do-help", "")
			p.until(`document.getElementById("help").open`, "there is no help")
			p.axe(`"#help"`, "help")
		}})
	}
	run(t, rules)
}

// axe has the checker look at a part of the page, and fails for each kind of violation with examples.
func (p *panelPage) axe(part, where string) {
	p.t.Helper()
	found := value[[]string](p.logic, fmt.Sprintf(`axe.run(%s, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], resultTypes: ["violations"] }).then((r) => {
		if (r.passes.length < 3) throw new Error("axe looked at nothing");
		return r.violations.map((v) => v.id + ": " + v.help + v.nodes.slice(0, 5).map((n) => "\n" + n.html.slice(0, 200) + "\n\t" + n.failureSummary).join(""));
	})`, part))
	for _, v := range found {
		p.t.Errorf("%s: %s", where, v)
	}
}
