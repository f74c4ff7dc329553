package livetest_test

import (
	"context"
	"flag"
	"strconv"
	"testing"
	"time"

	"meridian/align/live"
	"meridian/internal/corpus"
	"meridian/internal/livetest"
)

var steeredSpan = flag.Duration("steered", time.Minute, "how much of each recording of clocks that chronyd steers is played, up to 4h")
var steeredFrom = flag.Duration("steered-from", 30*time.Second, "where in it the play begins")
var steeredSeed = flag.Uint64("steered-seed", 21, "seed of the messages")

// steered is a server and its two clients, which a real chronyd steers, from a second of the recording on.
func steered(network string, all [3][]float64, seed uint64, from, span time.Duration, links int) *livetest.Scenario {
	least, jitter := 30*time.Microsecond, 20*time.Microsecond
	if network == "wan" {
		least, jitter = 5*time.Millisecond, time.Millisecond
	}
	s := &livetest.Scenario{Seed: seed, Span: span, Samples: 4000, Lag: 200 * time.Millisecond, Options: live.Options{Align: cheap}}
	s.Options.Align.Reference = "0"
	for i, offsets := range all {
		h := livetest.Host{Name: strconv.Itoa(i)}
		h.Clock.OffsetNs = 1_700_000_000e9
		if i > 0 {
			h.Steered = offsets[int(from/time.Second):]
		}
		s.Hosts = append(s.Hosts, h)
	}
	for i := range links {
		from := time.Duration(0)
		if i > 0 {
			from = 10 * time.Second // the server is the reference
		}
		s.Links = append(s.Links, livetest.Link{From: from, A: i, B: (i + 1) % 3, Period: 500 * time.Millisecond, There: least, Back: least, Jitter: jitter})
	}
	return s
}

// A place of a clock that chronyd steers is within its bounds, or it is told that the clock did not keep the assumption there, and the offline run
// agrees. Where one was wrong, something is told that a command exits with 3 for. The second minute, where chronyd first slews the clocks and changes their rates, is what differs most; "make live-steered" plays more. Rounds are
// as far apart as in a session: a bend that contradicts no message is outside of the bounds until the next round.
func TestClocksThatChronydSteersStayWithinTheirBoundsLive(t *testing.T) {
	for _, network := range []string{"lan", "wan"} {
		all := corpus.ChronydOffsets(t, network)
		for links := 1; links <= 3; links += 2 {
			s := steered(network, all, *steeredSeed, *steeredFrom, *steeredSpan, links)
			if links == 1 {
				s.Hosts = s.Hosts[:2]
			}
			w := play(t, s)
			if w.Bends > 0 && w.Alarms == 0 {
				t.Errorf("%s, %d links: %d places are wrong, and nothing is told that makes the exit code 3", network, links, w.Bends)
			}
			a, err := w.Offline(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s %d: %+v", network, links, *a)
			// Offline bounds nothing of two clocks alone over more than some ten minutes from the start of chronyd on.
			few := a.Compared < 50 && (links > 1 || *steeredSpan <= 10*time.Minute)
			if few || a.Apart > 0 || a.LastApart > 0 || a.Wrong > 0 {
				t.Errorf("%s, %d links: compared with the offline run: %+v", network, links, *a)
			}
		}
	}
}
