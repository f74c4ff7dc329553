package main

import (
	"context"
	"fmt"
	"time"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/trace"
)

const (
	processors = 4  // of each host
	threads    = 40 // of each host, beside the idle ones
	// everySwitch is how long a processor runs a thread, ns.
	everySwitch = 20_000
)

// statesOf sums up the states of threads of a timeline of so many events of kernels, all of them and with a choice of rows. The first question reads the
// events; of the others each is a median.
func statesOf(events, hosts int) (missed []string, err error) {
	if events == 0 {
		return nil, nil
	}
	b, err := index.NewBuilder(switchSchema(hosts), index.Options{})
	if err != nil {
		return nil, err
	}
	defer b.Discard()
	if err := writeSwitches(b, events, hosts); err != nil {
		return nil, err
	}
	if err := b.Close(); err != nil {
		return nil, err
	}
	x, err := b.Index()
	if err != nil {
		return nil, err
	}
	t, err := opened(x)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	span := x.About().Span
	ask := func(from, to int64, wanted func(row int) bool) func() error {
		return func() error {
			s, err := t.States(context.Background(), from, to, wanted)
			if err == nil && len(s.States) == 0 {
				err = fmt.Errorf("no states of threads: %s", s.None)
			}
			return err
		}
	}
	all := func(int) bool { return true }
	begun := time.Now()
	if err := ask(0, span+1, all)(); err != nil {
		return nil, err
	}
	fmt.Printf("states of threads of %d events: the first question, which reads them, %v\n", events, time.Since(begun).Round(time.Millisecond))
	for _, q := range []struct {
		name string
		ask  func() error
	}{
		{"all", ask(0, span+1, all)},
		{"every third row", ask(0, span+1, everyThird)},
		{"the middle half", ask(span/4, span*3/4, all)},
	} {
		worked := processorTime()
		took, err := medianOf(q.ask)
		if err != nil {
			return nil, err
		}
		fmt.Printf("states of %-29s %21v (CPU: %v on average)\n", q.name, took.Round(time.Millisecond), ((processorTime() - worked) / askedTimes).Round(time.Millisecond))
		if took > numbersBar {
			missed = append(missed, fmt.Sprintf("the states of threads of %s take %v, bar %v", q.name, took, numbersBar))
		}
	}
	return missed, nil
}

// everyThird chooses rows.
func everyThird(row int) bool { return row%3 == 0 }

func switchSchema(hosts int) *trace.Schema {
	l := &trace.Schema{Title: "switches", Method: "made up", Assumption: "none"}
	for _, c := range [][]string{{"sched_switch", "cpu_id", "prev_tid", "next_tid", "prev_state"}, {"sched_waking", "cpu_id", "tid", "waker_tid", "waker_context"}} {
		class := trace.Class{Name: c[0], Category: "sched"}
		for _, f := range c[1:] {
			class.Fields = append(class.Fields, trace.Field{Name: f, Type: trace.Type{Kind: trace.Uint, Bits: 64}})
		}
		l.Classes = append(l.Classes, class)
	}
	for h := range hosts {
		l.Hosts = append(l.Hosts, fmt.Sprintf("host %d", h))
		m := clock.Identity()
		l.Maps = append(l.Maps, trace.HostMap{Host: h, Map: &m})
		for i := range threads {
			l.Streams = append(l.Streams, trace.Stream{Name: fmt.Sprintf("worker %d", i), Host: l.Hosts[h], Kind: trace.Thread, ID: int64(1 + i), Parent: -1})
		}
	}
	return l
}

// writeSwitches lets each processor run its threads by turns: each waits until the one before it wakes it, or was preempted.
func writeSwitches(b *index.Builder, events, hosts int) error {
	const waking = 1
	own := threads / processors
	for n, at := 0, int64(1_700_000_000_000_000_000); n < events; at += everySwitch / int64(hosts*processors) {
		turn := int(at / everySwitch)
		host, cpu := n/2%hosts, n/2/hosts%processors
		of := func(i int) int { return cpu*own + i%own }
		from, to := of(turn), of(turn+1)
		put := func(class, row int, values ...uint64) error {
			e := trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at + int64(class)), Stream: host*threads + row, Class: class}, Time: clock.TimelineTime(at + int64(class)), Host: host, Map: host}
			for _, v := range values {
				e.Values = append(e.Values, trace.OfUint(v))
			}
			n++
			return b.Write(&e)
		}
		left := uint64(1) // it sleeps
		if turn%5 == 0 {
			left = 0 // it was preempted
		}
		if err := put(0, from, uint64(cpu), uint64(1+from), uint64(1+to), left); err != nil {
			return err
		}
		if err := put(waking, to, uint64(cpu), uint64(1+of(turn+2)), uint64(1+to), 1); err != nil {
			return err
		}
	}
	return nil
}
