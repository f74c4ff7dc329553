package kernel_test

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"meridian/format/ctf"
	meaning "meridian/internal/kernel"
	"meridian/internal/netlab"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

func TestATraceOfTheEventsSaysTheSameOfPackets(t *testing.T) {
	lab := netlab.New(t)
	lab.Hosts("web", "db")
	lab.Link("web", "db")
	rec := record(t, kernel.Options{Groups: kernel.Net | kernel.Sched | kernel.IRQ | kernel.Syscalls, Command: "nobody", NetNS: netns(t, lab, "web")})
	lab.Run(netlab.Traffic{From: "web", To: "db", Chats: 1, Requests: 50, Datagrams: 20, Pings: 3}, netlab.Traffic{From: "web", To: "db", IPv6: true, Chats: 1, Requests: 50})
	s := rec.stop()

	legend := &trace.Schema{Hosts: []string{"web"}, Classes: s.classes}
	for _, row := range s.streams[:64] {
		row.Host = "web"
		legend.Streams = append(legend.Streams, row)
	}
	dir := filepath.Join(t.TempDir(), "trace")
	w, err := ctf.NewWriter(dir, legend, ctf.WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range s.events {
		e := &s.events[i]
		if err := w.Write(&trace.TimelineEvent{Event: e.Event, Time: e.Time, Low: e.Time, High: e.Time, Values: e.values}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}

	before, err := meaning.Packets(s, "web", "events", nil)
	if err != nil {
		t.Fatal(err)
	}
	var warnings trace.Warnings
	tr, err := ctf.Open(filepath.Join(dir, "web"), &warnings)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	after, err := meaning.Packets(tr.Events(), "web", "trace", &warnings)
	if err != nil {
		t.Fatal(err)
	}
	want, got := tally(before), tally(after)
	if len(want) < 200 || !reflect.DeepEqual(want, got) {
		t.Errorf("%d packets became %d, %s", len(want), len(got), fmt.Sprint(warnings.Lines()))
	}
}
