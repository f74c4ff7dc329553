package match

import (
	"cmp"
	"slices"
	"testing"

	"meridian/clock"
	"meridian/trace"
)

// talk passes requests and answers, several on the way at a time, and lets a stamp what it receives by a clock
// that is ahead. The captures stand in the order of their capture, whatever the stamps say.
func talk(w *world, ahead int64, flags bool) {
	type event struct {
		at       clock.HostTime
		atB      bool
		question bool
		n        int64
	}
	var events []event
	for n := range int64(3000) {
		at := clock.HostTime(1_000_000_000 + n*31_000)
		events = append(events, event{at, false, true, n}, event{at + 50_000, true, true, n},
			event{at + 70_000, true, false, n}, event{at + 120_000, false, false, n})
	}
	slices.SortStableFunc(events, func(e, f event) int { return cmp.Compare(e.at, f.at) })
	for _, e := range events {
		p := trace.Packet{Time: e.at, Kind: trace.TCP, Flags: trace.ACK}
		from, to := addrB, addrA
		if e.question {
			from, to = to, from
			p.Seq, p.Ack, p.Length = uint32(100*e.n), uint32(10*e.n), 100
		} else {
			p.Seq, p.Ack, p.Length = uint32(10*e.n), uint32(100*e.n+100), 10
		}
		if !e.atB {
			if !e.question {
				p.Time += clock.HostTime(ahead)
			}
			if flags {
				p.From = trace.Received
				if e.question {
					p.From = trace.Sent
				}
			}
		}
		w.record(e.atB, protocolTCP, from, to, p)
	}
}

func TestStampsOfTwoClocksInOneCaptureAreFound(t *testing.T) {
	for _, c := range []struct {
		name  string
		ahead int64
		flags bool
		want  bool
	}{
		{"one clock", 0, false, false},
		{"one clock, a little disorder", -20_000, false, false},
		{"received 37 s ahead, direction flags", 37_000_000_000, true, true},
		{"received 37 s ahead, no flags", 37_000_000_000, false, true},
		{"received 37 s behind, no flags", -37_000_000_000, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(5_000_000_000)
			talk(w, c.ahead, c.flags)
			var log trace.Warnings
			r, err := Match(t.Context(), []*trace.Capture{w.a, w.b}, Options{}, &log)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Captures[0].Sent != r.Captures[0].Received; got != c.want || r.Captures[1].Sent != r.Captures[1].Received {
				t.Fatalf("two clocks found: %v", got)
			}
			messages := make(map[[2]string]int)
			for _, ch := range r.Channels {
				messages[[2]string{r.Clocks[ch.From].Name, r.Clocks[ch.To].Name}] += len(ch.Messages)
				for _, m := range ch.Messages {
					sent, received := trueTime(r.Clocks[ch.From].Name, m.Sent, c.ahead, w), trueTime(r.Clocks[ch.To].Name, m.Received, c.ahead, w)
					if c.want && sent > received {
						t.Fatalf("%s to %s: received %d ns before it was sent", r.Clocks[ch.From].Name, r.Clocks[ch.To].Name, int64(sent-received))
					}
				}
			}
			to := "a"
			if c.want {
				to = "a/rx"
				if messages[[2]string{"a", "a/rx"}] < 2900 || messages[[2]string{"a/rx", "a"}] < 2900 {
					t.Errorf("messages within the host: %v", messages)
				}
			}
			if messages[[2]string{"a", "b"}] != 3000 || messages[[2]string{"b", to}] != 3000 {
				t.Errorf("messages %v, want 3000 each way", messages)
			}
		})
	}
}

func trueTime(name string, stamp clock.HostTime, ahead int64, w *world) clock.HostTime {
	switch name {
	case "a/rx":
		return stamp - clock.HostTime(ahead)
	case "b":
		return stamp - clock.HostTime(w.offset)
	}
	return stamp
}
