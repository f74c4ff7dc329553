package messages

import (
	"bytes"
	"reflect"
	"testing"

	"meridian/trace"
)

func TestLinesOfOneNameAreOneCollectiveOrOneBroadcast(t *testing.T) {
	l, warnings, err := read(`3 # hosts
@collective step a 1 2.0000000001 # the first
@broadcast step c 7
a b 1 2
@collective other b 5 5
@collective step b 1.5 1.75
@broadcast step a 7.000000002
@collective step a 1.25 3
`)
	if err != nil || len(warnings) != 1 || warnings[0] != "m.txt: stamps finer than a nanosecond rounded, sent down and received up (m.txt:2)" {
		t.Fatal(err, warnings)
	}
	want := &trace.List{
		File:     "m.txt",
		Hosts:    []string{"a", "c", "b"},
		Channels: []trace.Channel{{From: 0, To: 2, Messages: []trace.Message{{Sent: 1e9, Received: 2e9}}}},
		Collectives: []trace.Collective{
			{Name: "step", Members: []trace.Member{
				{Clock: 0, Entered: 1e9, Left: 2e9 + 1}, {Clock: 2, Entered: 1.5e9, Left: 1.75e9}, {Clock: 0, Entered: 1.25e9, Left: 3e9}}},
			{Name: "other", Members: []trace.Member{{Clock: 2, Entered: 5e9, Left: 5e9}}},
		},
		Broadcasts: []trace.Broadcast{{Receptions: []trace.Stamp{{Clock: 1, Time: 7e9}, {Clock: 0, Time: 7e9 + 2}}}},
	}
	if !reflect.DeepEqual(l, want) {
		t.Errorf("got %+v, want %+v", l, want)
	}
}

func TestBadLinesOfGroupsAreSkippedAndLeaveNothingBehind(t *testing.T) {
	for _, c := range []struct{ lines, why string }{
		{"@collective s x 1", "not the five fields @collective NAME HOST ENTERED LEFT"},
		{"@collective s x 1 2 3", "not the five fields @collective NAME HOST ENTERED LEFT"},
		{"@collective s x 2 1", "a collective left before it was entered"},
		{"@collective s x one 1", "a time is not a decimal number of seconds"},
		{"@collective s \x01 1 2", "a host name with control characters or invalid UTF-8"},
		{"@collective s @collective 1 2", "a host named @collective or @broadcast, which begin other lines"},
		{"@collective \xff x 1 2", "the name of a collective or a broadcast with control characters or invalid UTF-8"},
		{"@broadcast s x", "not the four fields @broadcast NAME HOST RECEIVED"},
		{"@broadcast s x 1 2", "not the four fields @broadcast NAME HOST RECEIVED"},
		{"@broadcast s x 9e9", "a time is out of range"},
		{"x @broadcast 1 2", "a host named @collective or @broadcast, which begin other lines"},
	} {
		l, warnings, err := read("a b 1 2\n" + c.lines + "\n")
		if err != nil || !reflect.DeepEqual(*l, onePair) {
			t.Errorf("%q: %+v, %v", c.lines, l, err)
		}
		if want := "m.txt: line skipped: " + c.why + " (m.txt:2)"; len(warnings) != 1 || warnings[0] != want {
			t.Errorf("%q: warnings %q, want %q", c.lines, warnings, want)
		}
	}
}

func TestAHostHearsABroadcastOnce(t *testing.T) {
	l, warnings, err := read("@broadcast s a 1\n@broadcast s a 2\n@broadcast t a 3\n")
	want := []trace.Broadcast{{Receptions: []trace.Stamp{{Time: 1e9}}}, {Receptions: []trace.Stamp{{Time: 3e9}}}}
	if err != nil || !reflect.DeepEqual(l.Broadcasts, want) {
		t.Errorf("%+v, %v", l, err)
	}
	if len(warnings) != 1 || warnings[0] != "m.txt: line skipped: a broadcast that one host received twice (m.txt:2)" {
		t.Errorf("%q", warnings)
	}
}

func TestAnAtSignMayBeginAnyOtherName(t *testing.T) {
	l, warnings, err := read("@web @db 1 2\n@collectives @ 1 2\n@collective @all @web 3 4\n")
	if err != nil || len(warnings) > 0 || !reflect.DeepEqual(l.Hosts, []string{"@web", "@db", "@collectives", "@"}) ||
		l.Collectives[0].Name != "@all" {
		t.Errorf("%+v, %q, %v", l, warnings, err)
	}
}

func TestAFileWrittenLooksLikeThis(t *testing.T) {
	var file bytes.Buffer
	err := Write(&file, &trace.List{
		Hosts:       []string{"web", "unheard", "db"},
		Channels:    []trace.Channel{{From: 0, To: 2, Messages: []trace.Message{{Sent: -1, Received: 12.5e9}}}},
		Collectives: []trace.Collective{{Name: "step", Members: []trace.Member{{Clock: 2, Entered: 1, Left: 2e9}}}, {}},
		Broadcasts:  []trace.Broadcast{{}, {Receptions: []trace.Stamp{{Clock: 0, Time: 5}}}},
	})
	want := "2\nweb db -0.000000001 12.5\n@collective step db 0.000000001 2\n@broadcast 1 web 0.000000005\n"
	if err != nil || file.String() != want {
		t.Errorf("%q, %v", file.String(), err)
	}
}
