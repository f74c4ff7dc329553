package show

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

var _ trace.Sink = (*Picture)(nil)

func decoded(t interface{ Fatal(...any) }, picture []byte) *image.RGBA {
	img, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	if whole, ok := img.(*image.RGBA); ok {
		return whole
	}
	b := img.Bounds()
	whole := image.NewRGBA(b)
	for y := range b.Dy() {
		for x := range b.Dx() {
			whole.Set(x, y, img.At(x, y))
		}
	}
	return whole
}

// near says whether a pixel has nearly a colour.
func near(img *image.RGBA, x, y int, c color.NRGBA) bool {
	p := img.RGBAAt(x, y)
	off := func(a, b uint8) float64 { return math.Abs(float64(a) - float64(b)) }
	return off(p.R, c.R)+off(p.G, c.G)+off(p.B, c.B) < 60
}

func pixelsOf(img *image.RGBA, c color.NRGBA) (n int) {
	for y := range img.Rect.Dy() {
		for x := range img.Rect.Dx() {
			if near(img, x, y, c) {
				n++
			}
		}
	}
	return n
}

func TestTimelinePicturesAreWholeWhateverTheNamesAndTheData(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		l, records := pictureScene(rapid.IntRange(1, 4).Draw(t, "hosts"), rapid.IntRange(0, 12).Draw(t, "n"), func(s string) string {
			return rapid.SampledFrom([]string{s, hostile, "", strings.Repeat("界", 300)}).Draw(t, "name")
		})
		for i := range records {
			r := &records[i]
			switch rapid.IntRange(0, 40).Draw(t, "damage") {
			case 0:
				r.Time = clock.TimelineTime(rapid.Int64().Draw(t, "time"))
			case 1:
				r.Low, r.High = clock.TimelineTime(rapid.Int64().Draw(t, "low")), clock.TimelineTime(rapid.Int64().Draw(t, "high"))
			case 2:
				r.Stream, r.Class, r.Host = rapid.IntRange(-2, 20).Draw(t, "stream"), rapid.IntRange(-2, 20).Draw(t, "class"), rapid.IntRange(-2, 20).Draw(t, "host")
			case 3:
				r.Phase, r.Slice = trace.Phase(rapid.IntRange(0, 5).Draw(t, "phase")), rapid.Uint64Range(0, 3).Draw(t, "slice")
			case 4:
				r.Phase, r.Values = trace.Counter, []trace.Value{trace.OfFloat(rapid.Float64().Draw(t, "value"))}
			}
		}
		o := PictureOptions{Width: rapid.IntRange(-1, 700).Draw(t, "width"), Rows: rapid.IntRange(-1, 5).Draw(t, "rows")}
		o.First, o.Last = spanOf(records)
		svg := drawn(t, l, records, o)
		checkSVG(t, svg)
		if !bytes.Equal(svg, drawn(t, l, records, o)) {
			t.Fatal("a second picture of the same differs")
		}
		if rapid.IntRange(0, 9).Draw(t, "png") == 0 {
			o.Format, o.Scale = PNG, 0.5
			decoded(t, drawn(t, l, records, o))
		}
	})
}

// oneRow is a host with one row and the records of it.
func oneRow(records ...trace.TimelineEvent) (*trace.Schema, []trace.TimelineEvent) {
	return &trace.Schema{Hosts: []string{"a"}, Streams: []trace.Stream{{Name: "r", Host: "a"}}, Classes: []trace.Class{{Name: "c"}}}, records
}

func at(ns clock.TimelineTime, p trace.Phase, slice uint64) trace.TimelineEvent {
	return trace.TimelineEvent{Event: trace.Event{Phase: p, Slice: slice}, Time: ns, Low: ns, High: ns}
}

func TestASliceIsWhereItWas(t *testing.T) {
	l, records := oneRow(at(250, trace.Begin, 0), at(750, trace.End, 0))
	img := decoded(t, drawn(t, l, records, PictureOptions{Format: PNG, Width: 1000, Scale: 1, First: 0, Last: 1000}))
	// The panel begins after the labels, which are short here, and ends before the margin.
	p, _ := NewPicture(io.Discard, l, PictureOptions{Width: 1000, First: 0, Last: 1000})
	for i := range records {
		p.Write(&records[i])
	}
	s := newScenery(p)
	y := int(s.hosts[0].rows[0].top + rowGap/2 + 2)
	first, last := -1, -1
	for x := range img.Rect.Dx() {
		if near(img, x, y, classColours[0]) {
			if first < 0 {
				first = x
			}
			last = x
		}
	}
	if want := s.left + s.panel/4; math.Abs(float64(first)-want) > 1.5 {
		t.Errorf("begins at %d, not %.1f", first, want)
	}
	if want := s.left + s.panel*3/4; math.Abs(float64(last+1)-want) > 2 {
		t.Errorf("ends at %d, not %.1f", last, want)
	}
}

// The distance of the lowest and the highest value may be more than any number.
func TestACounterOfTheGreatestNumbersIsDrawn(t *testing.T) {
	for _, values := range [][]float64{{-math.MaxFloat64, 1, math.MaxFloat64}, {0, math.SmallestNonzeroFloat64}} {
		var all []trace.TimelineEvent
		for i, v := range values {
			r := at(clock.TimelineTime(100*i), trace.Counter, 0)
			r.Values = []trace.Value{trace.OfFloat(v)}
			all = append(all, r)
		}
		l, records := oneRow(all...)
		checkSVG(t, drawn(t, l, records, PictureOptions{Width: 200, First: 0, Last: 1000}))
	}
}

func TestOnlyInvertedMessagesAreRed(t *testing.T) {
	l, records := pictureScene(3, 9, asIs)
	o := PictureOptions{Format: PNG, Width: 800, Scale: 1}
	if n := pixelsOf(decoded(t, drawn(t, l, records, o)), wrongInk); n < 50 {
		t.Errorf("only %d red pixels", n)
	}
	for i := range records {
		if records[i].Flow == 2*(9/2)+2 {
			records[i].Flow = 0
		}
	}
	if n := pixelsOf(decoded(t, drawn(t, l, records, o)), wrongInk); n > 0 {
		t.Errorf("%d red pixels and no inversion", n)
	}
}

func TestNoRowWithAnInvertedMessageGivesWayToABusyOne(t *testing.T) {
	l, records := pictureScene(3, 2, asIs) // the second message is inverted
	at := records[len(records)-1].Time
	for h := range 3 {
		for i := range 1000 {
			r := trace.TimelineEvent{Host: h, Event: trace.Event{Stream: 3*h + 1}, Time: at + clock.TimelineTime(i)}
			records = append(records, r)
		}
	}
	svg := string(drawn(t, l, records, PictureOptions{Rows: 2}))
	if strings.Count(svg, ">worker 7<") != 2 || strings.Contains(svg, ">CPU 0<") {
		t.Error("the rows of the inverted message are not drawn")
	}
	for _, want := range []string{"rows not drawn, but the 2 with inverted messages", "1 received before sent", "quieter row"} {
		if !strings.Contains(svg, want) {
			t.Errorf("no %q", want)
		}
	}
}

func TestARowIsNoMoreThanItsColumns(t *testing.T) {
	l, _ := oneRow()
	const n = 300_000
	p, err := NewPicture(io.Discard, l, PictureOptions{First: 0, Last: 3 * n})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int64(n) {
		for k, phase := range []trace.Phase{trace.Begin, trace.End, trace.Instant} {
			r := at(clock.TimelineTime(3*i)+clock.TimelineTime(k), phase, 0)
			p.Write(&r)
		}
	}
	w := p.rows[0]
	if most := 2 * int(p.columns); len(w.blocks) > most || len(w.ticks) > most || len(w.ticks) < most/3 {
		t.Errorf("%d blocks, %d ticks", len(w.blocks), len(w.ticks))
	}
	busy, ticks := int64(0), int64(0)
	for _, b := range w.blocks {
		busy += b.busy
	}
	for _, d := range w.ticks {
		ticks += int64(d.count)
	}
	if busy != n || ticks != n {
		t.Errorf("%d ns busy and %d ticks of %d", busy, ticks, n)
	}
}

func TestSlicesOfOneLevelDoNotOverlap(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		l, _ := oneRow()
		p, _ := NewPicture(io.Discard, l, PictureOptions{First: 0, Last: 100_000})
		for ns := range rapid.Int64Range(1, 300).Draw(t, "n") {
			r := at(clock.TimelineTime(ns*100), trace.Phase(rapid.IntRange(1, 2).Draw(t, "phase")), rapid.Uint64Range(0, 6).Draw(t, "slice"))
			p.Write(&r)
		}
		p.Close()
		end := make(map[int32]clock.TimelineTime)
		for _, b := range p.rows[0].blocks {
			if b.start < end[b.level] {
				t.Fatalf("%+v begins before %d", b, end[b.level])
			}
			end[b.level] = b.end
		}
	})
}

func TestRowsThatAreTooManyAreForgottenButCounted(t *testing.T) {
	l := &trace.Schema{Hosts: []string{"a"}}
	p, _ := NewPicture(io.Discard, l, PictureOptions{First: 0, Last: 1000, Rows: 2})
	for i := range 50 {
		l.Streams = append(l.Streams, trace.Stream{Name: fmt.Sprint(i), Host: "a"})
		for k := range i + 1 {
			r := at(clock.TimelineTime(k), trace.Instant, 0)
			r.Stream = i
			p.Write(&r)
		}
	}
	before := p.blocks
	p.trim()
	if p.blocks >= before/2 || p.rows[49].forgotten || !p.rows[0].forgotten {
		t.Errorf("%d of %d remain", p.blocks, before)
	}
	if s := newScenery(p); s.hosts[0].hidden != 48 || s.hosts[0].rows[0].count < 49 {
		t.Errorf("%d hidden", s.hosts[0].hidden)
	}
}

func TestALineHasAsMuchInkAsItsLengthTimesItsWidth(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		place := rapid.Float64Range(20, 180)
		x0, y0, x1, y1 := place.Draw(t, "x0"), place.Draw(t, "y0"), place.Draw(t, "x1"), place.Draw(t, "y1")
		width := rapid.Float64Range(0.5, 6).Draw(t, "width")
		p, err := newPixels(200, 200, 1)
		if err != nil {
			t.Fatal(err)
		}
		p.line(x0, y0, x1, y1, width, rgb(0xffffff))
		total := 0.0
		for i := 0; i < len(p.img.Pix); i += 4 {
			total += float64(p.img.Pix[i]) / 255
		}
		want := math.Hypot(x1-x0, y1-y0) * width
		if math.Abs(total-want) > 0.04*want+width*width {
			t.Fatalf("%.1f, not %.1f", total, want)
		}
	})
}

func TestPicturesRefuseWhatTheyCannotShow(t *testing.T) {
	l, _ := oneRow()
	if _, err := NewPicture(io.Discard, l, PictureOptions{First: 2, Last: 1}); err == nil {
		t.Error("an interval that ends before it begins")
	}
	if _, err := NewPicture(io.Discard, l, PictureOptions{Format: 7}); err == nil {
		t.Error("a format that there is not")
	}
	p, _ := NewPicture(refusing{}, l, PictureOptions{Format: PNG})
	if err := p.Close(); !errors.Is(err, io.ErrClosedPipe) || !strings.HasPrefix(err.Error(), "picture: ") {
		t.Errorf("%v", err)
	}
}

type refusing struct{}

func (refusing) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestHugePicturesStayWithinBounds(t *testing.T) {
	l := &trace.Schema{}
	var records []trace.TimelineEvent
	for i := range 200 {
		l.Hosts = append(l.Hosts, fmt.Sprint("host ", i))
		l.Streams = append(l.Streams, trace.Stream{Name: "x", Host: l.Hosts[i]})
		r := at(clock.TimelineTime(i), trace.Instant, 0)
		r.Host, r.Stream = i, i
		records = append(records, r)
	}
	img := decoded(t, drawn(t, l, records, PictureOptions{Format: PNG, Rows: 200, Width: 2000}))
	if area := img.Rect.Dx() * img.Rect.Dy(); area > mostPixels*1.01 || area < mostPixels/4 {
		t.Errorf("%d pixels", area)
	}
}

func BenchmarkPicture(b *testing.B) {
	l, records := pictureScene(12, 6000, asIs)
	o := PictureOptions{}
	o.First, o.Last = spanOf(records)
	b.Run("write", func(b *testing.B) {
		p, _ := NewPicture(io.Discard, l, o)
		i := 0
		for b.Loop() {
			p.Write(&records[i%len(records)])
			i++
		}
	})
	for _, f := range []PictureFormat{SVG, PNG} {
		o.Format = f
		b.Run([]string{"svg", "png"}[f], func(b *testing.B) {
			for b.Loop() {
				drawn(b, l, records, o)
			}
		})
	}
}
