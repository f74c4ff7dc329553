//go:build unix

package verdict

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Failures returns why the exit code is 1: a line for a run that failed and for each check that was answered no.
func (r *Report) Failures() (lines []string) {
	if r.Run != nil && r.Run.Cause != nil {
		return []string{printable(r.label() + r.Run.Cause.Error())}
	}
	for _, c := range r.Checks {
		if c.Answer == No {
			lines = append(lines, printable(r.label()+"check "+c.Name+": no: "+c.Reason))
		}
	}
	return lines
}

// Open returns why the exit code is 3: undecided checks, and promises that were not kept.
func (r *Report) Open() (lines []string) {
	for _, c := range r.Checks {
		if c.Answer == Undecided {
			lines = append(lines, printable(r.label()+"check "+c.Name+": undecided: "+c.Reason))
		}
	}
	for _, p := range append(append([]string{}, r.Promises...), r.Problems...) {
		lines = append(lines, printable(r.label()+p))
	}
	return lines
}

// label names a run of several.
func (r *Report) label() string {
	var parts []string
	for _, v := range r.Values {
		parts = append(parts, v.Name+"="+v.Text)
	}
	if r.Repeat > 1 {
		parts = append(parts, fmt.Sprintf("repeat %d", r.Repeat))
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + ": "
}

// Print writes reports for people: of one run everything, of several a table.
func Print(w io.Writer, reports []*Report) error {
	var out strings.Builder
	if len(reports) == 1 {
		reports[0].print(&out)
	} else {
		table(&out, reports)
	}
	_, err := io.WriteString(w, out.String())
	return err
}

func (r *Report) print(out *strings.Builder) {
	for _, b := range r.Run.Blocks {
		if b.EndedNs == 0 {
			fmt.Fprintf(out, "%-24s did not end\n", printable(b.Name))
			continue
		}
		fmt.Fprintf(out, "%-24s %v\n", printable(b.Name), time.Duration(b.EndedNs-b.BeganNs).Round(10*time.Microsecond))
	}
	for _, c := range r.Checks {
		fmt.Fprintf(out, "%-24s %-9s %s\n", printable(c.Name), c.Answer, printable(c.Reason))
	}
	for _, line := range slices.Concat(r.Run.Warnings, r.lossWarnings(), r.Promises, r.Problems) {
		fmt.Fprintf(out, "warning: %s\n", printable(line))
	}
	if f := r.Run.Cause; f != nil {
		fmt.Fprintf(out, "failed: %s\n", printable(f.Error()))
		for _, line := range f.Tail {
			fmt.Fprintf(out, "  | %s\n", printable(line))
		}
		for _, also := range r.Run.Then {
			fmt.Fprintf(out, "then: %s\n", printable(also.Error()))
		}
	}
	fmt.Fprintf(out, "verdict: %s\n", r.Verdict)
}

// printable keeps what a daemon wrote from steering the terminal: control characters are quoted as in Go, such as \x1b.
func printable(s string) string {
	var out strings.Builder
	for _, c := range s {
		switch {
		case unicode.IsPrint(c):
			out.WriteRune(c)
		case c == '\t' || c == '\n':
			out.WriteByte(' ')
		default:
			quoted := strconv.QuoteRune(c)
			out.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	return out.String()
}
