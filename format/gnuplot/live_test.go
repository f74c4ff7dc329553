package gnuplot

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"meridian/clock"
	"meridian/trace"
)

const (
	origin = clock.TimelineTime(1_700_000_000_000_000_000)
	second = clock.TimelineTime(time.Second)
)

func live(t *testing.T, o LiveOptions) (*Live, *bytes.Buffer) {
	t.Helper()
	s := &trace.Schema{Title: "live", Hosts: []string{"web"}, Streams: []trace.Stream{{Host: "web", Name: "row", Kind: trace.Thread}},
		Classes: []trace.Class{{Name: "call"}, {Name: "instant"}}}
	var out bytes.Buffer
	l, err := NewLive(&out, s, o)
	if err != nil {
		t.Fatal(err)
	}
	return l, &out
}

func put(t *testing.T, l *Live, at clock.TimelineTime, class int, phase trace.Phase) {
	t.Helper()
	if err := l.Write(&trace.TimelineEvent{Event: trace.Event{Class: class, Phase: phase}, Time: origin + at, Map: -1}); err != nil {
		t.Fatal(err)
	}
}

// pictures advances to an instant, and returns the scripts that this wrote.
func pictures(t *testing.T, l *Live, out *bytes.Buffer, now clock.TimelineTime) []string {
	t.Helper()
	out.Reset()
	if err := l.Advance(origin + now); err != nil {
		t.Fatal(err)
	}
	return strings.Split(out.String(), "reset\n")[1:]
}

// block returns the lines of a data block.
func block(script, name string) []string {
	_, data, ok := strings.Cut(script, name+" << EOD\n")
	if !ok {
		return nil
	}
	data, _, _ = strings.Cut(data, "\nEOD")
	return strings.Split(data, "\n")
}

func TestLivePicturesShowTheWindowBeforeNowEachSecond(t *testing.T) {
	l, out := live(t, LiveOptions{Window: 2 * time.Second})
	if got := pictures(t, l, out, 0); len(got) != 0 {
		t.Fatalf("a picture of nothing: %q", got)
	}
	put(t, l, 0, 0, trace.Begin)
	put(t, l, second/2, 1, trace.Instant)
	first := pictures(t, l, out, second)
	if len(first) != 1 || !strings.Contains(first[0], "set xrange [0:2]") {
		t.Fatalf("%d pictures: %q", len(first), first)
	}
	// The window begins a second before the origin. The call goes on up to now.
	if got := block(first[0], "$slices0"); len(got) != 1 || !strings.HasPrefix(got[0], "1 0 1 2 ") {
		t.Errorf("slices %q", got)
	}
	if got := block(first[0], "$ticks"); len(got) != 1 || !strings.HasPrefix(got[0], "1.5 ") {
		t.Errorf("ticks %q", got)
	}
	if got := pictures(t, l, out, second+second/2); len(got) != 0 {
		t.Errorf("a picture half a second later: %q", got)
	}
	put(t, l, 2*second, 0, trace.End)
	later := pictures(t, l, out, 3*second)
	if got := block(later[0], "$slices0"); len(got) != 1 || !strings.HasPrefix(got[0], "0 0 0 1 ") {
		t.Errorf("a slice that began before the window is %q", got)
	}
	if got := block(later[0], "$ticks"); got != nil {
		t.Errorf("ticks that left the window are drawn: %q", got)
	}
	empty := pictures(t, l, out, 9*second)
	if len(empty) != 1 || block(empty[0], "$slices0") != nil {
		t.Errorf("what is long over is drawn: %q", empty)
	}
}

func TestLiveKeepsNoMoreThanTheWindow(t *testing.T) {
	l, out := live(t, LiveOptions{Window: time.Second, Events: 1000})
	for i := range clock.TimelineTime(200_000) {
		at := i * second / 10_000
		put(t, l, at, 0, trace.Begin)
		put(t, l, at+1000, 0, trace.End)
		if i%1000 == 0 {
			_ = pictures(t, l, out, at)
		}
		if n := len(l.rows[0].slices); n > 1500 {
			t.Fatalf("%d slices are kept for pictures of 1000", n)
		}
	}
	if last := pictures(t, l, out, 21*second); len(last) != 1 || len(block(last[0], "$slices0")) > 1000 {
		t.Errorf("a picture of %d slices", len(block(last[0], "$slices0")))
	}
}

// A running gnuplot draws one picture after the other.
func TestGnuplotDrawsEveryLivePicture(t *testing.T) {
	l, out := live(t, LiveOptions{Window: 2 * time.Second})
	var all strings.Builder
	for i := range clock.TimelineTime(5) {
		put(t, l, i*second, 0, trace.Begin)
		put(t, l, i*second+second/2, 0, trace.End)
		put(t, l, i*second+second/4, 1, trace.Instant) // late
		for _, p := range pictures(t, l, out, i*second+second/2) {
			all.WriteString("reset\n" + p)
		}
	}
	if n := strings.Count(all.String(), "reset\n"); n != 5 {
		t.Fatalf("%d pictures", n)
	}
	svg := gnuplot(t, all.String(), "svg size 800,300")
	if n := bytes.Count(svg, []byte("<svg")); n != 5 {
		t.Errorf("gnuplot drew %d pictures", n)
	}
}
