package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/order"
	"meridian/trace"
)

// One of two hosts has a directory in the place of its metadata for a while, or from then on.
func TestDirectoryThatCannotBeReadEndsNoOther(t *testing.T) {
	for _, passes := range []bool{true, false} {
		const seconds = 2
		hosts := talk(seconds, 9)
		dir := t.TempDir()
		var o Options
		var all []*growth
		for i := range hosts {
			to := filepath.Join(dir, "live", hosts[i].name)
			all = append(all, &growth{from: hosts[i].write(t, dir), to: to, sizes: map[string]int64{}})
			o.Inputs = append(o.Inputs, Input{Host: hosts[i].name, Dir: to})
		}
		now := time.Unix(5, 0)
		o.Now, o.Sorter = func() time.Time { return now }, order.SorterOptions{Frame: 100 * time.Millisecond}
		var w trace.Warnings
		s, err := New(o, &w)
		if err != nil {
			t.Fatal(err)
		}
		c := &collector{s: s}
		s.To(c)
		metadata := filepath.Join(all[1].to, "metadata")
		const steps = 100
		for i := range steps {
			now = now.Add(seconds * time.Second / steps)
			switch {
			case i == 40: // as far as the other is read meanwhile
				if err := os.Rename(metadata, metadata+".away"); err != nil {
					t.Fatal(err)
				}
				if err := os.Mkdir(metadata, 0o777); err != nil {
					t.Fatal(err)
				}
			case i == 60 && passes:
				if err := os.Remove(metadata); err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(metadata+".away", metadata); err != nil {
					t.Fatal(err)
				}
			}
			all[0].advance(t, float64(i+1)/steps)
			if i < 40 || i >= 60 && passes {
				all[1].advance(t, float64(i+1)/steps)
			}
			for busy := true; busy; {
				if busy, err = s.Step(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		count := make(map[string]int)
		for _, x := range c.taken {
			count[s.Schema().Hosts[x.host]]++
		}
		unread := s.Outcome().Unread
		told := strings.Join(w.Lines(), "\n")
		if count["a"] != len(hosts[0].events) || !strings.Contains(told, "is tried again") {
			t.Errorf("passes %v: %d of %d events of the other; warnings %q", passes, count["a"], len(hosts[0].events), told)
		}
		if passes && (count["b"] != len(hosts[1].events) || len(unread) > 0) || !passes && len(unread) != 1 {
			t.Errorf("passes %v: %d of %d events; unread %q", passes, count["b"], len(hosts[1].events), unread)
		}
	}
}
