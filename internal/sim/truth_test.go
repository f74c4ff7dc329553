package sim

import (
	"bytes"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

func TestTruthFollowsTheClockToANanosecond(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		c := Clock{
			Origin: start, OffsetNs: rapid.Int64Range(-1e18/4, 1e18/4).Draw(t, "offset"), SkewPPM: rapid.Float64Range(-100, 100).Draw(t, "skew"),
		}
		if rapid.Bool().Draw(t, "waves") {
			c.Wave = Wave{AmplitudePPM: rapid.SampledFrom([]float64{0.1, 20}).Draw(t, "amplitude"),
				Period: time.Duration(rapid.SampledFrom([]int64{1e9, 3e9, 5_123_456_789, 1200e9}).Draw(t, "period")), Phase: 0.3}
		}
		if rapid.Bool().Draw(t, "walks") {
			c.Walk = NewWalk(rapid.Uint64().Draw(t, "seed"), rapid.SampledFrom([]float64{1e-3, 1e-2, 1}).Draw(t, "wander"),
				time.Second, time.Minute)
		}
		const span = clock.TimelineTime(60e9)
		for at := clock.TimelineTime(0); len(c.Steps) < 3 && rapid.Bool().Draw(t, "steps"); {
			at += clock.TimelineTime(rapid.Int64Range(1, 20e9).Draw(t, "pause"))
			c.Steps = append(c.Steps, Step{start + at, rapid.OneOf(rapid.Int64Range(-10, 10), rapid.Int64Range(-5e9, 5e9)).Draw(t, "by")})
		}
		if err := c.Check(); err != nil {
			t.Fatal(err)
		}
		h := c.truth("a", start-1e9, start+span)
		if err := h.Clock.Check(); err != nil {
			t.Fatal(err)
		}
		first, last := h.Clock[0].X, h.Clock[len(h.Clock)-1].X
		if first > c.At(start) || last < c.At(start+span) {
			t.Fatalf("the curve goes from %d to %d", first, last)
		}
		for range 50 {
			host := clock.HostTime(rapid.Int64Range(int64(first), int64(last)).Draw(t, "host"))
			want, got := c.Inverse(host), h.Clock.At(host, clock.Nearest)
			if off := int64(got - want); off < -2 || off > 2 { // half a nanosecond each: of the clock, of the knots, of the curve
				t.Fatalf("host time %d is at %d in truth, at %d on the curve", host, want, got)
			}
		}
		for range 50 {
			// Where the clock shows something once, the stamp leads back to the instant; elsewhere the truth says so.
			at := start + clock.TimelineTime(rapid.Int64Range(0, int64(span)).Draw(t, "at"))
			host := c.At(at)
			if off := int64(h.Clock.At(host, clock.Nearest) - at); (off < -2 || off > 2) && !h.Repeated(host) {
				t.Fatalf("stamp %d of %d leads to %d ns from it", host, at, off)
			}
		}
	})
}

func TestTruthIsWithinANanosecondInTheMean(t *testing.T) {
	s := office(11)
	s.Hosts, s.Topology, s.Wander = 2, Pair, 1e-8
	all, truth := flights(t, s)
	var sum float64
	for _, f := range all {
		off := float64(truth.Hosts[f.From].Clock.At(f.Sent, clock.Nearest) - f.Left)
		sum += off * off
	}
	if mean := sum / float64(len(all)); mean > 1 {
		t.Errorf("mean square of %g ns²", mean)
	}
}

func TestLinearClocksHaveCurvesOfFewKnots(t *testing.T) {
	_, truth, err := Scenario{Span: time.Hour, Rate: 0.1, MaxSkewPPM: 50, Steps: []HostStep{{1, Step{5e9, 1e9}}}}.Generate()
	if err != nil {
		t.Fatal(err)
	}
	if a, b := len(truth.Hosts[0].Clock), len(truth.Hosts[1].Clock); a != 2 || b != 4 {
		t.Errorf("%d and %d knots", a, b)
	}
}

func TestTruthComesBackAsItWasWritten(t *testing.T) {
	s := office(12)
	s.Steps = []HostStep{{3, Step{start + 30e9, -1e9}}, {3, Step{start + 20e9, 5e9}}}
	s.Routes = []Route{{0, 1, start + 10e9, 1000}}
	_, want, err := s.Generate()
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := want.Write(&file); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(file.String(), "\n"); lines != 3+2*len(want.Hosts)+len(want.Links) {
		t.Errorf("%d lines", lines)
	}
	got, err := ReadTruth(&file)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

func TestWrongTruthIsRefusedWithItsPlace(t *testing.T) {
	hosts := func(more string) string {
		return `{"seed":1,"hosts":[{"name":"a","clock":[[0,0],[10,10]]},{"name":"b","clock":[[0,0]]}` + more
	}
	links := func(list string) string { return hosts(`],"links":[` + list + `]}`) }
	if _, err := ReadTruth(strings.NewReader(links(`{"from":"a","to":"b","min_delay_ns":5}`))); err != nil {
		t.Fatalf("a good one: %v", err)
	}
	for _, test := range []struct{ text, want string }{
		{``, "byte 0"},
		{`{"seed":1,`, "byte 10"},
		{`null`, "no hosts"},
		{`{"seed":-1}`, "byte 10"},
		{`{"hosts":[]} x`, "byte 14"},
		{hosts(`,{"name":"c","clock":[[1.5,2]]}]}`), "byte"},
		{hosts(`,{"name":"c","clock":[[99999999999999999999,2]]}]}`), "byte"},
		{hosts(`,{"name":"c","clock":[[1,2],[3]]}]}`), `host 3, "c": knot 1 has 1 numbers`},
		{hosts(`,{"name":"c","clock":[[1,2,3]]}]}`), `host 3, "c": knot 0 has 3 numbers`},
		{`{"hosts":[{"name":"a","offset_ns":5},{"name":"b"}]}`, "not a truth file (meridian simulate writes truth.json)"},
		{hosts(`,{"name":"c"}]}`), `host 3, "c": clock: curve has no knots`},
		{hosts(`,{"name":"c","clock":[]}]}`), `host 3, "c": clock: curve has no knots`},
		{hosts(`,{"name":"c","clock":[[2,0],[1,1]]}]}`), `knot 1 at 1 does not follow`},
		{hosts(`,{"name":"c","clock":[[1,5],[2,4]]}]}`), `runs back`},
		{hosts(`,{"name":"c","clock":[[1,9223372036854775807]]}]}`), `out of range`},
		{hosts(`,{"name":"a","clock":[[1,2]]}]}`), `duplicate host name`},
		{hosts(`,{"clock":[[1,2]]}]}`), `no name`},
		{hosts(`,{"name":"c","clock":[[1,2]],"steps":[{"at_ns":5},{"at_ns":5}]}]}`), `is not later than`},
		{hosts(`,{"name":"c","clock":[[1,2]],"steps":[{"at_ns":9223372036854775807}]}]}`), `out of range`},
		{links(`{"from":"a","to":"c"}`), "link 1"},
		{links(`{"from":"a","to":"a"}`), "to itself"},
		{links(`{"from":"a","to":"b","min_delay_ns":-5}`), "invalid delay -5 ns"},
		{links(`{"from":"a","to":"b"},{"from":"a","to":"b"}`), "link 2"},
		{links(`{"from":"a","to":"b","routes":[{"at_ns":1,"min_delay_ns":-1}]}`), "invalid delay -1 ns from 1 on"},
		{links(`{"from":"a","to":"b","routes":[{"at_ns":2},{"at_ns":1}]}`), "is earlier than"},
	} {
		_, err := ReadTruth(strings.NewReader(test.text))
		if err == nil {
			t.Errorf("%s passed", test.text)
		} else if !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, which does not say %q", test.text, err, test.want)
		}
	}
}
