package live

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"meridian/internal/testneed"
	"meridian/trace"
)

// messagesOf returns the messages that were shown, by the clocks of their ends, in the order of exchange.
func messagesOf(t *testing.T, s *Session, x *endSink) (got []carried) {
	t.Helper()
	hosts := s.Schema().Hosts
	for flow, ends := range x.ends {
		from, to := pairEnds(t, flow, ends)
		got = append(got, carried{hosts[from.Host], hosts[to.Host], from.Event.Time, to.Event.Time})
	}
	slices.SortFunc(got, compareCarried)
	return got
}

// pairEnds returns the end that sends and the one that receives of a message, which must have both.
func pairEnds(t *testing.T, flow uint64, ends []shownEnd) (from, to *shownEnd) {
	t.Helper()
	if len(ends) != 2 || ends[0].Role == ends[1].Role {
		t.Fatalf("message %d has %d ends", flow, len(ends))
	}
	if from, to = &ends[0], &ends[1]; from.Role != trace.Sends {
		from, to = to, from
	}
	return from, to
}

func compareCarried(a, b carried) int {
	return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.sent, b.sent), cmp.Compare(a.received, b.received))
}

func TestMessagesOfAHostThatIsReadLateAreFoundOnce(t *testing.T) {
	t.Parallel()
	const seconds = 6
	traces, sent := exchange(t, t.TempDir(), seconds)
	slices.SortFunc(sent, compareCarried)
	for _, lag := range []time.Duration{700 * time.Millisecond, 0, 2500 * time.Millisecond, 7 * time.Second}[:testneed.Cases(4)] {
		for late := range 2 {
			t.Run(lag.String()+" "+[]string{"a", "b"}[late], func(t *testing.T) {
				all, in := growing(t, traces)
				now := time.Unix(5, 0)
				var w trace.Warnings
				s, err := New(Options{Inputs: in, Rows: true, Align: cheap, Messages: true, Now: func() time.Time { return now }}, &w)
				if err != nil {
					t.Fatal(err)
				}
				x := &endSink{s: s, ends: make(map[uint64][]shownEnd)}
				s.To(x)
				const step = 20 * time.Millisecond
				for at := time.Duration(0); at <= seconds*time.Second+lag+3*time.Second; at += step {
					now = now.Add(step)
					for i, g := range all {
						have := at
						if i == late {
							have -= lag
						}
						if have >= 0 {
							g.advance(t, min(1, have.Seconds()/seconds))
						}
					}
					for busy := true; busy; {
						if busy, err = s.Step(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
				}
				if got := messagesOf(t, s, x); !slices.Equal(got, sent) {
					t.Errorf("%d messages before the end, and they are not the %d that were sent", len(got), len(sent))
				}
				if err := s.Finish(t.Context()); err != nil {
					t.Fatal(err)
				}
				if got := messagesOf(t, s, x); !slices.Equal(got, sent) {
					t.Errorf("%d messages, and they are not the %d that were sent", len(got), len(sent))
				}
				if err := s.close(); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}
