package show

import (
	"bytes"
	"encoding/xml"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

const hostile = "</title><script>alert(1)</script>\x00\xff\"'&<!-- \x1b[31m"

// plots are the three kinds of pictures of one thing each.
func plots(name string, m *clock.Map, ab, ba []trace.Message, truth clock.Curve, at []clock.TimelineTime, delay []int64) []func(io.Writer) error {
	between := clock.ConvertMap[clock.HostTime, clock.HostTime](m)
	pair := &PairPlot{A: name, B: name + "2", AB: ab, BA: ba, Map: &between}
	host := &HostPlot{Name: name, Reference: "other", Map: m, First: -5, Last: 1e9, Truth: truth}
	broadcasts := &BroadcastPlot{At: at, Delay: delay, What: name}
	return []func(io.Writer) error{pair.WriteSVG, host.WriteSVG, broadcasts.WriteSVG}
}

// checkSVG reads a picture as an XML reader does, which takes no control characters and no open tags.
func checkSVG(t interface {
	Helper()
	Fatalf(string, ...any)
}, svg []byte) {
	t.Helper()
	d := xml.NewDecoder(bytes.NewReader(svg))
	for {
		token, err := d.Token()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatalf("no XML: %v", err)
		}
		element, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		if !slices.Contains([]string{"svg", "title", "style", "rect", "path", "text"}, element.Name.Local) {
			t.Fatalf("an element %s", element.Name.Local)
		}
		for _, a := range element.Attr {
			if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				t.Fatalf("%s of %s is no number: %.80s", a.Name.Local, element.Name.Local, a.Value)
			}
		}
	}
}

func TestPicturesAreWholeWhateverTheNamesAndTheData(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		instant := rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(-clock.Limit, clock.Limit))
		message := rapid.Custom(func(t *rapid.T) trace.Message {
			return trace.Message{Sent: clock.HostTime(instant.Draw(t, "sent")), Received: clock.HostTime(instant.Draw(t, "received"))}
		})
		line := func(by clock.TimelineTime) clock.Curve { return clock.Curve{{X: 0, Y: by}} }
		m := &clock.Map{Mid: drawCurve(t, "mid", 0)}
		if rapid.Bool().Draw(t, "low") {
			m.Low = line(-50)
		}
		if rapid.Bool().Draw(t, "high") {
			m.High = line(50)
		}
		at := rapid.SliceOfN(rapid.Map(instant, func(t int64) clock.TimelineTime { return clock.TimelineTime(t) }), 0, 5).Draw(t, "at")
		delay := rapid.SliceOfN(instant, len(at), len(at)).Draw(t, "delay")
		ab, ba := rapid.SliceOfN(message, 0, 5).Draw(t, "ab"), rapid.SliceOfN(message, 0, 5).Draw(t, "ba")
		page := PlotPage{Title: hostile, Note: hostile}
		for _, write := range plots(hostile, m, ab, ba, line(3), at, delay) {
			var svg, again bytes.Buffer
			if err := write(&svg); err != nil {
				t.Fatal(err)
			}
			checkSVG(t, svg.Bytes())
			if write(&again); !bytes.Equal(svg.Bytes(), again.Bytes()) {
				t.Fatal("a second picture of the same differs")
			}
			page.Plots = append(page.Plots, Plot{File: hostile, SVG: svg.Bytes()})
		}
		var html bytes.Buffer
		if err := page.Write(&html); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(html.String(), "<script") || strings.Count(html.String(), "<svg xmlns") != 3 {
			t.Fatal("the page is not made of the pictures alone")
		}
	})
}

func TestPairPictureShowsTheHullsCornersAndAtMostFourThousandMessages(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var ab, ba []trace.Message
	for i := range int64(50_000) {
		at := clock.HostTime(i * 1_000_000)
		ab = append(ab, trace.Message{Sent: at, Received: at + 1000 + clock.HostTime(r.ExpFloat64()*5000)})
		ba = append(ba, trace.Message{Sent: at, Received: at + 1000 + clock.HostTime(r.ExpFloat64()*5000)})
	}
	identity := clock.PairIdentity()
	p := &PairPlot{A: "a", B: "b", AB: ab, BA: ba, Map: &identity}
	var svg bytes.Buffer
	if err := p.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	checkSVG(t, svg.Bytes())
	if n := strings.Count(svg.String(), "h0"); n > mostDots+16 || n < mostDots*3/4 {
		t.Errorf("%d dots", n)
	}
	if svg.Len() > 200<<10 {
		t.Errorf("%d bytes", svg.Len())
	}
	if !strings.Contains(svg.String(), "b less the line, µs") || !strings.Contains(svg.String(), "first message, s") {
		t.Error("axes without their units")
	}
	if strings.Contains(svg.String(), "less the estimate") {
		t.Error("a straight estimate has a second panel")
	}
}

func TestBentEstimateHasASecondPanel(t *testing.T) {
	m := clock.PairMap{Mid: clock.PairCurve{{X: 0, Y: 0}, {X: 1e9, Y: 1e9 + 5e5}, {X: 2e9, Y: 2e9}}}
	p := &PairPlot{A: "a", B: "b", AB: []trace.Message{{Sent: 0, Received: 100}, {Sent: 2e9, Received: 2e9 + 100}}, Map: &m}
	var svg bytes.Buffer
	if err := p.WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(svg.String(), "less the estimate") {
		t.Error("one panel alone")
	}
}

func TestHullHasEveryPointOnItsOneSideAndCornersOfThePoints(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		coordinate := rapid.Map(rapid.Int64Range(-20, 20), func(v int64) float64 { return float64(v) })
		points := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) point {
			return point{coordinate.Draw(t, "x"), coordinate.Draw(t, "y")}
		}), 1, 30).Draw(t, "points")
		for _, side := range []float64{1, -1} {
			corners := hull(points, side)
			for i, a := range corners {
				if !slices.Contains(points, a) {
					t.Fatalf("%v is none of the points", a)
				}
				if i == 0 {
					continue
				}
				b := corners[i-1]
				for _, k := range points {
					if over := (a.x-b.x)*(k.y-b.y) - (a.y-b.y)*(k.x-b.x); k.x >= b.x && k.x <= a.x && side*over < 0 {
						t.Fatalf("%v lies beyond %v-%v", k, b, a)
					}
				}
			}
			for _, k := range points {
				if k.x < corners[0].x || k.x > corners[len(corners)-1].x {
					t.Fatalf("%v is not covered", k)
				}
			}
		}
	})
}

func TestThinningKeepsTheEdgeOfEveryColumn(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	var points []point
	for range 20_000 {
		points = append(points, point{r.Float64() * 1000, r.NormFloat64()})
	}
	x, y := interval{0, 1000}, interval{-2, 2}
	const most, columns = 2000, 800
	out := thinned(points, x, y, most, true, true)
	if len(out) > most || len(out) < most/2 {
		t.Fatalf("%d of at most %d", len(out), most)
	}
	var low, high, lowKept, highKept [columns]float64
	fill := func(points []point, low, high *[columns]float64) {
		for _, k := range points {
			if k.y < y.low || k.y > y.high {
				continue
			}
			n := int(k.x / 1000 * columns)
			low[n], high[n] = min(low[n], k.y), max(high[n], k.y)
		}
	}
	fill(points, &low, &high)
	fill(out, &lowKept, &highKept)
	if low != lowKept || high != highKept {
		t.Error("an edge is missing")
	}
	for _, k := range out {
		if k.y < y.low || k.y > y.high {
			t.Fatalf("%v is not shown", k)
		}
	}
}

func TestTicksAreRoundAndWithinTheAxis(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		low := rapid.Float64Range(-1e15, 1e15).Draw(t, "low")
		v := interval{low, low + math.Pow(10, rapid.Float64Range(0.31, 15).Draw(t, "span"))}
		for _, units := range [][]unit{delayUnits, timeUnits} {
			marks := ticksOf(v, units)
			if math.Abs(low) > 1e3*(v.high-v.low) {
				continue // far from zero marks are told apart by many digits, or not at all
			}
			if n := len(marks.at); n < 3 || n > 11 {
				t.Fatalf("%d marks on %v", n, v)
			}
			ns := units[slices.IndexFunc(units, func(u unit) bool { return u.name == marks.unit })].ns
			for i, k := range marks.at {
				if k.value < v.low-1e-6*(v.high-v.low) || k.value > v.high+1e-6*(v.high-v.low) {
					t.Fatalf("%v is outside of %v", k, v)
				}
				says, err := strconv.ParseFloat(strings.Replace(k.text, "−", "-", 1), 64)
				if err != nil || math.Abs(says*ns-k.value) > 1e-3*(v.high-v.low) {
					t.Fatalf("%v says %q %s", k.value, k.text, marks.unit)
				}
				if i > 0 && marks.at[i-1].text == k.text {
					t.Fatalf("%q twice", k.text)
				}
			}
		}
	})
}

func TestMeanLineLeavesNothingOfALine(t *testing.T) {
	line := clock.Curve{{X: 1e18, Y: 5}, {X: 1e18 + 1e12, Y: 5 + 1e12 + 7e6}}
	got := meanLine(line, 1e18+3, 1e18+9e11)
	for _, k := range along(line, 1e18+3, 1e18+9e11, relative(got, 1e18)) {
		if math.Abs(k.y) > 1 {
			t.Fatalf("%v from its own mean line", k.y)
		}
	}
}

func TestPicturesHaveTheSignOfTheReport(t *testing.T) {
	// A clock that is 2 s ahead of the timeline, and gains 50 µs a second on it.
	const run, gained = 1_000_000_000_000, 50_000_000
	first := clock.HostTime(7_000_000_000)
	mid := clock.Curve{{X: first, Y: 5_000_000_000}, {X: first + run + gained, Y: 5_000_000_000 + run}}
	m := clock.Map{Mid: mid}
	var svg bytes.Buffer
	if err := (&HostPlot{Name: "web", Reference: "db", Map: &m, First: first, Last: first + run + gained, whole: true}).WriteSVG(&svg); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"web = timeline +2.000000000 s, +50.00 ppm", "offset less the line", "web less timeline"} {
		if !strings.Contains(svg.String(), want) {
			t.Errorf("the picture of a clock that is ahead and gains has no %q", want)
		}
	}
	less := ahead(clock.Identity().Mid, first)
	begin, end := less(first, 5_000_000_000), less(first+run+gained, 5_000_000_000+run)
	if begin.y != 2e9 || end.y != 2e9+gained {
		t.Errorf("it is drawn at %g and then %g ns, not ahead", begin.y, end.y)
	}
	if later := less(first, 5_000_000_001); later.y != 2e9-1 {
		t.Errorf("at a later instant of the timeline it is drawn at %g ns", later.y)
	}
	// The same clock as the second of a pair.
	line := clock.PairCurve{{X: 0, Y: 2_000_000_000}, {X: run, Y: 2_000_000_000 + run + gained}}
	if got := pairLine(line, 0, "db", "web"); got != "web = db +2.000000000 s, +50.00 ppm" {
		t.Errorf("as a pair it says %q", got)
	}
}
