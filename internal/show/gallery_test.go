package show

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func drawAll(t testing.TB, g *Gallery) (pictures []Drawing, left string) {
	t.Helper()
	pictures, left, err := g.Draw()
	if err != nil {
		t.Fatal(err)
	}
	return pictures, left
}

func TestAGalleryDrawsTheClocksWithTheWidestBoundsAndSaysWhatItLeavesOut(t *testing.T) {
	g := synthetic{hosts: 20, messages: 3000, span: 60e9, delay: 20e3, width: 40e3, seed: 9}.gallery()
	for i := range g.Clocks {
		g.Clocks[i].BoundNs = ptr(int64(i))
	}
	g.Clocks[5].BoundNs = nil
	pictures, left := drawAll(t, g)
	if len(pictures) != 2*mostPictures {
		t.Fatalf("%d pictures", len(pictures))
	}
	for i, row := range []int{5, 19, 18, 17} {
		title := fmt.Sprintf("host-%02d against host-00", row)
		if p := pictures[i]; p.Title != title || !strings.Contains(p.SVG, "<title>"+title+"</title>") {
			t.Errorf("picture %d is not %s", i, title)
		}
	}
	for _, p := range pictures[mostPictures:] { // all its pairs are unbounded, and more than there are pictures
		if !strings.Contains(p.Title, "host-05") || !strings.Contains(p.Title, " and ") {
			t.Errorf("a pair before those of host-05: %s", p.Title)
		}
	}
	if want := "The widest bounds come first; 7 of 19 hosts and 178 of 190 pairs are left out."; left != want {
		t.Errorf("%q, not %q", left, want)
	}
	for i := range g.Clocks {
		g.Clocks[i].Component, g.Clocks[i].Reference = i, g.Clocks[i].Name
	}
	if pictures, left := drawAll(t, g); len(pictures) != 0 || left != "" {
		t.Errorf("hosts that share no timeline have %d pictures, %q", len(pictures), left)
	}
}

func TestPicturesOfAGalleryStaySmallHoweverWildTheyAre(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var m clock.Map // as jagged as pixels can show
	for i := range int64(5000) {
		at := clock.HostTime(i * 1e9)
		mid := clock.TimelineTime(at) + clock.TimelineTime(r.Int64N(1e6))
		m.Mid = append(m.Mid, clock.Knot{X: at, Y: mid})
		m.Low = append(m.Low, clock.Knot{X: at, Y: mid - clock.TimelineTime(r.Int64N(1e6))})
		m.High = append(m.High, clock.Knot{X: at, Y: mid + clock.TimelineTime(r.Int64N(1e6))})
	}
	line := clock.Identity()
	g := &Gallery{Clocks: []GalleryClock{{Name: "a", Reference: "a", Map: &line, Last: 5e12}, {Name: hostile, Reference: "a", Map: &m, Last: 5e12}},
		Channels: []trace.Channel{{From: 0, To: 1}, {From: 1, To: 0}}}
	for c := range g.Channels {
		for range 100_000 {
			at := clock.HostTime(r.Int64N(5e12))
			g.Channels[c].Messages = append(g.Channels[c].Messages, trace.Message{Sent: at, Received: at + clock.HostTime(r.Int64N(1e6))})
		}
	}
	pictures, _ := drawAll(t, g)
	if len(pictures) != 2 {
		t.Fatalf("%d pictures", len(pictures))
	}
	for _, p := range pictures {
		checkSVG(t, []byte(p.SVG))
		if len(p.SVG) > mostPicture+mostPicture/4 { // which is an aim
			t.Errorf("%d bytes", len(p.SVG))
		}
	}
	if !strings.Contains(pictures[1].SVG, "100 000 messages from a") {
		t.Error("the selection is counted, not the messages")
	}
}

func TestAGalleryShowsOffsetAndResidualsHoweverStraightTheyAre(t *testing.T) {
	g := synthetic{hosts: 2, messages: 200, span: 60e9, delay: 20e3, width: 40e3, seed: 9}.gallery()
	pictures, _ := drawAll(t, g)
	if len(pictures) != 2 {
		t.Fatalf("%d pictures", len(pictures))
	}
	for i, want := range [][]string{{"offset less the line", "the offset itself", "bounds"}, {"convex hulls", "less the estimate", "bounds"}} {
		for _, text := range want {
			if !strings.Contains(pictures[i].SVG, text) {
				t.Errorf("%s has no %q", pictures[i].Title, text)
			}
		}
		if n := strings.Count(pictures[i].SVG, `class="frame"`); n != 2 {
			t.Errorf("%s has %d panels", pictures[i].Title, n)
		}
	}
}

func TestSelectedMessagesKeepTheEdgeOfTheCorridor(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	m := clock.PairCurve{{X: 0, Y: 0}, {X: 1e12, Y: 1e12 + 5e8}, {X: 2e12, Y: 2e12}}
	const total, columns = 150_000, 2 * panelWidth
	for _, side := range []int64{1, -1} {
		channels := make([]trace.Channel, 3)
		for i := range total {
			a := clock.HostTime(r.Int64N(2e12))
			b := m.At(a, clock.Nearest) + clock.HostTime(side*(1000+int64(r.ExpFloat64()*1e6)))
			k := trace.Message{Sent: a, Received: b}
			if side < 0 {
				k = trace.Message{Sent: b, Received: a}
			}
			channels[i%3].Messages = append(channels[i%3].Messages, k)
		}
		lowest := func(messages ...trace.Message) (edge [columns]int64) {
			for _, k := range messages {
				a, b := k.Sent, k.Received
				if side < 0 {
					a, b = b, a
				}
				n, d := min(int64(a)*columns/2e12, columns-1), side*int64(b-m.At(a, clock.Nearest))
				if edge[n] == 0 || d < edge[n] {
					edge[n] = d
				}
			}
			return edge
		}
		var all []trace.Message
		for _, c := range channels {
			all = append(all, c.Messages...)
		}
		got := reduced(channels, m, side)
		if len(got) > mostReduced+columns || len(got) < mostReduced/2 {
			t.Errorf("%d messages selected", len(got))
		}
		want, kept := lowest(all...), lowest(got...)
		wrong := 0 // the first and last stamp are not quite 0 and 2e12, so that some lie in the next column
		for n := range want {
			if kept[n] != want[n] {
				wrong++
			}
		}
		if wrong > columns/100 {
			t.Errorf("the edge is another in %d of %d columns", wrong, columns)
		}
	}
}

func TestStraightenedLineStaysWithinItsPixels(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		heights := rapid.SliceOfN(rapid.Float64Range(-50, 50), 0, 60).Draw(t, "heights")
		within := rapid.Float64Range(0, 20).Draw(t, "within")
		var points []point
		for i, y := range heights {
			points = append(points, point{float64(i), y})
		}
		kept := straightened(points, within)
		if len(points) > 0 && (kept[0] != points[0] || kept[len(kept)-1] != points[len(points)-1]) {
			t.Fatal("an end is missing")
		}
		i := 0
		for _, k := range points {
			for i+2 < len(kept) && kept[i+1].x < k.x {
				i++
			}
			if len(kept) < 2 {
				continue
			}
			a, b := kept[i], kept[i+1]
			if off := k.y - a.y - (k.x-a.x)/(b.x-a.x)*(b.y-a.y); off > within+1e-9 || off < -within-1e-9 {
				t.Fatalf("%v is off by %v", k, off)
			}
		}
	})
}

func BenchmarkPicturesOfTenMillionEvents(b *testing.B) {
	g := synthetic{hosts: 2, messages: 5_000_000, span: 600e9, delay: 20e3, width: 40e3, seed: 9}.gallery()
	for b.Loop() {
		drawAll(b, g)
	}
}
