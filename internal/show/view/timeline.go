package view

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"meridian/clock"
	"meridian/internal/show"
	"meridian/internal/show/index"
)

// Report has the results of alignment as texts. It is an attachment of the index file.
type Report struct {
	Hosts      []index.HostReport `json:"hosts"`  // of the index's hosts, in their order
	Clocks     []ClockReport      `json:"clocks"` // of the index's clocks
	Method     string             `json:"method"`
	Assumption string             `json:"assumption"`
	Summary    string             `json:"summary"`
	Warnings   []string           `json:"warnings"`
	Pairs      [][]string         `json:"pairs"`
	Left       []string           `json:"left"` // what is not drawn
	Plots      []show.Drawing     `json:"plots"`
	Set        [][]string         `json:"set,omitempty"` // hosts whose clocks were set while they were followed: of each entry one at least
}

// ClockReport is a clock's part of it.
type ClockReport struct {
	Component int  `json:"component"`
	Set       bool `json:"set"`
}

const attachment = "report"

// Attach puts the report into an index that is being built.
func (r *Report) Attach(b *index.Builder) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return b.Attach(attachment, text)
}

// Timeline is an index with the report that lies in it.
type Timeline struct {
	*index.Index
	report  Report
	causes  causes
	notes   []index.Note
	against *against
}

// IsIndex reports whether a file is an index.
func IsIndex(path string) bool { return index.IsIndex(path) }

// OpenIndex opens an index file.
func OpenIndex(path string) (*Timeline, error) {
	x, err := index.Open(path)
	if err != nil {
		return nil, err
	}
	return NewTimeline(x)
}

// NewTimeline takes an index over.
func NewTimeline(x *index.Index) (*Timeline, error) {
	t := &Timeline{Index: x}
	text, err := x.Attachment(attachment)
	if err == nil && text != nil {
		err = json.Unmarshal(text, &t.report)
	}
	if err != nil {
		x.Close()
		return nil, fmt.Errorf("index: reading its report: %w", err)
	}
	return t, nil
}

// About lays the report over what the index says of itself.
func (t *Timeline) About() *index.About {
	a := t.report.over(t.Index.About())
	a.Notes = t.notes
	if t.against != nil {
		a.Against = t.against.names[1]
	}
	return a
}

// longestNote is what the page takes, in characters.
const longestNote = 500

// Note adds words at an instant, which the page shows when it is opened. It must not be called once the timeline is served.
func (t *Timeline) Note(at clock.TimelineTime, text string) error {
	a := t.Index.About()
	if since := int64(at - a.Origin); since < 0 || since > a.Span {
		return fmt.Errorf("note %q: its instant is not on the timeline, which is %v long", text, time.Duration(a.Span))
	}
	if text == "" || utf8.RuneCountInString(text) > longestNote {
		return fmt.Errorf("note %q: want 1 to %d characters", text, longestNote)
	}
	t.notes = append(t.notes, index.Note{At: int64(at - a.Origin), Row: -1, Text: text})
	return nil
}

// Keep puts the notes of the timeline into a file, and has the timeline show those of the file. It must not be called once the timeline is served.
func (t *Timeline) Keep(file *NoteFile) error {
	about := t.Index.About()
	if err := file.Add(about, t.notes); err != nil {
		return err
	}
	all, err := file.Notes(about)
	t.notes = all
	return err
}

// over returns what an index says of itself with what the report knows beside it.
func (r *Report) over(of *index.About) *index.About {
	a := *of
	a.Hosts = append([]index.Host{}, a.Hosts...)
	for i := range min(len(a.Hosts), len(r.Hosts)) {
		h := &a.Hosts[i]
		h.HostReport = r.Hosts[i]
		h.Addresses = append([]string{}, h.Addresses...)
	}
	a.Clocks = append([]index.Clock{}, a.Clocks...)
	for i := range a.Clocks {
		if c := &a.Clocks[i]; i < len(r.Clocks) {
			c.Component, c.Set = r.Clocks[i].Component, r.Clocks[i].Set
		} else if c.Host < len(a.Hosts) {
			c.Component = a.Hosts[c.Host].Component
		}
	}
	if r.Method != "" {
		a.Method, a.Assumption = r.Method, r.Assumption
	}
	a.Summary = r.Summary
	a.Warnings = append(append([]string{}, r.Warnings...), a.Warnings...)
	a.Pairs = append([][]string{}, r.Pairs...)
	a.Left = append(append([]string{}, a.Left...), r.Left...)
	return &a
}

// Plots returns the pictures of clocks.
func (t *Timeline) Plots() []show.Drawing { return append([]show.Drawing{}, t.report.Plots...) }
