package trace

import (
	"fmt"
	"strings"
	"sync"
)

// Warnings gathers what went wrong without ending the work. Warnings of one kind about one subject become one line
// with a count, so that a million bad packets do not make a million lines. It is safe for concurrent use; the zero
// value is ready. A nil *Warnings drops what is added and has no lines.
type Warnings struct {
	mu    sync.Mutex
	index map[string]int
	list  []warning
}

type warning struct {
	subject, kind, first string
	count                int64
	gap                  bool
}

// Add records that something of the given kind happened to subject (a file, a host), with the details of this case; the
// details of the first case are kept. Kind reads as a sentence after the subject: "capture.pcap: header cut short".
func (w *Warnings) Add(subject, kind, details string) { w.AddN(subject, kind, details, 1) }

// AddN records n cases at once.
func (w *Warnings) AddN(subject, kind, details string, n int64) {
	w.add(subject, kind, details, n, false)
}

// Gap records that an input is known to lack n parts: they are damaged, cut off, or its tracer dropped them. Gaps are
// warnings like others, and [Warnings.Gaps] tells of them: a command whose inputs have some ends with exit code 3.
func (w *Warnings) Gap(subject, kind, details string, n int64) {
	w.add(subject, kind, details, n, true)
}

// Gaps says in a line what the inputs lack; "" for nothing.
func (w *Warnings) Gaps() string {
	const shown = 3
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var gaps []string
	count := 0
	for i := range w.list {
		x := &w.list[i]
		if !x.gap {
			continue
		}
		if count++; count > shown {
			continue
		}
		line := x.subject + ": " + x.kind
		if x.count > 1 {
			line += fmt.Sprintf(" (%d times)", x.count)
		}
		gaps = append(gaps, line)
	}
	switch {
	case count == 0:
		return ""
	case count > shown:
		gaps = append(gaps, fmt.Sprintf("and %d more", count-shown))
	}
	return "the inputs have gaps: " + strings.Join(gaps, "; ")
}

func (w *Warnings) add(subject, kind, details string, n int64, gap bool) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	key := subject + "\x00" + kind
	if i, ok := w.index[key]; ok {
		w.list[i].count += n
		return
	}
	if w.index == nil {
		w.index = make(map[string]int)
	}
	w.index[key] = len(w.list)
	w.list = append(w.list, warning{subject: subject, kind: kind, first: details, count: n, gap: gap})
}

// Warning is what went wrong of one kind with one subject, as [Warnings.Add] and the like describe it.
type Warning struct {
	Subject, Kind, Details string // the details are those of the first case
	Count                  int64
	Gap                    bool
}

// All returns all warnings in the order in which they first happened, to be handed on to other Warnings by [Warnings.AddAll].
func (w *Warnings) All() []Warning {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var all []Warning
	for _, x := range w.list {
		all = append(all, Warning{Subject: x.subject, Kind: x.kind, Details: x.first, Count: x.count, Gap: x.gap})
	}
	return all
}

// AddAll adds what other Warnings have gathered.
func (w *Warnings) AddAll(all []Warning) {
	for _, x := range all {
		w.add(x.Subject, x.Kind, x.Details, x.Count, x.Gap)
	}
}

// Lines returns one line per subject and kind, in the order in which they first happened.
func (w *Warnings) Lines() []string {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	lines := make([]string, 0, len(w.list))
	for _, x := range w.list {
		line := x.kind
		if x.subject != "" {
			line = x.subject + ": " + x.kind
		}
		switch {
		case x.count > 1 && x.first != "":
			line += fmt.Sprintf(" (%d times, first %s)", x.count, x.first)
		case x.count > 1:
			line += fmt.Sprintf(" (%d times)", x.count)
		case x.first != "":
			line += " (" + x.first + ")"
		}
		lines = append(lines, line)
	}
	return lines
}
