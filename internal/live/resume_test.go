package live

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/internal/show/index"
	"meridian/internal/show/view"
	"meridian/internal/testseed"
	"meridian/order"
	"meridian/trace"
)

// killedViewer follows growing copies of traces with an index, and is given up without a word at drawn instants: what was not sealed is
// gone.
type killedViewer struct {
	t    *rapid.T
	dir  string
	all  []*growth
	now  time.Time
	step int
}

const viewSteps = 40

// run follows until a drawn step, or to the end.
func (k *killedViewer) run(t testing.TB, inputs []Input, until int) (*Session, *pictures) {
	var w trace.Warnings
	s, err := New(Options{Inputs: inputs, Rows: true, Align: cheap, Now: func() time.Time { return k.now }, Sorter: order.SorterOptions{Frame: 50 * time.Millisecond}}, &w)
	if err != nil {
		t.Fatal(err)
	}
	p, err := openPictures(s, ViewOptions{}, filepath.Join(k.dir, "index"), view.NewLive(), &w)
	if err != nil {
		t.Fatal(err)
	}
	for ; k.step < until; k.step++ {
		k.now = k.now.Add(20 * time.Millisecond)
		for _, g := range k.all {
			g.advance(t, float64(k.step+1)/viewSteps)
		}
		for busy := true; busy; {
			if busy, err = s.Step(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if k.step%7 == 3 {
			if err := p.sealAll(s); err != nil {
				t.Fatal(err)
			}
		}
	}
	return s, p
}

// TestFollowerThatIsKilledGoesOnWithNothingTwiceAndNothingMissing kills a viewer at drawn instants and starts it again on its index.
func TestFollowerThatIsKilledGoesOnWithNothingTwiceAndNothingMissing(t *testing.T) {
	t.Parallel()
	const seconds = 1
	hosts := talk(seconds, 9)
	written := [2]string{}
	base := t.TempDir()
	for i := range hosts {
		written[i] = hosts[i].write(t, base)
	}
	testseed.Check(t, func(r *rapid.T) {
		dir := t.TempDir()
		k := &killedViewer{t: r, dir: dir, now: time.Unix(5, 0)}
		var inputs []Input
		for i := range hosts {
			to := filepath.Join(dir, hosts[i].name)
			k.all = append(k.all, &growth{from: written[i], to: to, sizes: map[string]int64{}})
			inputs = append(inputs, Input{Host: hosts[i].name, Dir: to})
		}
		for k.step < viewSteps {
			s, p := k.run(t, inputs, min(k.step+rapid.IntRange(1, viewSteps).Draw(r, "until killed"), viewSteps))
			if k.step == viewSteps {
				if err := s.Finish(t.Context()); err != nil {
					r.Fatal(err)
				}
				checkAll(r, p.index.View(), hosts)
			}
			if err := p.index.Close(); err != nil { // writes nothing
				r.Fatal(err)
			}
			if err := s.close(); err != nil {
				r.Fatal(err)
			}
		}
	})
}

// checkAll checks that an index has each event of two hosts once.
func checkAll(t *rapid.T, v *index.View, hosts [2]host) {
	defer v.Close()
	about := v.About()
	seen := make(map[string]int)
	for from := int64(0); from < about.Events; {
		events, err := v.Events(from, 1000)
		if err != nil || len(events) == 0 {
			t.Fatalf("events from %d: %d, %v", from, len(events), err)
		}
		for _, e := range events {
			row := about.Rows[e.Row]
			seen[fmt.Sprint(about.Hosts[row.Host].Name, " ", e.Fields[0][1])]++
			from = e.Event + 1
		}
	}
	total := 0
	for i := range hosts {
		total += len(hosts[i].events)
		for n := range hosts[i].events {
			if k := seen[fmt.Sprint(hosts[i].name, " ", n)]; k != 1 {
				t.Fatalf("event %d of %s is there %d times", n, hosts[i].name, k)
			}
		}
	}
	if about.Events != int64(total) {
		t.Fatalf("%d events, not %d", about.Events, total)
	}
	if len(about.Rows) != 2 || len(about.Hosts) != 2 {
		t.Fatalf("%d rows of %d hosts", len(about.Rows), len(about.Hosts))
	}
}
