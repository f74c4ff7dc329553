package perfetto_test

import (
	"bytes"
	"fmt"

	"meridian/clock"
	"meridian/format/perfetto"
	"meridian/trace"
)

// A message from one host to another, which the viewer draws as an arrow.
func ExampleNewWriter() {
	schema := &trace.Schema{Hosts: []string{"web", "db"}, Classes: []trace.Class{{Name: "packet"}}}
	for _, host := range schema.Hosts {
		schema.Streams = append(schema.Streams, trace.Stream{Name: "eth0", Host: host, Kind: trace.Device, Parent: -1})
	}
	var file bytes.Buffer // most often an os.File named *.pftrace
	w, err := perfetto.NewWriter(&file, schema)
	if err != nil {
		panic(err)
	}
	for host, role := range []trace.Role{trace.Sends, trace.Receives} {
		t := clock.TimelineTime(1_700_000_000_000_000_000 + 50_000*host)
		e := trace.TimelineEvent{Time: t, Low: t - 400, High: t + 400, Bounded: true, Host: host}
		e.Event = trace.Event{Time: clock.HostTime(t), Stream: host, Flow: 1, Role: role}
		if err := w.Write(&e); err != nil {
			panic(err)
		}
	}
	fmt.Println(w.Close(), file.Len() > 0, w.Tally().Records, "events,", w.Tally().Inverted, "inverted")
	// Output: <nil> true 2 events, 0 inverted
}
