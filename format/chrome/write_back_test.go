package chrome

import (
	"slices"
	"testing"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/trace"
)

// TestReaderBringsBackWhatWasWritten reads a file back: times to the nanosecond, names, slices with their lengths, fields
// and flows. What the format cannot say apart is expected as it says it: instants that are ends of messages are slices of
// no length with a flow's instant beside them, and numbered slices lie on their process.
func TestReaderBringsBackWhatWasWritten(t *testing.T) {
	s := twoHosts()
	var w trace.Warnings
	f, err := Read(s.save(t), &w)
	if err != nil {
		t.Fatal(err)
	}
	if lines := w.Lines(); len(lines) > 0 {
		t.Error(lines)
	}
	type seen struct {
		at    clock.HostTime
		phase trace.Phase
		class string
	}
	var got, want []seen
	flows := map[trace.Role][]uint64{}
	source := f.Events()
	defer source.Close()
	fields := map[string]string{}
	for e := range eventtest.All(t, source) {
		class := &source.Classes()[e.Class]
		if e.Flow != 0 {
			flows[e.Role] = append(flows[e.Role], e.Flow)
			continue
		}
		got = append(got, seen{e.Time - storyStart, e.Phase, class.Name})
		for i, v := range source.Values() {
			if v.Kind != trace.None {
				fields[class.Name+"."+class.Fields[i].Name] = string(v.Append(nil, &class.Fields[i].Type))
			}
		}
	}
	for i := range s.Events {
		r := &s.Events[i]
		x := seen{clock.HostTime(r.Time - storyStart), r.Phase, s.Classes[r.Class].Name}
		switch {
		case x.phase == trace.End: // it is the slice's
			x.class = "request"
		case x.phase == trace.Counter && s.Streams[r.Stream].Kind != trace.Bounds:
			x.class = s.Streams[r.Stream].Name + " " + x.class
		case r.Flow != 0:
			want = append(want, seen{x.at, trace.Begin, x.class})
			x.phase = trace.End
		}
		want = append(want, x)
	}
	order := func(a, b seen) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return int(a.phase) - int(b.phase)
	}
	slices.SortStableFunc(got, order)
	slices.SortStableFunc(want, order)
	if !slices.Equal(got, want) {
		t.Errorf("read\n%v, not\n%v", got, want)
	}
	if len(flows[trace.Sends]) != 1 || !slices.Equal(flows[trace.Sends], flows[trace.Receives]) {
		t.Errorf("flows %v", flows)
	}
	for name, value := range map[string]string{
		"all.int": "-9223372036854775808", "all.uint": "18446744073709551615", "all.text": "tëxt", "all.state": "RUNNING",
		"packet.recorded_ns": "1700000000124456025", "clock bound.bound_ns": "7", "eth0 net.load": "0.25",
	} {
		if fields[name] != value {
			t.Errorf("%s is %s, not %s", name, fields[name], value)
		}
	}
	var streams []string
	for _, x := range source.Streams() {
		streams = append(streams, x.Name)
	}
	if !slices.Contains(streams, "web 1") {
		t.Errorf("rows %q", streams)
	}
}
