package live

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/order"
)

// One of two hosts has a directory in the place of its metadata for a while, or from then on.
func TestDirectoryThatCannotBeReadEndsNoOther(t *testing.T) {
	for _, passes := range []bool{true, false} {
		const seconds = 2
		hosts := talk(seconds, 9)
		f := follow(t, hosts[:], Options{Sorter: order.SorterOptions{Frame: 100 * time.Millisecond}})
		metadata := filepath.Join(f.growths[1].to, "metadata")
		const steps = 100
		for i := range steps {
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
			share := float64(i+1) / steps
			if i < 40 || i >= 60 && passes {
				f.step(seconds*time.Second/steps, share, share)
			} else {
				f.step(seconds*time.Second/steps, share)
			}
		}
		if err := f.Finish(t.Context()); err != nil {
			t.Fatal(err)
		}
		count := make(map[string]int)
		for _, x := range f.sink.taken {
			count[f.Schema().Hosts[x.host]]++
		}
		unread := f.Outcome().Unread
		told := strings.Join(f.warnings.Lines(), "\n")
		if count["a"] != len(hosts[0].events) || !strings.Contains(told, "is tried again") {
			t.Errorf("passes %v: %d of %d events of the other; warnings %q", passes, count["a"], len(hosts[0].events), told)
		}
		if passes && (count["b"] != len(hosts[1].events) || len(unread) > 0) || !passes && len(unread) != 1 {
			t.Errorf("passes %v: %d of %d events; unread %q", passes, count["b"], len(hosts[1].events), unread)
		}
	}
}
