package gnuplot

import (
	"bytes"
	"fmt"
	"image"
	_ "image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/eventtest"
	"meridian/internal/testneed"
	"meridian/internal/testseed"
	"meridian/trace"
)

var _ trace.Sink = (*Writer)(nil)

func same(s string) string { return s }

func write(t eventtest.Fataler, l *trace.Schema, records []trace.TimelineEvent, o Options) string {
	var out bytes.Buffer
	w, err := NewWriter(&out, l, o)
	eventtest.Write(t, w, err, records)
	return out.String()
}

// gnuplot runs a script in a directory of its own and returns the picture, after it found that gnuplot had nothing to
// say and left no other file.
func gnuplot(t *testing.T, script, terminal string) []byte {
	t.Helper()
	program := testneed.Program(t, "gnuplot")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "t.plot"), []byte(script), 0o644); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(program, "-e", "set terminal "+terminal+"; set output 'picture'", "t.plot")
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Fatalf("gnuplot: %v\n%.2000s", err, out)
	}
	files, _ := filepath.Glob(filepath.Join(dir, "*"))
	if len(files) != 2 {
		t.Fatalf("files: %v", files)
	}
	picture, err := os.ReadFile(filepath.Join(dir, "picture"))
	if err != nil {
		t.Fatal(err)
	}
	if keep := os.Getenv("MERIDIAN_PICTURES"); keep != "" {
		os.WriteFile(filepath.Join(keep, strings.ReplaceAll(t.Name(), "/", "-")), picture, 0o644)
	}
	return picture
}

// ink is the share of a picture that is not its ground.
func ink(t *testing.T, picture []byte) float64 {
	t.Helper()
	img, _, err := image.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	b := img.Bounds()
	n := 0
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if r, g, u, _ := img.At(x, y).RGBA(); r+g+u < 3*0xf000 {
				n++
			}
		}
	}
	return float64(n) / float64(b.Dx()*b.Dy())
}

func TestGnuplotDrawsTheTimeline(t *testing.T) {
	l, records := scene(9, same)
	script := write(t, l, records, Options{})
	picture := gnuplot(t, script, "pngcairo size 1400,500")
	if share := ink(t, picture); share < 0.05 || share > 0.6 {
		t.Errorf("%.3f of the picture is drawn", share)
	}
	for _, want := range []string{"18 messages, 1 received before sent", "$inversions << EOD", "'web  CPU 0' 0", "'web  worker 7' 1", "'db  worker 7' 5"} {
		if !strings.Contains(script, want) {
			t.Errorf("no %q in the script", want)
		}
	}
}

func TestNamesRunNothingAndBreakNothing(t *testing.T) {
	for i, name := range []string{"it's `touch owned`", "\"`touch owned`\"", "a\nsystem('touch owned')\n#", "a'; system('touch owned'); b'", "x\\", "EOD",
		"@macro @GPVAL_VERSION", "a^b_{c}%d %s", "$data << EOD", "\xff\x00\x1b[31m", "!touch owned", "'", "''", "", "{/=200 large}", "&~%"} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			l, records := scene(2, func(s string) string { return name })
			for k := range l.Hosts {
				l.Hosts[k] = strings.Repeat(name, k+1)
				l.Streams[2*k].Host, l.Streams[2*k+1].Host = l.Hosts[k], l.Hosts[k]
			}
			out := string(gnuplot(t, write(t, l, records, Options{}), "svg"))
			// The names are in the picture as they are, as far as they are printable and the label is long.
			if i == 7 && strings.Count(out, "a^b_{c}%d %s") < 12 {
				t.Error("the name is not in the picture as it is")
			}
			if !strings.HasSuffix(strings.TrimSpace(out), "</svg>") {
				t.Error("the picture is not whole")
			}
		})
	}
}

func TestEmptyTimelinesAreDrawnToo(t *testing.T) {
	gnuplot(t, write(t, &trace.Schema{}, nil, Options{}), "svg")
	gnuplot(t, write(t, &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Host: "a"}}, Classes: []trace.Class{{}}}, make([]trace.TimelineEvent, 3), Options{}), "svg")
	one := []trace.TimelineEvent{{Time: -5}}
	gnuplot(t, write(t, &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Host: "a", Name: "x"}}, Classes: []trace.Class{{}}}, one, Options{}), "svg")
}

func TestManyEventsAreThinnedAndTheTitleSaysSo(t *testing.T) {
	l, records := scene(4_000, same)
	script := write(t, l, records, Options{Events: 3_000})
	lines := strings.Count(script, "\n")
	if lines > 4_000 || lines < 1_000 {
		t.Errorf("%d lines", lines)
	}
	if !strings.Contains(script, fmt.Sprintf("%d events, 8000 messages, 1 received before sent; what is nearer than 0.0", len(records))) || !strings.Contains(script, "arrows drawn") {
		t.Errorf("the title is %.300s", script[strings.Index(script, "set title"):])
	}
	if !strings.Contains(script, "$inversions << EOD") {
		t.Error("thinning hid the inversion")
	}
	gnuplot(t, script, "pngcairo size 1400,500")
}

func TestThinningLeavesNoRowAndNoBusyTimeOut(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		gaps := rapid.SliceOfN(rapid.Int64Range(0, 1000), 2, 200).Draw(t, "gaps")
		quantum := rapid.Int64Range(1, 3000).Draw(t, "quantum")
		var all []slice
		var at, first, last int64
		for i, g := range gaps {
			if at += g; i%2 == 0 {
				first = at
			} else {
				last = at
				all = append(all, slice{start: clock.TimelineTime(first), end: clock.TimelineTime(last), busy: last - first})
			}
		}
		before := append([]slice(nil), all...)
		after := mergedSlices(all, quantum)
		for _, s := range before { // each is covered
			ok := false
			for _, k := range after {
				ok = ok || k.start <= s.start && s.end <= k.end
			}
			if !ok {
				t.Fatalf("%v is lost in %v", s, after)
			}
		}
		busy := int64(0)
		for i, k := range after {
			if busy += k.busy; k.busy > int64(k.end-k.start) {
				t.Fatalf("slice %d is busy for longer than it is", i)
			}
		}
		for _, s := range before {
			busy -= s.busy
		}
		if busy != 0 {
			t.Fatalf("%d ns of busy time too many", busy)
		}
		for i, k := range after { // nothing grew where there was a gap of a quantum
			for j := 1; j < len(before); j++ {
				if int64(before[j].start-before[j-1].end) >= quantum && k.start < before[j-1].end && k.end > before[j].start {
					t.Fatalf("slice %d hides a gap", i)
				}
			}
		}
	})
}

func TestTheQuietestRowsOfAHostShareOne(t *testing.T) {
	l := &trace.Schema{Hosts: []string{"a"}, Classes: []trace.Class{{Name: "tick"}}}
	var records []trace.TimelineEvent
	for i := range 100 {
		l.Streams = append(l.Streams, trace.Stream{Name: fmt.Sprint("thread ", i), Host: "a", Kind: trace.Thread, ID: int64(i)})
		for k := range i%7 + 1 {
			records = append(records, trace.TimelineEvent{Event: trace.Event{Stream: i}, Time: clock.TimelineTime(i*10 + k)})
		}
	}
	script := write(t, l, records, Options{Rows: 10})
	if n := strings.Count(script, "set ytics add"); n != 11 || !strings.Contains(script, "'a  other rows' 10") {
		t.Errorf("%d rows", n)
	}
}

func BenchmarkWrite(b *testing.B) {
	l, records := scene(10_000, same)
	w, _ := NewWriter(&bytes.Buffer{}, l, Options{})
	i := 0
	for b.Loop() {
		r := &records[i%len(records)]
		r.Time += clock.TimelineTime(int64(i/len(records)) * 1e10)
		w.Write(r)
		i++
	}
}

func TestAWriterWithoutASchemaIsRefused(t *testing.T) {
	eventtest.RefusesNilSchema(t, "gnuplot", func(w io.Writer, s *trace.Schema) (trace.Sink, error) { return NewWriter(w, s, Options{}) })
}

func TestUnknownIndicesAndWritesAfterCloseAreRefused(t *testing.T) {
	eventtest.RefusesUnknownIndices(t, func(w io.Writer, s *trace.Schema) (trace.Sink, error) { return NewWriter(w, s, Options{}) })
}
