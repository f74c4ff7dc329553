//go:build !race

package viewtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

func (b *panelBrowser) HostsAreFoldedByAClick(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	p.draws(colored(1, 20_300_000, onFirst, handled), "there is no slice")
	p.click("#line-h1 .fold", "")
	p.until(names+` === "client app web db engine load"`, "the rows of a folded host are still there")
	p.until(`document.querySelector("#line-h1").getAttribute("aria-expanded") === "false" && meridian.rowY(1) === null`, "the host is not folded")
	// The arrows of its rows end at its header now.
	p.until(`meridian.endY(1) > 0 && meridian.endY(1) < meridian.rowY(3).top`, "messages of a folded host go nowhere")
	p.shot("folded")
	p.click("#line-h1 .fold", "")
	p.draws(colored(1, 20_300_000, onFirst, handled), "the host is not unfolded")
	p.key("F")
	p.until(names+` === "client web db"`, "F does not fold all")
	p.key("U")
	p.until(`document.querySelectorAll(".name.row").length === 5`, "U does not unfold all")
}

func (b *panelBrowser) HostsAndRowsAreMovedByDragging(t *testing.T) {
	p := b.serve(t, busyTimeline(t, 2000), "light", "")
	p.still()
	p.key("F")
	p.until(names+` === "host0 host1 host2"`, "the hosts do not stand as they come")
	from, to := p.box("#line-h2 .text"), p.box("#line-h0")
	p.drag(from.X+8, from.Y+from.Height/2, from.X+8, to.Y+4, 0)
	p.until(names+` === "host2 host0 host1"`, "a host is not moved")
	p.key("U")
	p.until(`document.querySelectorAll(".name.row").length > 8`, "U does not unfold all")
	p.until(names+`.startsWith("host2 eth0 4 CPUs CPU 0 CPU 1 CPU 2 CPU 3 ")`, "the rows are not in order")
	first, third := p.box("#line-28 .text"), p.box("#line-30") // of host2
	p.drag(first.X+8, first.Y+first.Height/2, first.X+8, third.Y+third.Height*0.9, 0)
	p.until(names+`.startsWith("host2 eth0 4 CPUs CPU 1 CPU 2 CPU 0 CPU 3 ")`, "a row is not moved")
	p.shot("moved")
	// By keys, and the address remembers.
	p.click("#line-28 .text", "")
	p.do(chromedp.KeyEvent(kb.ArrowUp, chromedp.KeyModifiers(chromedp.ModifierAlt)))
	p.until(names+`.startsWith("host2 eth0 4 CPUs CPU 1 CPU 0 CPU 2 CPU 3 ")`, "Alt and up do not move a row")
	p.until(`document.activeElement.id === "line-28"`, "the row that was moved has not the focus")
	p.until(`/order=29,28,30-/.test(location.hash)`, "the address does not say the order")
}

func (b *panelBrowser) RowsAreFoundByTyping(t *testing.T) {
	p := b.serve(t, busyTimeline(t, 2000), "dark", "")
	p.still()
	p.key("f")
	p.until(`document.activeElement.id === "filter"`, "f does not go to the filter")
	p.clear("#filter")
	p.key("host1 1003")
	p.until(names+`.startsWith("host1") && document.querySelectorAll(".name.row").length === 1`, "other rows are left")
	if got := value[string](p.logic, names); !strings.HasSuffix(got, "worker 1003") {
		t.Errorf("left are %s", got)
	}
	p.shot("filtered")
	p.key("nothing")
	p.until(`!document.getElementById("none").hidden`, "that nothing is left is not said")
	p.key(kb.Escape)
	p.until(`document.querySelectorAll(".name.row").length > 8`, "Escape does not bring the rows back")
	p.typed("#filter", "host1 1003")
	p.until(names+`.startsWith("host1") && document.querySelectorAll(".name.row").length === 1 && document.activeElement.id === "filter"`, "what is typed into the box does not filter, or loses the focus")
}

// A person without a pointer: all that matters can be reached and done by keys.
func (b *panelBrowser) EverythingIsReachedByKeys(t *testing.T) {
	p := b.open(t, newScene(""), "light", viewed)
	p.still()
	seen := map[string]bool{}
	for range 40 {
		p.key(kb.Tab)
		seen[value[string](p.logic, `document.activeElement.id || document.activeElement.className`)] = true
	}
	for _, id := range []string{"do-zoom-in", "do-fit", "do-raw", "do-theme", "do-share", "do-help", "do-dock", "minimap", "filter", "line-h0", "edge", "over"} {
		if !seen[id] {
			t.Errorf("Tab does not come to %s, but to %v", id, seen)
		}
	}
	p.key("g")
	p.until(`document.activeElement.classList.contains("name")`, "g does not go to the names")
	p.key(kb.Home)
	p.until(`document.activeElement.id === "line-h0"`, "Home is not the first")
	p.key(kb.ArrowDown + kb.ArrowDown + kb.ArrowDown)
	p.until(`document.activeElement.id === "line-1"`, "down does not go down")
	p.key(".")
	p.until(`meridian.selection.a?.row === 1`, "the next event of the row is not selected")
	was := value[int](p.logic, `meridian.selection.a.event`)
	p.key(".")
	p.until(fmt.Sprintf(`meridian.selection.a.event > %d && meridian.selection.a.row === 1`, was), "the event after it is not selected")
	p.key("i")
	p.until(`document.getElementById("panel-details").getClientRects().length === 0`, "i does not close the details, which a selection opened")
	p.key("v")
	p.until(`!document.getElementById("panel-violations").hidden`, "v does not open the violations")
	p.click("#tab-violations", "")
	p.key(kb.ArrowRight)
	p.until(`document.activeElement.id === "tab-chain"`, "arrows do not go along the tabs")
	p.key("?")
	p.until(`document.getElementById("help").open && document.getElementById("help").contains(document.activeElement)`, "the help has not the focus")
	p.key(kb.Escape)
	p.until(`!document.getElementById("help").open && document.activeElement.id === "tab-chain"`, "after the help the focus is elsewhere")
	p.key(kb.Escape)
	p.until(`!meridian.selection.a`, "Escape does not let go of the selection")
}
