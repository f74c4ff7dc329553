package spans

import (
	"reflect"
	"strings"
	"testing"

	"meridian/trace"
)

func TestNumbersInHexadecimalAreReadWhateverTheirLength(t *testing.T) {
	for text, want := range map[string]ID{"1": {7: 1}, "eee19b7ec3c1b174": {0xee, 0xe1, 0x9b, 0x7e, 0xc3, 0xc1, 0xb1, 0x74}, "0102": {6: 1, 7: 2}, "EEE": {6: 0x0e, 7: 0xee}} {
		if got, ok := ParseID([]byte(text)); !ok || got != want {
			t.Errorf("%s: %x, %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "x", "-1", strings.Repeat("0", 17)} {
		if id, ok := ParseID([]byte(text)); ok {
			t.Errorf("%q is %x", text, id)
		}
	}
	if got, ok := ParseTrace([]byte("2f14d3676255b035")); !ok || got != (TraceID{8: 0x2f, 0x14, 0xd3, 0x67, 0x62, 0x55, 0xb0, 0x35}) {
		t.Errorf("%x, %v", got, ok)
	}
}

func TestAConsumerReceivesFromEveryProducerOnce(t *testing.T) {
	link := func(id byte) Link { return Link{TraceID{9}, ID{id}} }
	s := NewSet("f")
	row := s.Process("h", "s", "", 0)
	s.Add(&Span{Trace: TraceID{9}, ID: ID{1}, Parent: ID{2}, Kind: Consumer, Operation: "process", Start: 5, End: 8, Ended: true, Row: row,
		Links: []Link{link(3), link(2), link(3), link(4), {}}})
	var w trace.Warnings
	f := s.Done(&w)
	var want []trace.Mark
	for _, id := range []byte{2, 3, 4} {
		want = append(want, trace.Mark{Time: 8, Key: trace.KeyOf("span", "\x09"+strings.Repeat("\x00", 15), string([]byte{id, 0, 0, 0, 0, 0, 0, 0}), "message"), Role: trace.Receives})
	}
	if got := f.Marks().Marks; !reflect.DeepEqual(got, want) || len(w.Lines()) > 0 {
		t.Errorf("got %v, want %v; %q", got, want, w.Lines())
	}
}

func TestProcessesHaveRowsOfTheirOwn(t *testing.T) {
	s := NewSet("f")
	a := s.Process("h", "s", "", 1)
	if b := s.Process("h", "s", "", 2); b.Stream == a.Stream || b.Host != a.Host {
		t.Error("two processes of a service share a row")
	}
	if b := s.Process("g", "s", "", 1); b.Stream == a.Stream || b.Host == a.Host {
		t.Error("two hosts share a row")
	}
	if b := s.Process("h", "s", "", 1); b != a {
		t.Error("a process has two rows")
	}
	if n := len(s.Streams()); n != 3 {
		t.Errorf("%d rows", n)
	}
}
