package live

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/order"
	"meridian/trace"
)

// TestAReferenceThatComesLateIsUsedOrTold lets the host appear last whose clock is asked for: while events are held until the clocks are
// aligned, it is waited for; later the others are aligned without it.
func TestAReferenceThatComesLateIsUsedOrTold(t *testing.T) {
	for _, begins := range []int{0, 15, 60} { // tenths of a second
		late := begins == 60
		hosts := threeHosts(12)
		o := Options{Sorter: order.SorterOptions{Frame: 100 * time.Millisecond}}
		o.Align.Align.Reference = "c"
		f := follow(t, hosts, o)
		const steps = 120
		for i := range steps {
			share := float64(i+1) / steps
			c := share
			if i < begins {
				c = -1
			}
			f.step(100*time.Millisecond, share, share, c)
		}
		f.finish()
		told := f.Session.Outcome().PassedOver
		if warned := strings.Contains(strings.Join(f.warnings.Lines(), ""), "asked for as the reference"); warned != late || (told != "") != late {
			t.Errorf("begins after %d tenths: told %q, warnings %q", begins, told, f.warnings.Lines())
		}
	}
}

// threeHosts makes three hosts a, b and c that exchange messages each 10 ms.
func threeHosts(seconds int) []host {
	ab, ac := talk(seconds, 3), talk(seconds, 4)
	a, b, c := ab[0], ab[1], ac[1]
	c.name = "c"
	for i := range ac[0].events { // those of a with c, which have other flows
		e := ac[0].events[i]
		if e.Flow == 0 {
			continue
		}
		e.Flow += 1 << 32
		a.events = append(a.events, e)
	}
	for i := range c.events {
		if c.events[i].Flow != 0 {
			c.events[i].Flow += 1 << 32
		}
	}
	slices.SortStableFunc(a.events, func(x, y trace.TimelineEvent) int { return cmp.Compare(x.Event.Time, y.Event.Time) })
	return []host{a, b, c}
}
