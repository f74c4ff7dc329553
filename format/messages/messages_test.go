package messages

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func read(text string) (*trace.List, []string, error) {
	var w trace.Warnings
	l, err := Read(strings.NewReader(text), "m.txt", &w)
	return l, w.Lines(), err
}

var onePair = trace.List{
	File:     "m.txt",
	Hosts:    []string{"a", "b"},
	Channels: []trace.Channel{{From: 0, To: 1, Messages: []trace.Message{{Sent: 1e9, Received: 2e9}}}},
}

func TestOneMessageReadsTheSameInEveryDress(t *testing.T) {
	for _, text := range []string{
		"a b 1 2",
		"a b 1 2\n",
		"a\tb\t1.0\t2.0\r\n",
		"\ufeffa b 1 2",
		"\ufeff# comment\n\n2\n a  b \t 1 2 # trailing",
		"2 # hosts\r\n\r\na b 1 2#tight",
		"a b 1e0 2e0" + strings.Repeat(" ", 900_000) + "\n",
		"a b 1 2 #" + strings.Repeat("x", 3<<20) + "\n",
		"#" + strings.Repeat("x", 3<<20) + "\na b 1 2",
		"a b 0." + strings.Repeat("0", 300_000) + "1e300001 2",
	} {
		l, warnings, err := read(text)
		if err != nil || len(warnings) > 0 || !reflect.DeepEqual(*l, onePair) {
			t.Errorf("%.40q: %+v, warnings %q, %v", text, l, warnings, err)
		}
	}
}

func TestBadLinesAreSkippedAndCountedByReason(t *testing.T) {
	for _, c := range []struct{ lines, warning string }{
		{"x y 1", "m.txt: line skipped: not the four fields FROM TO SENT RECEIVED (m.txt:2)"},
		{"x y 1 2 3\n17", "m.txt: line skipped: not the four fields FROM TO SENT RECEIVED (2 times, first m.txt:2)"},
		{"@foo x", "m.txt: line skipped: unknown directive @foo; known: @collective, @broadcast (m.txt:2)"},
		{"@foo x\n@bar x 1 2 3", "m.txt: line skipped: unknown directive @foo; known: @collective, @broadcast (2 times, first m.txt:2)"},
		{"@\x1b[1m", `m.txt: line skipped: unknown directive "@\x1b[1m"; known: @collective, @broadcast (m.txt:2)`},
		{"x x 1 2", "m.txt: line skipped: a message from a host to itself (m.txt:2)"},
		{"x y one 2", "m.txt: line skipped: a time is not a decimal number of seconds (m.txt:2)"},
		{"x y 1 9e9", "m.txt: line skipped: a time is out of range (m.txt:2)"},
		{"x\x00 y 1 2", "m.txt: line skipped: a host name with control characters or invalid UTF-8 (m.txt:2)"},
		{"x \xff 1 2", "m.txt: line skipped: a host name with control characters or invalid UTF-8 (m.txt:2)"},
		{"x y 1 2" + strings.Repeat(" ", 2<<20), "m.txt: line skipped: a line longer than 1 MiB (m.txt:2)"},
	} {
		l, warnings, err := read("a b 1 2\n" + c.lines + "\n")
		if err != nil || !reflect.DeepEqual(*l, onePair) {
			t.Errorf("%.20q: %+v, %v", c.lines, l, err)
		}
		if len(warnings) != 1 || warnings[0] != c.warning {
			t.Errorf("%.20q: warnings %q, want %q", c.lines, warnings, c.warning)
		}
	}
}

func TestStampsFinerThanANanosecondNeverTightenTheConstraint(t *testing.T) {
	l, warnings, err := read("a b 1.0000000009 2.0000000001\na b 3.0000000000 4\na b 5.0000000001 6\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []trace.Message{{Sent: 1e9, Received: 2e9 + 1}, {Sent: 3e9, Received: 4e9}, {Sent: 5e9, Received: 6e9}}
	if got := l.Channels[0].Messages; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if len(warnings) != 1 || !strings.Contains(warnings[0], "(2 times, first m.txt:1)") {
		t.Errorf("warnings %q", warnings)
	}
}

func TestADeclaredNumberOfHostsIsChecked(t *testing.T) {
	_, warnings, err := read("3\na b 1 2\n")
	want := []string{"m.txt: the first line says 3 hosts, the messages name 2"}
	if err != nil || !reflect.DeepEqual(warnings, want) {
		t.Errorf("warnings %q, %v", warnings, err)
	}
}

func TestAFileWithoutAMessageSaysWhatIsExpected(t *testing.T) {
	for text, want := range map[string]string{
		"":                       "m.txt: empty: ",
		"\ufeff":                 "m.txt: empty: ",
		"\n# nothing\n":          "m.txt: empty: ",
		"3\n":                    "m.txt: no message: ",
		"\nhello\n":              "m.txt: no message, line 2: not the four fields FROM TO SENT RECEIVED; ",
		"\xd4\xc3\xb2\xa1\x02\n": "m.txt: no message, line 1: not the four fields FROM TO SENT RECEIVED; ",
	} {
		_, _, err := read(text)
		if err == nil || err.Error() != want+Expected {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAFailingReaderIsAnErrorWithItsLine(t *testing.T) {
	broken := errors.New("broken disk")
	var w trace.Warnings
	_, err := Read(iotest.TimeoutReader(strings.NewReader(strings.Repeat("a b 1 2\n", 1e5))), "m.txt", &w)
	if !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("got %v", err)
	}
	_, err = Read(iotest.ErrReader(broken), "m.txt", &w)
	if !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "m.txt: line 1: ") {
		t.Errorf("got %v", err)
	}
}

func TestWhatCouldNotBeReadBackIsNotWritten(t *testing.T) {
	one := []trace.Message{{Sent: 1, Received: 2}}
	for _, l := range []trace.List{
		{Hosts: []string{"a b", "c"}, Channels: []trace.Channel{{From: 0, To: 1, Messages: one}}},
		{Hosts: []string{"a#", "c"}, Channels: []trace.Channel{{From: 0, To: 1, Messages: one}}},
		{Hosts: []string{"", "c"}, Channels: []trace.Channel{{From: 0, To: 1, Messages: one}}},
		{Hosts: []string{"\xff", "c"}, Channels: []trace.Channel{{From: 0, To: 1, Messages: one}}},
		{Hosts: []string{"c", "c"}, Channels: []trace.Channel{{From: 0, To: 1, Messages: one}}},
		{Hosts: []string{"a", "c"}, Channels: []trace.Channel{{From: 0, To: 2, Messages: one}}},
		{Hosts: []string{"a", "c"}, Channels: []trace.Channel{{From: 1, To: 1, Messages: one}}},
		{Hosts: []string{"a", "c"}, Channels: []trace.Channel{{From: 0, To: 1, Messages: []trace.Message{{Sent: clock.Limit}}}}},
		{Hosts: []string{"@broadcast", "c"}, Channels: []trace.Channel{{From: 0, To: 1, Messages: one}}},
		{Hosts: []string{"a"}, Collectives: []trace.Collective{{Name: "", Members: []trace.Member{{}}}}},
		{Hosts: []string{"a"}, Collectives: []trace.Collective{{Name: "x y", Members: []trace.Member{{}}}}},
		{Hosts: []string{"a"}, Collectives: []trace.Collective{{Name: "x", Members: []trace.Member{{}}}, {Name: "x", Members: []trace.Member{{}}}}},
		{Hosts: []string{"a"}, Collectives: []trace.Collective{{Name: "x", Members: []trace.Member{{Clock: 1}}}}},
		{Hosts: []string{"a"}, Collectives: []trace.Collective{{Name: "x", Members: []trace.Member{{Entered: 2, Left: 1}}}}},
		{Hosts: []string{"a"}, Broadcasts: []trace.Broadcast{{Receptions: []trace.Stamp{{Clock: -1}}}}},
		{Hosts: []string{"a"}, Broadcasts: []trace.Broadcast{{Receptions: []trace.Stamp{{Time: 1}, {Time: 2}}}}},
		{Hosts: []string{"a"}, Broadcasts: []trace.Broadcast{{Receptions: []trace.Stamp{{Time: -clock.Limit}}}}},
	} {
		var file bytes.Buffer
		if err := Write(&file, &l); err == nil || file.Len() > 0 {
			t.Errorf("%+v was written", l)
		}
	}
}

// byNames is a list without the order of its hosts: what a file of messages keeps.
func byNames(l *trace.List) map[string][]trace.Message {
	m := make(map[string][]trace.Message)
	for _, c := range l.Channels {
		if len(c.Messages) > 0 {
			key := l.Hosts[c.From] + " " + l.Hosts[c.To]
			m[key] = append(m[key], c.Messages...)
		}
	}
	for _, c := range l.Collectives {
		for i, x := range c.Members {
			key := fmt.Sprintf("@collective %s %d %s", c.Name, i, l.Hosts[x.Clock])
			m[key] = append(m[key], trace.Message{Sent: x.Entered, Received: x.Left})
		}
	}
	n := 0
	for _, b := range l.Broadcasts {
		for _, x := range b.Receptions {
			key := fmt.Sprintf("@broadcast %d %s", n, l.Hosts[x.Clock])
			m[key] = append(m[key], trace.Message{Received: x.Time})
		}
		if len(b.Receptions) > 0 {
			n++
		}
	}
	return m
}

func TestWrittenMessagesReadBackExactly(t *testing.T) {
	stamp := rapid.Int64Range(1-clock.Limit, clock.Limit-1)
	testseed.Check(t, func(t *rapid.T) {
		l := &trace.List{File: "m.txt"}
		l.Hosts = rapid.SliceOfNDistinct(rapid.StringMatching(`[!-"$-~é世]{1,8}`), 2, 6, rapid.ID[string]).Draw(t, "hosts")
		for range rapid.IntRange(1, 5).Draw(t, "channels") {
			from := rapid.IntRange(0, len(l.Hosts)-1).Draw(t, "from")
			to := (from + rapid.IntRange(1, len(l.Hosts)-1).Draw(t, "step")) % len(l.Hosts)
			c := trace.Channel{From: from, To: to}
			for range rapid.IntRange(1, 5).Draw(t, "messages") {
				c.Messages = append(c.Messages, trace.Message{Sent: clock.HostTime(stamp.Draw(t, "sent")), Received: clock.HostTime(stamp.Draw(t, "received"))})
			}
			l.Channels = append(l.Channels, c)
		}
		for i := range rapid.IntRange(0, 3).Draw(t, "collectives") {
			c := trace.Collective{Name: fmt.Sprint("c", i)}
			for range rapid.IntRange(0, 4).Draw(t, "members") {
				a, b := clock.HostTime(stamp.Draw(t, "entered")), clock.HostTime(stamp.Draw(t, "left"))
				c.Members = append(c.Members, trace.Member{Clock: rapid.IntRange(0, len(l.Hosts)-1).Draw(t, "member"), Entered: min(a, b), Left: max(a, b)})
			}
			l.Collectives = append(l.Collectives, c)
		}
		for range rapid.IntRange(0, 3).Draw(t, "broadcasts") {
			var b trace.Broadcast
			for _, h := range rapid.SliceOfDistinct(rapid.IntRange(0, len(l.Hosts)-1), rapid.ID[int]).Draw(t, "receivers") {
				b.Receptions = append(b.Receptions, trace.Stamp{Clock: h, Time: clock.HostTime(stamp.Draw(t, "reception"))})
			}
			l.Broadcasts = append(l.Broadcasts, b)
		}
		var file bytes.Buffer
		if err := Write(&file, l); err != nil {
			t.Fatal(err)
		}
		var w trace.Warnings
		back, err := Read(&file, "m.txt", &w)
		if err != nil || len(w.Lines()) > 0 {
			t.Fatal(err, w.Lines())
		}
		if got, want := byNames(back), byNames(l); !reflect.DeepEqual(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestReadingAllocatesNothingPerLine(t *testing.T) {
	var file bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&file, "web db 1700000000.%09d 1700000000.%010d\n", i, i*7)
		fmt.Fprintf(&file, "db web oops %d\n", i)
	}
	text := file.Bytes()
	allocations := testing.AllocsPerRun(3, func() {
		var w trace.Warnings
		if _, err := Read(bytes.NewReader(text), "m.txt", &w); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 200 {
		t.Errorf("%v allocations for 200,000 lines", allocations)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("2\na b 1.5 -2e3 # x\r\nb a .5 7.0000000001\n"))
	f.Add([]byte("\ufeff# c\n3\n\na b 4611686018.427387904 1\n"))
	f.Add([]byte("@collective s a 1 2\n@broadcast s a 3.5\n@collective s b 1.1 2\n@broadcast s b 3.6 # x\n@a b 1 2\n"))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		var w trace.Warnings
		l, err := Read(bytes.NewReader(data), "f", &w)
		if err != nil {
			return
		}
		var file bytes.Buffer
		if err := Write(&file, l); err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		var again trace.Warnings
		back, err := Read(&file, "f", &again)
		if err != nil || len(again.Lines()) > 0 || !reflect.DeepEqual(byNames(back), byNames(l)) {
			t.Fatalf("not the same after writing: %v, %q", err, again.Lines())
		}
	})
}

func BenchmarkRead(b *testing.B) {
	var file bytes.Buffer
	for i := range 100_000 {
		fmt.Fprintf(&file, "web%d db 1700000000.%09d 1700000000.%09d\n", i%7, i, i*7)
	}
	b.SetBytes(int64(file.Len()))
	for b.Loop() {
		var w trace.Warnings
		if _, err := Read(bytes.NewReader(file.Bytes()), "m.txt", &w); err != nil {
			b.Fatal(err)
		}
	}
}

func TestNoListIsAnError(t *testing.T) {
	if Write(io.Discard, nil) == nil {
		t.Error("no list was taken for one")
	}
}
