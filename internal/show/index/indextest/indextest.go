// Package indextest builds the small indexes that the tests of package view and of the page share.
//
// A function of the caller makes every name in them. So a test can use names that a careless reader would take for
// markup, code or control characters ([Hostile]).
package indextest

import (
	"fmt"
	"testing"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/trace"
)

// Hostile are texts that break out of markup, scripts, terminals or encodings that do not escape them.
var Hostile = []string{
	`</script><script>alert(1)</script>`, `<!--<script>`, `--><img src=x onerror=alert(1)>`, `</title></style><svg onload=alert(1)>`,
	"\u2028\u2029", "nul\x00", "bad\xff\xfeutf8", "\u202egnp.exe", `"><'&amp;`, "@SCRIPT@@POLICY@", "${`x`}\\", "]]>", "\x1b[31m",
}

// Plain leaves a name as it is.
func Plain(s string) string { return s }

// Attacher adds to an index what is not an event; a view.Report is one.
type Attacher interface {
	Attach(*index.Builder) error
}

// TwoHosts builds an index of so many events on two hosts, of which every tenth begins a message. Each name is what name
// makes of it. The index is in memory if path is empty; report may be nil.
func TwoHosts(t testing.TB, path string, events int, name func(string) string, report Attacher) *index.Index {
	t.Helper()
	text := trace.Type{Kind: trace.Text}
	l := &trace.Schema{Title: name("title"), Hosts: []string{name("a"), name("b")},
		Classes: []trace.Class{{Name: name("class"), Category: name("category"), Fields: []trace.Field{{Name: name("field"), Type: text}}}}}
	for _, host := range l.Hosts {
		l.Streams = append(l.Streams, trace.Stream{Name: name("row"), Host: host, Kind: trace.Thread, Parent: -1})
	}
	return Build(t, l, path, report, func(b *index.Builder) error {
		for i := range events {
			at := clock.HostTime(1e18) + clock.HostTime(int64(i)*1000) + clock.HostTime(i%7)
			r := trace.TimelineEvent{Event: trace.Event{Time: at, Stream: i % 2}, Host: i % 2, Map: -1, Time: clock.TimelineTime(at), Low: clock.TimelineTime(at), High: clock.TimelineTime(at),
				Values: []trace.Value{trace.OfText(name(fmt.Sprint("value ", i)))}}
			if i%10 < 2 {
				r.Flow, r.Role = uint64(i/10+1), []trace.Role{trace.Sends, trace.Receives}[i%2]
			}
			if err := b.Write(&r); err != nil {
				return err
			}
		}
		return nil
	})
}

// Build builds an index of what write writes. The index is in memory if path is empty; report may be nil.
func Build(t testing.TB, l *trace.Schema, path string, report Attacher, write func(*index.Builder) error) *index.Index {
	t.Helper()
	b, err := index.NewBuilder(l, index.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := write(b); err != nil {
		t.Fatal(err)
	}
	if report != nil {
		if err := report.Attach(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	x, err := b.Index()
	if err != nil {
		t.Fatal(err)
	}
	return x
}
