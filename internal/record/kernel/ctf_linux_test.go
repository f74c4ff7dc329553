package kernel_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"meridian/clock"
	"meridian/format/ctf"
	meaning "meridian/internal/kernel"
	"meridian/internal/netlab"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

func TestATraceOfTheEventsSaysTheSameOfPackets(t *testing.T) {
	lab := netlab.TwoHosts(t)
	rec := record(t, kernel.Options{Groups: kernel.Net | kernel.Sched | kernel.IRQ | kernel.Syscalls, Command: "nobody", NetNS: netns(t, lab, "web")})
	lab.Run(netlab.Traffic{From: "web", To: "db", Chats: 1, Requests: 50, Datagrams: 20, Pings: 3}, netlab.Traffic{From: "web", To: "db", IPv6: true, Chats: 1, Requests: 50})
	events, s := rec.Stop(), rec.Source(nil)

	schema := &trace.Schema{Hosts: []string{"web"}, Classes: s.Classes()}
	for _, row := range s.Streams()[:64] {
		row.Host = "web"
		schema.Streams = append(schema.Streams, row)
	}
	dir := filepath.Join(t.TempDir(), "trace")
	w, err := ctf.NewWriter(dir, schema, ctf.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range events {
		e := &events[i]
		at := clock.HostTime(e.Stamp)
		r := &trace.TimelineEvent{Event: trace.Event{Time: at, Stream: e.CPU, Class: e.Class}, Time: clock.TimelineTime(at), Low: clock.TimelineTime(at), High: clock.TimelineTime(at), Values: e.Values}
		if err := w.Write(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	before, err := meaning.Packets(s, "web", "events", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	var warnings trace.Warnings
	tr, err := ctf.Open(filepath.Join(dir, "web"), &warnings)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	after, err := meaning.Packets(tr.Events(), "web", "trace", nil, &warnings)
	if err != nil {
		t.Fatal(err)
	}
	want, got := tally(before), tally(after)
	if len(want) < 200 || !reflect.DeepEqual(want, got) {
		t.Errorf("%d packets became %d, %s", len(want), len(got), fmt.Sprint(warnings.Lines()))
	}
}
