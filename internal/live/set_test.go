package live

import (
	"slices"
	"strings"
	"testing"

	alignlive "meridian/align/live"
	"meridian/trace"
)

// Which clocks were set is told by their hosts, as exactly as it is known.
func TestClocksThatWereSetAreToldByName(t *testing.T) {
	var w trace.Warnings
	s := &Session{warnings: &w, inputs: []*input{{name: "db", number: 0}, {name: "web", number: 1}, {name: "cache", number: 2}}}
	note := func(changes ...alignlive.Change) { s.noteSet(&alignlive.Maps{Changes: changes}, -1) }
	note(alignlive.Change{Kind: alignlive.Doubted, Clock: 0, Doubt: 1, Among: []int{0, 1}},
		alignlive.Change{Kind: alignlive.Doubted, Clock: 1, Doubt: 1, Among: []int{0, 1}})
	if got := texts(s.set.told()); !slices.Equal(got, []string{"one of db, web"}) || len(w.Lines()) > 0 {
		t.Errorf("before it is known: %q, warnings %q", got, w.Lines())
	}
	note(alignlive.Change{Kind: alignlive.Named, Clock: 1, Doubt: 1, By: -4_100_000})
	if got := texts(s.set.told()); !slices.Equal(got, []string{"web"}) {
		t.Errorf("%q", got)
	}
	note(alignlive.Change{Kind: alignlive.Doubted, Clock: 2, Doubt: 2, Among: []int{0, 1, 2}},
		alignlive.Change{Kind: alignlive.Unnamed, Clock: 0, Doubt: 2, Among: []int{2, 0}})
	note(alignlive.Change{Kind: alignlive.Bent, Clock: 0, Other: 2, Sure: true}, alignlive.Change{Kind: alignlive.Bent, Clock: 1, Other: 2, Sure: true})
	if o := (&Outcome{Set: s.set.told()}).SetText(); o != "web; one of cache, db" {
		t.Errorf("%q", o)
	}
	lines := strings.Join(w.Lines(), "\n")
	for _, part := range []string{"web: its clock was set", "(by about -4.100 ms)", "one of cache, db: the clock was set", "messages do not tell which", "one of cache, db: the clock does not keep"} {
		if !strings.Contains(lines, part) {
			t.Errorf("%q lacks %q", lines, part)
		}
	}
}

// Where messages leave room for a clock that bends, the summary says whose, unless it is aligned by a counter.
func TestClocksThatMayBendAreTold(t *testing.T) {
	for _, counter := range []bool{false, true} {
		var w trace.Warnings
		s := &Session{warnings: &w, inputs: []*input{{name: "db", number: 0}, {name: "web", number: 1}}, steered: map[int]*steered{0: {following: true}}}
		if counter {
			s.steered[1] = &steered{following: true}
		}
		for range 2 {
			s.noteSet(&alignlive.Maps{Changes: []alignlive.Change{{Kind: alignlive.Bent, Clock: 1, Other: 0}}}, -1)
		}
		line := (&Outcome{Set: s.set.told(), Assumes: s.assumes()}).Summary()
		told := strings.Contains(line, "nobody sets or steers the clock of web by less than a round trip") && strings.Contains(line, "those of web leave room for it")
		if told == counter || !strings.Contains(line, "wander by 30 ppb/s") {
			t.Errorf("%q", line)
		}
		if n := len(s.set.told()) + len(w.Lines()); n > 0 {
			t.Errorf("a clock is said to have been set: %q", w.Lines())
		}
	}
}
