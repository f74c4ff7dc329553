package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"meridian/internal/record"
	"meridian/internal/show"
)

// recordTable prints the summary as a table.
func recordTable(w io.Writer, s record.Summary, k record.Keep) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "process\tevents\tbytes\tlost\t  stream")
	shown := slices.DeleteFunc(slices.Clone(s.Streams), func(c record.Counts) bool {
		return c.Interface != "" && c.Events == 0 // a host may have hundreds of idle interfaces
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
	for _, f := range s.Failures {
		fmt.Fprintf(w, "incomplete: %s\n", strings.Map(printable, f.String()))
	}
	if s.Unlisted > 0 {
		fmt.Fprintf(w, "incomplete: %d more\n", s.Unlisted)
	}
	if s.Dropped != nil {
		fmt.Fprintln(w, droppedLine(s.Dropped, k))
	}
	for _, x := range s.Snapshots {
		if x.Error == "" {
			fmt.Fprintf(w, "saved: %s, asked for %s: %s\n", strings.Map(printable, x.Dir), counted(uint64(x.Asked), "time"), strings.Map(printable, x.Reason))
		}
	}
	n, captured := packetsOf(&s)
	what := counted(s.Total.Events-n, "event")
	if captured {
		what += " and " + counted(n, "packet")
	}
	_, err := fmt.Fprintf(w, "%s: %s of %s on one clock, clock error at most %s\n", s.Dir, what, counted(uint64(len(shown)), "stream"),
		show.Duration(roundedUp(int64(s.ClockError))))
	return err
}

// roundedUp rounds up to the four significant digits that are printed, because no error may be greater than it is said to be.
func roundedUp(ns int64) int64 {
	step := int64(1)
	for ns/step >= 10_000 {
		step *= 10
	}
	return (ns + step - 1) / step * step
}

func counted(n uint64, what string) string { return show.Counted(int64(n), what) }

// notKept returns a line for each way in which a recording is incomplete.
func notKept(s *record.Summary, packets bool) (broken []string) {
	if n := len(s.Failures) + s.Unlisted; n == 1 {
		broken = append(broken, fmt.Sprintf("the recording is incomplete: %s failed before its end", strings.Map(printable, s.Failures[0].Name)))
	} else if n > 1 {
		broken = append(broken, fmt.Sprintf("the recording is incomplete: %d sources or programs failed before its end", n))
	}
	otherwise := s.Missed
	for _, f := range s.Faults {
		otherwise += uint64(f.Count)
	}
	if n := s.Total.Lost - min(s.Total.Lost, otherwise); n > 0 {
		what := "events"
		if packets {
			what = "events or packets"
		}
		broken = append(broken, fmt.Sprintf("%d %s were lost: their buffers were full", n, what))
	}
	if n := s.Missed; n > 0 {
		broken = append(broken, fmt.Sprintf("the kernel ran no program of the recorder for %s of this machine, counted as lost", counted(n, "event")))
	}
	for _, f := range s.Faults {
		broken = append(broken, fmt.Sprintf("kernel events: %s (%d), counted as lost", f.Kind, f.Count))
	}
	if n := s.Total.Overwritten; n > 0 {
		broken = append(broken, fmt.Sprintf("%d bytes of events were overwritten before they could be recorded", n))
	}
	if n := s.Total.Damaged; n > 0 {
		broken = append(broken, fmt.Sprintf("%d parts of programs' rings were damaged and not recorded", n))
	}
	return broken
}

// notRecorded returns a line for everything that was asked for by name and is not in the recording.
func (f *recordFlags) notRecorded(s *record.Summary, sources *recordSources) (lines []string) {
	for _, line := range sources.missing {
		lines = append(lines, "not recorded: "+line)
	}
	for _, pattern := range f.programs {
		if f.lastLook {
			break
		}
		found := slices.ContainsFunc(s.Streams, func(c record.Counts) bool { return c.PID != 0 && record.Selects(pattern, c.Name, c.PID) })
		failed := slices.ContainsFunc(s.Failures, func(p record.Failure) bool { return p.PID != 0 && record.Selects(pattern, p.Name, p.PID) })
		if !found && !failed && s.Unlisted == 0 {
			lines = append(lines, fmt.Sprintf("not recorded: --program %s: no program with sensors that matches ran, or another recorder has it", pattern))
		}
	}
	for _, u := range s.Unmet {
		lines = append(lines, strings.Map(printable, fmt.Sprintf("not recorded: --trigger %s: %s", u.Trigger, u.Why)))
	}
	return lines
}

// nothingRecorded returns a line that says how to record something, if the recording has no stream and no warning says why.
func (f *recordFlags) nothingRecorded(s *record.Summary, o *record.Options) []string {
	if len(s.Streams) > 0 || len(s.Failures) > 0 || len(o.Warnings.Lines()) > 0 || f.kernel != "" || f.packets != nil || len(f.programs) > 0 {
		return nil
	}
	return []string{"no program with sensors ran; --kernel records kernel events, --packets packets"}
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

// counter shows the counts of a running recording on a terminal.
type counter struct{ to io.Writer }

func liveCounts(w io.Writer, quiet bool) *counter {
	if file, ok := underneath(w).(*os.File); ok && !quiet && term.IsTerminal(int(file.Fd())) {
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
