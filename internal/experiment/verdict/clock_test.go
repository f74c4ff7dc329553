//go:build unix

package verdict

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/experiment/file"
	"meridian/internal/experiment/schedule"
	"meridian/internal/show"
	"meridian/internal/testseed"
)

const clockText = "trace {\n};\n\nclock {\n\tname = monotonic;\n\tfreq = 1000000000;\n\toffset_s = %d;\n\toffset = %d;\n\tabsolute = true;\n};\n\nevent {\n\tname = x;\n};\n"

var clockFields = regexp.MustCompile(`freq = (\d+);\n\toffset_s = (-?\d+);\n\toffset = (-?\d+);`)

// shown is the instant of a count by a description, in ns, as CTF 1.8.3 (section 8) defines it.
func shown(t *rapid.T, metadata string, count int64) *big.Rat {
	m := clockFields.FindStringSubmatch(metadata)
	if m == nil {
		t.Fatalf("no clock in %s", metadata)
	}
	number := func(s string) *big.Rat {
		r, ok := new(big.Rat).SetString(s)
		if !ok {
			t.Fatalf("%q", s)
		}
		return r
	}
	cycles := new(big.Rat).Add(number(m[3]), new(big.Rat).SetInt64(count))
	ns := new(big.Rat).Quo(cycles.Mul(cycles, big.NewRat(second, 1)), number(m[1]))
	return ns.Add(ns, new(big.Rat).Mul(number(m[2]), big.NewRat(second, 1)))
}

// At each instant the wrong clock shows what the truth and the file say, to a nanosecond and what the rounding of its rate makes.
func TestAWrongClockIsAsWrongAsTheFileSays(t *testing.T) {
	t.Parallel()
	testseed.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(-1e9, 4e9).Draw(t, "offset_s")
		offset := rapid.Int64Range(-1e15, 1e15).Draw(t, "offset")
		boot := rapid.Int64Range(0, 1e17).Draw(t, "count at the start")
		later := rapid.Int64Range(-1e12, 1e13).Draw(t, "ns since")
		c := file.Clock{Ahead: time.Duration(rapid.Int64Range(-1e14, 1e14).Draw(t, "ahead")), Fast: float64(rapid.IntRange(-400, 400).Draw(t, "fast"))}
		began := seconds*second + offset + boot
		b, err := wrongClock(fmt.Appendf(nil, clockText, seconds, offset), c, began)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(b), "trace {\n};\n\nclock {\n\tname = monotonic;\n") || !strings.HasSuffix(string(b), "\tabsolute = true;\n};\n\nevent {\n\tname = x;\n};\n") {
			t.Fatalf("%s", b)
		}
		if strings.Contains(string(b), "offset = -") {
			t.Fatalf("babeltrace2 refuses a negative offset: %s", b)
		}
		want := new(big.Rat).SetInt64(began + int64(c.Ahead) + later)
		want.Add(want, new(big.Rat).Mul(big.NewRat(int64(c.Fast), 1e6), new(big.Rat).SetInt64(later)))
		off, _ := new(big.Rat).Sub(shown(t, string(b), boot+later), want).Float64()
		if limit := 2 + 1e-9*float64(max(later, -later)); off > limit || off < -limit {
			t.Fatalf("off by %v ns, at most %v", off, limit)
		}
	})
}

func TestAClockThatIsNotOursIsLeftAsItIs(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "clock {\n\tfreq = 1000;\n};\n", clockText[:80], strings.Repeat(fmt.Sprintf(clockText, 1, 2), 2)} {
		if b, err := wrongClock([]byte(text), file.Clock{Ahead: 1}, 0); err == nil {
			t.Errorf("%q became %q", text, b)
		}
	}
}

func TestAClockIsYesOnlyWhereTheBoundsAreWithin(t *testing.T) {
	t.Parallel()
	ms := int64(time.Millisecond)
	// ahead is the clock's lead at two instants, with half the width of the bounds; the second is 10 s after the first.
	aligned := func(first, firstWidth, then, thenWidth int64) []show.Host {
		h := show.Host{Name: "b", Reference: "a"}
		for i, x := range [][2]int64{{first, firstWidth}, {then, thenWidth}} {
			at := clock.TimelineTime(int64(i) * 10 * second)
			low, high := at-clock.TimelineTime(x[1]), at+clock.TimelineTime(x[1])
			h.Map = append(h.Map, show.Knot{HostNs: clock.HostTime(int64(at) + x[0]), TimelineNs: at, LowNs: &low, HighNs: &high})
		}
		return []show.Host{{Name: "a", Reference: "a"}, h}
	}
	ahead := file.Clock{Ahead: time.Second}
	// The estimate of such an instant may be far off, what the bounds say of it may not.
	estimate := aligned(0, ms/10, 4*ms, ms/10)
	estimate[1].Map[1].TimelineNs += clock.TimelineTime(50 * second)
	hoursLater := aligned(second, ms/10, second, ms/10)
	later := clock.TimelineTime(16_000 * second)
	hoursLater[1].Map = append(hoursLater[1].Map, show.Knot{HostNs: clock.HostTime(int64(later) + second - 80*ms), TimelineNs: later, LowNs: &later, HighNs: &later})
	for _, test := range []struct {
		name  string
		hosts []show.Host
		clock file.Clock
		want  Answer
		says  string
	}{
		{"as expected", aligned(second, ms/10, second, ms/10), ahead, Yes, "ahead of a"},
		{"sure at one instant", aligned(second, second, second, ms/10), ahead, Yes, "ahead of a"},
		{"near to the limit", aligned(second+ms*95/100, ms/10, second+ms*95/100, ms/10), ahead, Undecided, "the bounds allow"},
		{"wide", aligned(second, 5*ms, second, 6*ms), ahead, Undecided, "the bounds allow"},
		{"beyond", aligned(second+2*ms, ms/10, second+2*ms, ms/10), ahead, No, "more than expected"},
		{"beyond, surest at the first", aligned(second+3*ms, ms/10, second+3*ms, ms/2), ahead, No, "at 1970-01-01T00:00:00Z"},
		{"beyond, surest at the second", aligned(second+3*ms, ms/2, second+3*ms, ms/10), ahead, No, "at 1970-01-01T00:00:10Z"},
		{"beyond at one instant", aligned(second, ms/10, second+2*ms, ms/2), ahead, No, "more than expected"},
		{"behind", aligned(-second, ms/10, -second, ms/10), ahead, No, "more than expected"},
		{"fast", aligned(0, ms/10, 4*ms, ms/10), file.Clock{Fast: 400}, Yes, "ahead of a"},
		{"not fast", aligned(0, ms/10, 0, ms/10), file.Clock{Fast: 400}, No, "more than expected"},
		{"slow", aligned(0, ms/10, 4*ms, ms/10), file.Clock{Fast: -400}, No, "more than expected"},
		{"fast, with an estimate outside of the bounds", estimate, file.Clock{Fast: 400}, Yes, "ahead of a"},
		{"another component", []show.Host{{Name: "a", Reference: "a"}, {Name: "b", Reference: "b"}}, ahead, Undecided, "not aligned with that of a"},
		{"beyond hours after the run", hoursLater, ahead, Yes, "ahead of a"},
		{"without bounds", []show.Host{{Name: "a", Reference: "a"}, {Name: "b", Reference: "a", Map: []show.Knot{{}}}}, ahead, Undecided, "no bounds"},
		{"not there", nil, ahead, Undecided, "not aligned"},
	} {
		r := ran(t)
		r.Run.EndedNs = 11 * second
		r.Run.Hosts, r.aligned = []*schedule.Host{{Name: "a"}, {Name: "b"}}, test.hosts
		got := r.check(&file.Check{Kind: "clock", Host: "b", Clock: test.clock, Within: time.Millisecond}, nil)
		if got.Answer != test.want || !strings.Contains(got.Reason, test.says) {
			t.Errorf("%s: %s, %s; want %s, %s", test.name, got.Answer, got.Reason, test.want, test.says)
		}
	}
}
