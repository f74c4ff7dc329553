package main_test

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"text/tabwriter"
	"time"
)

// outcome is what became of all strikes of one kind.
type outcome struct {
	tried         int
	lost, twice   int64 // of the labs that were struck so: an event does not say which strike took it
	wrong         int   // bounds that exclude the truth
	measured      bool  // that bounds were looked at
	worstRecovery time.Duration
}

// outcomes are those of all labs. Any goroutine may call their methods.
type outcomes struct {
	mu sync.Mutex
	of map[string]*outcome
}

func (o *outcomes) add(name string, f func(x *outcome)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.of == nil {
		o.of = make(map[string]*outcome)
	}
	x := o.of[name]
	if x == nil {
		x = new(outcome)
		o.of[name] = x
	}
	f(x)
}

// table is the table of docs/benchmarks.md.
func (o *outcomes) table() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	names := make([]string, 0, len(o.of))
	for name := range o.of {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
	fmt.Fprint(w, "| fault\t| tried\t| lost uncounted\t| twice\t| bounds wrong\t| worst recovery\t|\n|---\t|---\t|---\t|---\t|---\t|---\t|\n")
	for _, name := range names {
		x := o.of[name]
		lost, twice, wrong, recovery := fmt.Sprint(x.lost), fmt.Sprint(x.twice), "-", x.worstRecovery.Round(10*time.Millisecond).String()
		if x.measured {
			lost, twice, wrong, recovery = "-", "-", fmt.Sprint(x.wrong), "-"
		}
		fmt.Fprintf(w, "| %s\t| %d\t| %s\t| %s\t| %s\t| %s\t|\n", name, x.tried, lost, twice, wrong, recovery)
	}
	_ = w.Flush() // into memory
	return b.String()
}
