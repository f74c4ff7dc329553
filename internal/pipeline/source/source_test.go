package source

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// play reads a source to its end, and returns a line for each event.
func play(t *testing.T, s trace.Source) (lines []string) {
	t.Helper()
	var e trace.Event
	for {
		err := s.Next(&e)
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		class := &s.Classes()[e.Class]
		line := fmt.Sprintf("%d %s flow=%d role=%d", e.Time, class.Name, e.Flow, e.Role)
		for i, v := range s.Values() {
			if v.Kind != trace.None {
				line += fmt.Sprintf(" %s=%s", class.Fields[i].Name, v.Append(nil, &class.Fields[i].Type))
			}
		}
		lines = append(lines, line)
	}
}

func same(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}

// twoClocks have two messages from a to b and one back; c has none.
func twoClocks() *Messages {
	return &Messages{
		Clocks: []trace.Clock{{Name: "a"}, {Name: "b"}, {Name: "c"}},
		Channels: []trace.Channel{
			{From: 0, To: 1, Messages: []trace.Message{{Sent: 30, Received: 1041}, {Sent: 10, Received: 1020}}},
			{From: 1, To: 0, Messages: []trace.Message{{Sent: 1050, Received: 62}}},
		},
	}
}

func TestEndpointsOfAMessageShareItsFlow(t *testing.T) {
	all := twoClocks().Endpoints(func(int) string { return "messages" })
	if all[2] != nil {
		t.Error("a clock without messages has endpoints")
	}
	sends, receives := trace.Sends, trace.Receives
	same(t, play(t, all[0]),
		fmt.Sprintf("10 send flow=2 role=%d to=b", sends),
		fmt.Sprintf("30 send flow=1 role=%d to=b", sends),
		fmt.Sprintf("62 receive flow=3 role=%d from=b delay_ns=-988", receives))
	same(t, play(t, all[1]),
		fmt.Sprintf("1020 receive flow=2 role=%d from=a delay_ns=1010", receives),
		fmt.Sprintf("1041 receive flow=1 role=%d from=a delay_ns=1011", receives),
		fmt.Sprintf("1050 send flow=3 role=%d to=a", sends))
}

func TestDelaysAreOnTheTimelineWithinTheirBounds(t *testing.T) {
	m := twoClocks()
	m.Skip = func(channel int) bool { return channel == 1 }
	// b is 1000 ahead, known to -3 and +5; a is known to ±1.
	m.Maps = []clock.Map{
		{Mid: clock.Curve{{X: 0, Y: 0}}, Low: clock.Curve{{X: 0, Y: -1}}, High: clock.Curve{{X: 0, Y: 1}}},
		{Mid: clock.Curve{{X: 0, Y: -1000}}, Low: clock.Curve{{X: 0, Y: -1003}}, High: clock.Curve{{X: 0, Y: -995}}},
		clock.Identity(),
	}
	all := m.Endpoints(func(int) string { return "messages" })
	role := trace.Receives
	same(t, play(t, all[1]),
		fmt.Sprintf("1020 receive flow=2 role=%d from=a delay_ns=10 delay_low_ns=6 delay_high_ns=16", role),
		fmt.Sprintf("1041 receive flow=1 role=%d from=a delay_ns=11 delay_low_ns=7 delay_high_ns=17", role))
	// A side without a bound leaves out the bounds of delays that rest on it.
	m.Maps[1].Low = nil
	all = m.Endpoints(func(int) string { return "messages" })
	same(t, play(t, all[1])[:1], fmt.Sprintf("1020 receive flow=2 role=%d from=a delay_ns=10 delay_high_ns=16", role))
}

func TestOperationsComeInOrderOfTime(t *testing.T) {
	given := []Operation{{30, Leaves, "step"}, {20, Hears, "a broadcast"}, {10, Enters, "step"}}
	same(t, play(t, Operations("operations", given)),
		"10 enters flow=0 role=0 operation=step", "20 hears flow=0 role=0 operation=a broadcast", "30 leaves flow=0 role=0 operation=step")
	if given[0].At != 30 {
		t.Error("the caller's slice was changed")
	}
}

func TestBoundsAreCountedFromTheFirstStampToTheLast(t *testing.T) {
	m := clock.Identity()
	m.Low, m.High = clock.Curve{{X: 0, Y: -7}}, clock.Curve{{X: 0, Y: 4}}
	got := play(t, Bounds("clock bound", &m, 1000, 1000+BoundIntervals*10, nil))
	if len(got) != BoundIntervals+1 || got[0] != "1000 clock bound flow=0 role=0 bound_ns=7" ||
		got[BoundIntervals] != fmt.Sprintf("%d clock bound flow=0 role=0 bound_ns=7", 1000+BoundIntervals*10) {
		t.Errorf("%d counts, from %q to %q", len(got), got[0], got[len(got)-1])
	}
	same(t, play(t, Bounds("clock bound", &m, 5, 5, nil)), "5 clock bound flow=0 role=0 bound_ns=7")
}

func TestPacketsAreChosenByNumber(t *testing.T) {
	table := trace.NewFlowTable()
	flow, _ := table.Find(trace.FlowEnd{Lo: 0x0a000001, Port: 99}, trace.FlowEnd{Lo: 0x0a000002, Port: 80}, 6, false)
	c := &trace.Capture{}
	for i := range 9 {
		*c.Packets.Append() = trace.Packet{Time: clock.HostTime(100 - i), Flow: flow, Kind: trace.TCP, Seq: uint32(i), Flags: 0x12}
	}
	c.Packets.At(2).Flow = trace.NoFlow
	c.Flows = table.Flows()
	asked := 0
	got := play(t, Packets("packets", c, func(n int) (pass, more bool) {
		asked++
		return n == 1 || n == 2, n < 2
	}, nil))
	if len(got) != 2 || asked != 4 {
		t.Fatalf("%d packets, after %d questions: %q", len(got), asked, got)
	}
	if got[1] != "98 packet flow=0 role=0 number=3" {
		t.Errorf("a packet of no flow: %q", got[1])
	}
	want := "99 packet flow=0 role=0 protocol=TCP source=10.0.0.1 source_port=99 destination=10.0.0.2 destination_port=80 length=0 seq=1 ack=0 flags=S. number=2"
	if got[0] != want {
		t.Errorf("%q, not %q", got[0], want)
	}
}
