//go:build !race

package viewtest

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	cdppage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"meridian/internal/show/index/indextest"
	"meridian/internal/show/view"
)

// A trace in which every name, field, value, host, title and picture is made to be taken for something else: nothing runs,
// nothing becomes markup, nothing is asked of anybody, and the page stays in its place.
func (b *panelBrowser) NothingOfATraceRuns(t *testing.T) {
	bad := strings.Join(indextest.Hostile, " ") + `<img src=x onerror="globalThis.pwned=1"><svg/onload="globalThis.pwned=2"><script>globalThis.pwned=3</script><a href="javascript:globalThis.pwned=4">x</a>` +
		"<style>*{display:none}</style><base href=//example.invalid><iframe srcdoc='<script>parent.pwned=5</script>'></iframe>\u202e\u2066\u2028{{7*7}}" + strings.Repeat("very long ", 120)
	d := twoHosts(t, "", 3000, func(s string) string { return s + bad })
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, d, "light", "#v=1&t=1000000,1100000&q=value")
		var dialogs sync.Map
		if err := chromedp.Listen(p.ctx, func(event any) {
			if e, is := event.(*cdppage.EventJavascriptDialogOpening); is {
				dialogs.Store(e.Message, true)
			}
		}); err != nil {
			t.Fatal(err)
		}
		const census = `[...document.querySelectorAll("script:not([type]), iframe, object, embed, link, meta, base, form:not([role=search]), style, a, audio, video, template")].map((e) => e.tagName).join(" ")`
		before := value[string](p.logic, census)
		value[bool](p.logic, `(addEventListener("securitypolicyviolation", (e) => console.error("policy " + e.violatedDirective + " " + e.blockedURI)), true)`)
		p.still()
		for _, panel := range panelIDs {
			p.panel(panel)
			p.until(fmt.Sprintf(`document.getElementById("panel-%s").innerText.length > 10`, panel), kind+": the panel is empty")
		}
		p.do(chromedp.Focus(chromedp.CSS("#over")))
		for _, key := range []string{".", "]", "o", "c", "v", "t", "i", "r", "r", "l", kb.Escape, "?", kb.Escape, "f"} {
			p.key(key)
		}
		p.clear("#filter")
		p.key("script")
		p.key(kb.Escape)
		box := p.box("#over")
		for i := range 12 { // tips, outlines, the status
			p.mouse(chromedp.MouseMoved, box.X+box.Width*float64(i+1)/14, box.Y+45+float64(i%3)*6, nil)
			drawnNow[bool](p, `true`)
		}
		p.shot("hostile-" + kind)
		if got := value[string](p.logic, census); got != before {
			t.Errorf("%s: elements were %q, are %q", kind, before, got)
		}
		for what, script := range map[string]string{
			"something ran":              `globalThis.pwned === undefined`,
			"an attribute is a handler":  `[...document.querySelectorAll("*")].every((e) => [...e.attributes].every((a) => !a.name.startsWith("on")))`,
			"an address leads elsewhere": `[...document.querySelectorAll("[src], [href]")].every((e) => /^data:(,|image\/svg)/.test(e.getAttribute("src") ?? e.getAttribute("href")))`,
			"the page is wider":          `document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight`,
			"the title is steered":       `!/[\u202a-\u202e\u2066-\u2069\u2028\u0000-\u001f]/.test(document.title)`,
			"a name is not shown":        `document.querySelector(".name.host .text").textContent.includes("<script>")`,
			"something else was asked":   `performance.getEntriesByType("resource").every((e) => e.name.startsWith(location.origin + "/api/") || e.name.startsWith("data:") || e.name.startsWith("file:"))`,
		} {
			if !value[bool](p.logic, script) {
				t.Errorf("%s: %s", kind, what)
			}
		}
		dialogs.Range(func(message, _ any) bool {
			t.Errorf("%s: a dialog came up: %v", kind, message)
			return true
		})
	}
}
