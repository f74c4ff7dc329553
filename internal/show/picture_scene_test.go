package show

import (
	"bytes"
	"fmt"
	"math/rand/v2"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/trace"
)

const sceneStart = 1_763_732_327_000_000_000

// pictureScene is hosts that ask each other, with nested slices, ticks, a counter, bounds, and one message that arrives
// before it was sent.
func pictureScene(hosts, n int, name func(string) string) (*trace.Schema, []trace.TimelineEvent) {
	l := &trace.Schema{Title: name("checkout, Friday evening"), Method: name("envelope smoother"), Assumption: name("bounded wander, 1 ppm in 10 s")}
	for h := range hosts {
		host := name(fmt.Sprintf("%s-%d", []string{"web", "app", "db"}[h%3], h))
		l.Hosts = append(l.Hosts, host)
		for i, s := range []string{"worker 7", "CPU 0", "memory"} {
			kind := []trace.StreamKind{trace.Thread, trace.CPU, trace.OtherStream}[i]
			l.Streams = append(l.Streams, trace.Stream{Name: name(s), Host: host, Kind: kind, ID: int64(i), Parent: -1})
		}
	}
	for _, c := range []string{"request", "parse", "query", "irq", "wakeup", "memory"} {
		l.Classes = append(l.Classes, trace.Class{Name: name(c)})
	}
	r := rand.New(rand.NewPCG(1, 2))
	var all []trace.TimelineEvent
	at := clock.TimelineTime(sceneStart)
	add := func(ns int64, host, stream, class int, p trace.Phase, flow uint64, role trace.Role, v ...trace.Value) {
		width := clock.TimelineTime(6_000 + 5_000*((host*7+len(all)/13)%5))
		all = append(all, trace.TimelineEvent{Host: host, Bounded: true, Low: at + clock.TimelineTime(ns) - width, High: at + clock.TimelineTime(ns) + width, Values: v,
			Event: trace.Event{Stream: host*3 + stream, Class: class, Phase: p, Flow: flow, Role: role}, Time: at + clock.TimelineTime(ns)})
	}
	for i := range n {
		f := uint64(2*i + 2)
		a, b := i%hosts, (i+1)%hosts
		d := int64(60_000 + r.IntN(60_000))
		work := int64(200_000 + r.IntN(300_000))
		add(0, a, 0, 0, trace.Begin, 0, 0)
		add(20_000, a, 0, 1, trace.Begin, 0, 0)
		add(80_000, a, 0, 1, trace.End, 0, 0)
		add(100_000, a, 0, 0, trace.Instant, f, trace.Sends)
		arrival := 100_000 + d
		if i == n/2 {
			arrival = 80_000
		}
		add(arrival, b, 0, 2, trace.Begin, f, trace.Receives)
		for k := range 4 {
			add(arrival+int64(k*k)*8_000, b, 1, 4, trace.Instant, 0, 0)
		}
		add(arrival+work/3, b, 1, 3, trace.Begin, 0, 0)
		add(arrival+work/2, b, 1, 3, trace.End, 0, 0)
		add(arrival+work/2, b, 2, 5, trace.Counter, 0, 0, trace.OfInt(int64(r.IntN(100))))
		add(arrival+work, b, 0, 2, trace.End, f+1, trace.Sends)
		add(arrival+work+d, a, 0, 0, trace.End, f+1, trace.Receives)
		at += clock.TimelineTime(arrival + work + d + 50_000)
	}
	return l, all
}

// spanOf is the interval of records.
func spanOf(records []trace.TimelineEvent) (first, last clock.TimelineTime) {
	if len(records) == 0 {
		return 0, 0
	}
	first, last = records[0].Time, records[0].Time
	for i := range records {
		first, last = min(first, records[i].Time), max(last, records[i].Time)
	}
	return first, last
}

// drawn makes a picture of records.
func drawn(t interface{ Fatal(...any) }, l *trace.Schema, records []trace.TimelineEvent, o PictureOptions) []byte {
	if o.First == 0 && o.Last == 0 {
		o.First, o.Last = spanOf(records)
	}
	var out bytes.Buffer
	p, err := NewPicture(&out, l, o)
	eventtest.Write(t, p, err, records)
	return out.Bytes()
}

func asIs(s string) string { return s }
