package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"meridian/record"
)

// recordTable prints the summary for people.
func recordTable(w io.Writer, s record.Summary) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "process\tevents\tbytes\tlost\t  stream")
	shown := slices.DeleteFunc(slices.Clone(s.Streams), func(c record.Counts) bool {
		return c.Interface != "" && c.Events == 0 // a host may have hundreds of interfaces on which nothing goes on
	})
	for _, c := range append(shown, s.Total) {
		pid := ""
		if c.PID != 0 {
			pid = fmt.Sprint(c.PID)
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%d\t  %s\n", pid, c.Events, c.Bytes, c.Lost, strings.Map(printable, c.Name))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	what := fmt.Sprintf("%d events", s.Total.Events)
	if n, ok := packetsOf(&s); ok {
		what = fmt.Sprintf("%d events and %d packets", s.Total.Events-n, n)
	}
	_, err := fmt.Fprintf(w, "%s: %s of %d streams on one clock, known to %v\n", s.Dir, what, len(shown), s.ClockError)
	return err
}

// packetsOf returns how many of the events are packets of an interface, and whether any interface was recorded.
func packetsOf(s *record.Summary) (n uint64, ok bool) {
	for i := range s.Streams {
		if c := &s.Streams[i]; c.Interface != "" {
			n, ok = n+c.Events, true
		}
	}
	return n, ok
}

// printable keeps what a program calls itself from moving the cursor.
func printable(c rune) rune {
	if c < ' ' || c == 0x7f {
		return '?'
	}
	return c
}

// counter shows on a terminal what was recorded so far.
type counter struct{ to io.Writer }

func liveCounts(w io.Writer, quiet bool) *counter {
	if file, ok := w.(*os.File); ok && !quiet && term.IsTerminal(int(file.Fd())) {
		return &counter{w}
	}
	return &counter{}
}

func (c *counter) show(s record.Summary) {
	if c.to == nil {
		return
	}
	packets := ""
	n, ok := packetsOf(&s)
	if ok {
		packets = fmt.Sprintf("%d packets, ", n)
	}
	fmt.Fprintf(c.to, "\r\x1b[K%d streams, %d events, %s%.1f MB, %d lost", len(s.Streams), s.Total.Events-n, packets, float64(s.Total.Bytes)/1e6, s.Total.Lost)
}

func (c *counter) clear() {
	if c.to != nil {
		fmt.Fprint(c.to, "\r\x1b[K")
	}
}
