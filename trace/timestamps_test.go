package trace

import (
	"slices"
	"testing"

	"meridian/clock"
)

const (
	today  = clock.HostTime(1_790_000_000_000_000_000)
	second = clock.HostTime(1_000_000_000)
)

// checked returns a capture of some timestamps after its check.
func checked(stamps []clock.HostTime, untimed ...int) (c *Capture, absurd int) {
	c = &Capture{}
	var x TimestampCheck
	for i, t := range stamps {
		p := c.Packets.Append()
		p.Kind, p.Time = Datagram, t
		if slices.Contains(untimed, i) {
			p.Kind = Untimed
		}
		x.Add(p)
	}
	return c, x.Settle(c)
}

func everySecond(n int, from clock.HostTime) (stamps []clock.HostTime) {
	for i := range n {
		stamps = append(stamps, from+clock.HostTime(i)*second)
	}
	return stamps
}

func with(stamps []clock.HostTime, t clock.HostTime, numbers ...int) []clock.HostTime {
	for _, i := range numbers {
		stamps[i] = t
	}
	return stamps
}

// with37 moves a twentieth of the timestamps to a clock that is 37 s ahead.
func with37(stamps []clock.HostTime) []clock.HostTime {
	for i := 10; i < len(stamps); i += 20 {
		stamps[i] += 37 * second
	}
	return stamps
}

func numbers(from, to int) (all []int) {
	for i := from; i < to; i++ {
		all = append(all, i)
	}
	return all
}

func TestTimestampsFarFromAllOthersAreNone(t *testing.T) {
	const hour, year = 3600 * second, 365 * 24 * 3600 * second
	alternating := everySecond(100, today)
	for i := range alternating {
		if i%2 == 1 {
			alternating[i] -= today // a counter that began at zero
		}
	}
	for name, c := range map[string]struct {
		stamps []clock.HostTime
		want   []int // the untimed packets
	}{
		"none of a sound capture":                {everySecond(100, today), nil},
		"none of a capture that begins at zero":  {everySecond(100, 0), nil},
		"none of two clocks, one since 1970":     {alternating, nil},
		"none before and after a long silence":   {append(everySecond(50, today), everySecond(50, today+20*year)...), nil},
		"none of a clock that was set back":      {append(everySecond(50, today), everySecond(50, today-5*hour)...), nil},
		"none before a silence of two hours":     {append([]clock.HostTime{today - 2*hour}, everySecond(50, today)...), nil},
		"none amid a silence of four hours":      {append(append(everySecond(20, today), today+2*hour), everySecond(20, today+4*hour)...), nil},
		"none behind a silence of two hours":     {append(everySecond(50, today), today+2*hour), nil},
		"none of a few packets":                  {with(everySecond(3, today), today+second, 1), nil},
		"zero, first":                            {with(everySecond(100, today), 0, 0), []int{0}},
		"zero, last":                             {with(everySecond(100, today), 0, 99), []int{99}},
		"zeros among others":                     {with(everySecond(100, today), 0, 3, 50, 51, 99), []int{3, 50, 51, 99}},
		"zeros in a row":                         {with(everySecond(100, today), 0, numbers(10, 40)...), numbers(10, 40)},
		"one two hours ahead":                    {with(everySecond(100, today), today+2*hour, 70), []int{70}},
		"one two hours behind":                   {with(everySecond(100, today), today-2*hour, 70), []int{70}},
		"four together":                          {with(everySecond(100, today), today+300*hour, 70, 71, 72, 73), []int{70, 71, 72, 73}},
		"none ahead by less than others differ":  {with(everySecond(100, today), today+72*second, 70), nil},
		"none of a few of a clock 37 s ahead":    {with37(everySecond(100, today)), nil},
		"all the same":                           {with(everySecond(16, today), today, numbers(0, 16)...), numbers(0, 16)},
		"fifteen the same may be of one instant": {with(everySecond(15, today), today, numbers(0, 15)...), nil},
	} {
		stamps := slices.Clone(c.stamps)
		x, absurd := checked(stamps)
		var got []int
		for i := range x.Packets.Len() {
			if x.Packets.At(i).Kind == Untimed {
				got = append(got, i)
			}
		}
		if !slices.Equal(got, c.want) || absurd != len(c.want) {
			t.Errorf("%s: %v (%d), want %v", name, got, absurd, c.want)
		}
	}
}

func TestUntimedPacketsHaveTheTimeOfTheOneBeforeOrTheFirstBehind(t *testing.T) {
	c, absurd := checked(with(everySecond(100, today), 0, 0, 1, 50), 2, 98)
	if absurd != 3 {
		t.Errorf("%d absurd", absurd)
	}
	want := []Retimed{{0, today + 3*second}, {1, today + 3*second}, {2, today + 3*second}, {50, today + 49*second}, {98, today + 97*second}}
	if !slices.Equal(c.Retimed, want) {
		t.Errorf("%v, want %v", c.Retimed, want)
	}
	for _, r := range want {
		if p := c.Packets.At(r.Number); p.Time != r.Time || p.Kind != Untimed {
			t.Errorf("packet %d: %+v", r.Number, p)
		}
	}
	c, absurd = checked([]clock.HostTime{today, today}, 0, 1)
	if absurd != 0 || c.Retimed != nil || c.Packets.At(0).Time != today {
		t.Errorf("of none that has a timestamp: %d, %v", absurd, c.Retimed)
	}
}
