package show

import (
	"bytes"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/filetest"
)

func ptr[T any](v T) *T { return &v }

// twoComponents is a report with everything a table must cope with.
func twoComponents() *Report {
	return &Report{
		Reference: "gateway", Method: "envelope smoother", Assumption: "frequencies wander by at most 0.1 ppm per second",
		Hosts: []Host{
			{Name: "gateway", Component: 0, Reference: "gateway", Events: 1234567, OffsetNs: ptr(int64(0)), SkewPPM: ptr(0.0), BoundNs: ptr(int64(0))},
			{Name: "db", Component: 0, Reference: "gateway", Events: 999, OffsetNs: ptr(int64(-3600_000_000_001)), SkewPPM: ptr(-12.3456), BoundNs: ptr(int64(43210))},
			{Name: "künstlich", Component: 0, Reference: "gateway", Events: 10, OffsetNs: ptr(int64(87654)), SkewLowPPM: ptr(-120.0), SkewHighPPM: ptr(80.0)},
			{Name: "evil\x1b[31m\nname", Component: 1, Reference: "evil\x1b[31m\nname", Events: 3, OffsetNs: ptr(int64(0)), SkewPPM: ptr(0.0), BoundNs: ptr(int64(0))},
			{Name: "alone", Component: 2, Reference: "alone"},
		},
		Pairs: []Pair{
			{A: "gateway", B: "db", MessagesAB: 100000, MessagesBA: 99990, MinRTTNs: ptr(int64(123456)), Fit: "exact", OffsetNs: ptr(int64(3600_000_000_001)), SkewPPM: ptr(0.00123), BoundNs: ptr(int64(999_960)),
				Regression: []Line{{OriginNs: 1_000_000, Exchanges: 1234, ResidualNs: ptr(3290.0), OffsetNs: 3600_000_000_001, OffsetErrorNs: ptr(93.6), SkewPPM: 0.00123, SkewErrorPPM: ptr(0.00027)}}},
			{A: "db", B: "künstlich", MessagesAB: 5, Fit: "one-way", SkewLowPPM: ptr(-3.5)},
		},
		Quality: Quality{Messages: 199995, Inversions: 12, InversionsBeyondGranularity: 2, TooFast: 1, OutsideEvents: 2, OutsideNs: 308_000,
			BoundNs: BoundRange{Best: ptr(int64(0)), Mean: ptr(int64(21000))}},
	}
}

func TestTableSaysHowSureEachNumberIs(t *testing.T) {
	for name, r := range map[string]*Report{
		"two-components": twoComponents(),
		"empty":          {},
	} {
		var got bytes.Buffer
		if err := r.Table(&got); err != nil {
			t.Fatal(err)
		}
		filetest.Golden(t, filepath.Join("testdata", name+".table"), got.String())
	}
}

func TestNumbersKeepFourDigitsAndOffsetsAllOfThem(t *testing.T) {
	for ns, want := range map[int64]string{
		0: "0 ns", 999: "999 ns", 1000: "1.000 µs", 12345: "12.35 µs", 999_949: "999.9 µs", 999_960: "1.000 ms",
		-1500: "-1.500 µs", 1_234_567_890: "1.235 s", 9_999_600_000: "10.00 s", 86400_000_000_000: "86400 s",
	} {
		if got := duration(ns); got != want {
			t.Errorf("duration(%d) = %q, want %q", ns, got, want)
		}
	}
	for ns, want := range map[int64]string{
		0: "0 ns", 5: "+5 ns", -5: "-5 ns", 12345: "+12.35 µs", 1_000_000_001: "+1.000000001 s",
		-1_000_000_001: "-1.000000001 s", -1 << 63: "-9223372036.854775808 s",
	} {
		if got := offset(ns); got != want {
			t.Errorf("offset(%d) = %q, want %q", ns, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1 000", -1000: "-1 000", -100: "-100", 1234567: "1 234 567"} {
		if got := count(n); strings.ReplaceAll(got, "\u202f", " ") != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestTheErrorOfTheTableIsTheMedianOverHostsThatHaveOne(t *testing.T) {
	sd := func(values ...float64) (list []Error) {
		for i, v := range values {
			list = append(list, Error{HostNs: clock.HostTime(i), SDNs: v})
		}
		return list
	}
	r := &Report{Hosts: []Host{{Error: nil}, {Error: sd(200, 1, 9000)}, {Error: sd(10)}, {Error: sd(math.NaN(), 500, 500)}}}
	var out strings.Builder
	r.summary(&out)
	if want := "estimated error (2 sd): 400 ns beside half"; !strings.Contains(out.String(), want) {
		t.Errorf("no %q in %s", want, out.String())
	}
	for i := range r.Hosts {
		r.Hosts[i].Error = nil
	}
	out.Reset()
	r.summary(&out)
	if strings.Contains(out.String(), "estimated error") {
		t.Errorf("nothing was estimated: %s", out.String())
	}
}

func TestRepairsAreSaidEvenWhereThereWereNone(t *testing.T) {
	r := &Report{Repair: &Repair{Method: "clc\x1b"}}
	var out strings.Builder
	r.summary(&out)
	if want := "0 inversions repaired by clc\uFFFD, moving no event by more than 0 ns\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("no %q in %s", want, out.String())
	}
}

func TestInversionsThatARepairLeavesAreSaid(t *testing.T) {
	r := &Report{Repair: &Repair{Method: "clc", Inversions: 23, LargestNs: 2_454_538, Remaining: 18, RemainingNs: 1_748_340}}
	var out strings.Builder
	r.summary(&out)
	if want := "23 inversions repaired by clc, moving no event by more than 2.455 ms; 18 not, by up to 1.748 ms\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("no %q in %s", want, out.String())
	}
}

func TestStepsAndChangedRoutesAreSaidBeforeTheBounds(t *testing.T) {
	const at = 1_767_225_600e9 // 2026-01-01
	r := &Report{Assumption: "clocks are clocks",
		Steps: []Step{{Host: "web\x1b", AtNs: at + 480_500_000_400, ByNs: 1e9}},
		Routes: []Route{{From: "web", To: "db", AtNs: at + 480_500_000_000, ByNs: 20_000},
			{From: "db", To: "web", AtNs: 12_345_678_901, ByNs: -999}}}
	var out strings.Builder
	r.summary(&out)
	want := `web` + "\uFFFD" + `'s clock was set by +1.000 s at 2026-01-01 00:08:00.5 of its own time
the least delay from web to db changed by +20.00 µs at 2026-01-01 00:08:00.5 of db's clock
the least delay from db to web changed by -999 ns at 12.345679 s of web's clock
bounds hold if: clocks are clocks
`
	if !strings.HasSuffix(out.String(), "\n"+want) {
		t.Errorf("%s\nwant:\n%s", out.String(), want)
	}
	for range 5 {
		r.Steps, r.Routes = append(r.Steps, r.Steps[0]), append(r.Routes, r.Routes[0])
	}
	out.Reset()
	r.summary(&out)
	for what, n := range map[string]int{"was set by": 5, "and 1 more step of clocks\n": 1, "changed by": 5, "and 2 more changes of least delays\n": 1} {
		if got := strings.Count(out.String(), what); got != n {
			t.Errorf("%q %d times, want %d, in %s", what, got, n, out.String())
		}
	}
}

func TestInstantsAreDatesWhereTheyCanBe(t *testing.T) {
	for ns, want := range map[clock.HostTime]string{
		0: "0 s", 1: "0 s", -1: "0 s", 1_500: "0.000002 s", -2_500_000_000: "-2.5 s", 100_000_000_000: "100 s",
		946_684_799_999_999_000: "946684799.999999 s", 946_684_800_000_000_000: "2000-01-01 00:00:00",
		1_767_225_599_999_999_999: "2026-01-01 00:00:00", 1_767_225_600_123_456_789: "2026-01-01 00:00:00.123457",
		1<<63 - 1: "2262-04-11 23:47:16.854776", -1 << 63: "-9223372036.854776 s",
	} {
		if got := instant(ns); got != want {
			t.Errorf("instant(%d) = %q, want %q", ns, got, want)
		}
	}
}

func TestSkewsThatAreNotDeterminedHaveTheBoundsThatSaySomething(t *testing.T) {
	for _, c := range []struct {
		low, high *float64
		want      string
	}{
		{ptr(-896.9), ptr(824.9), "undetermined (-896.9…+824.9 ppm)"},
		{ptr(-1e5), ptr(1e5), "undetermined (-100000…+100000 ppm)"},
		{ptr(-966277721.0), ptr(964277721.0), "undetermined"},
		{ptr(-966277721.0), ptr(824.9), "undetermined (at most +824.9 ppm)"},
		{ptr(-896.9), ptr(1e5 + 1), "undetermined (at least -896.9 ppm)"},
		{nil, nil, "undetermined"},
	} {
		if got := skew(nil, c.low, c.high); got != c.want {
			t.Errorf("%q, not %q", got, c.want)
		}
	}
}
