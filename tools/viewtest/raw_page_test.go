//go:build !race

package viewtest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/internal/show/view"
)

// setBack is a scene in which the web server's clock was set back by 700 us in the midst of request 20: what worker did
// before came by clock 1, 2 ms ahead, and what it did from then on by clock 3, 1.3 ms ahead.
type setBack struct{ *scene }

const (
	setBackAt    = 20_200_000
	aheadBefore  = 2_000_000
	aheadAfter   = 1_300_000
	setBackRow   = 1
	setBackClock = 3
	onFoot       = onFirst + 6 // below the letters of a slice
)

func (s setBack) About() *index.About {
	a := s.scene.About()
	after := a.Clocks[1]
	after.Corners = []index.Corner{{At: setBackAt, Below: 5000, Above: 5000, Recorded: aheadAfter}, {At: sceneSpan, Below: 5000, Above: 5000, Recorded: aheadAfter}}
	a.Clocks = append(a.Clocks, after)
	a.Rows[setBackRow].Clocks = []index.Run{{At: 0, Clock: 1}, {At: setBackAt, Clock: setBackClock}}
	return a
}

func (s setBack) Events(from int64, count int) ([]index.Event, error) {
	list, err := s.scene.Events(from, count)
	for i := range list {
		if e := &list[i]; e.Row == setBackRow && e.At >= setBackAt {
			e.Clock, e.Recorded = setBackClock, clock.HostTime(sceneOrigin+e.At)+aheadAfter
		}
	}
	return list, err
}

// Raw time of a row whose clock was set back is what that clock showed, before and after.
func (b *panelBrowser) RawTimeOfAClockThatWasSetBackIsRightOnBothSides(t *testing.T) {
	const from, to = 20_900_000.0, 23_400_000.0
	at := func(raw, below float64, class int, is bool) string {
		place := fmt.Sprintf(`near(pixel("rows", meridian.plot.left + (%v - meridian.view.from) / (meridian.view.to - meridian.view.from) * meridian.plot.width, meridian.plot.top + meridian.rowY(%d).top + %v), css(meridian.color(%d)), 30)`, raw, setBackRow, below, class)
		if is {
			return place
		}
		return "!" + place
	}
	for kind, open := range map[string]func(*testing.T, view.Data, string, string) *panelPage{"served": b.serve, "file": b.file} {
		p := open(t, setBack{newScene("")}, "light", fmt.Sprintf("#v=1&raw=1&t=%v,%v", int64(from), int64(to)))
		p.until(`meridian.view.raw`, kind+": it is not raw")
		p.still()
		for _, c := range []struct {
			what, is string
		}{
			{"request 19, before", at(19_150_000+aheadBefore+50_000, onFoot, handled, true)},
			{"request 19 ends there, before", at(19_620_000+aheadBefore-20_000, onFoot, handled, true)},
			{"request 20 begins there, before", at(20_150_000+aheadBefore+20_000, onFoot, handled, true)},
			{"request 20 does not go on where the clock no longer went", at(20_150_000+aheadBefore+150_000, onFoot, handled, false)},
			{"request 20 goes on, after", at(20_620_000+aheadAfter-20_000, onFoot, handled, true)},
			{"request 21 begins there, after", at(21_150_000+aheadAfter+20_000, onFoot, handled, true)},
			{"request 21 ends there, after", at(21_620_000+aheadAfter-20_000, onFoot, handled, true)},
			{"and not later", at(21_620_000+aheadAfter+60_000, onFoot, handled, false)},
			{"a message received, after", at(21_140_000+aheadAfter, onInstants, 1, true)},
			{"and not where the clock before would have it", at(21_140_000+aheadBefore, onInstants, 1, false)},
		} {
			p.draws(c.is, kind+": "+c.what)
		}
		p.shot("setback-" + kind)
		// What is clicked is what is drawn there, and what is gone to is where it is drawn.
		for _, c := range []struct{ raw, at float64 }{{21_150_000 + aheadAfter + 200_000, 21_150_000}, {19_150_000 + aheadBefore + 20_000, 19_150_000}} {
			x, y := p.spot("worker", c.raw, from, to, onFirst)
			p.press(x, y, 0)
			p.until(fmt.Sprintf(`meridian.selection.a?.at === %v`, c.at), kind+": another event is selected")
			p.do(chromedp.Focus(chromedp.CSS("#over")))
			p.key("\u001b")
			p.until(`!meridian.selection.a`, kind+": it is not let go")
			p.click("#undock", "")
			p.shows(from, to, kind+": the view moved")
		}
		value[bool](p.logic, `(meridian.go({ at: 30150000, row: 1 }, { animate: false }), true)`)
		p.shows(30_150_000+aheadAfter-(to-from)/2, 30_150_000+aheadAfter+(to-from)/2, kind+": an event is gone to elsewhere than where it is drawn")
		p.click("#do-raw", "")
		p.until(`!meridian.view.raw`, kind+": it stays raw")
	}
}
