package show

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/trace"
)

func galleryOf(t testing.TB, timeline *Timeline) *gallery {
	t.Helper()
	s, err := newScene(timeline)
	if err != nil {
		t.Fatal(err)
	}
	g, err := s.gallery()
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func TestThePageDrawsTheClocksWithTheWidestBoundsAndSaysWhatItLeavesOut(t *testing.T) {
	timeline := synthetic{hosts: 20, messages: 3000, span: 60e9, delay: 20e3, width: 40e3, seed: 9}.timeline()
	for i := range timeline.Report.Hosts {
		timeline.Report.Hosts[i].BoundNs = ptr(int64(i))
	}
	timeline.Report.Hosts[5].BoundNs = nil
	g := galleryOf(t, timeline)
	if g.hosts != mostPictures || g.pairs != mostPictures || len(g.pictures) != 2*mostPictures {
		t.Fatalf("%d hosts, %d pairs, %d pictures", g.hosts, g.pairs, len(g.pictures))
	}
	for i, row := range []int{5, 19, 18, 17} {
		if want := fmt.Sprintf("<title>host-%02d against host-00</title>", row); !strings.Contains(g.pictures[i], want) {
			t.Errorf("picture %d is not %s", i, want)
		}
	}
	for _, p := range g.pictures[mostPictures:] { // all its pairs are unbounded, and more than there are pictures
		if title, _, _ := strings.Cut(p, "</title>"); !strings.Contains(title, "host-05") {
			t.Errorf("a pair before those of host-05: %s", title)
		}
	}
	if want := "The widest bounds come first; 7 of 19 hosts and 178 of 190 pairs are left out."; g.left != want {
		t.Errorf("%q, not %q", g.left, want)
	}
	for i := range timeline.Report.Hosts {
		timeline.Report.Hosts[i].Component, timeline.Report.Hosts[i].Reference = i, timeline.Report.Hosts[i].Name
	}
	if g := galleryOf(t, timeline); len(g.pictures) != 0 || g.left != "" {
		t.Errorf("hosts that share no timeline have %d pictures, %q", len(g.pictures), g.left)
	}
}

func TestPicturesOfThePageStaySmallHoweverWildTheyAre(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var m clock.Map // as jagged as pixels can show
	for i := range int64(5000) {
		at := i * 1e9
		mid := at + r.Int64N(1e6)
		m.Mid = append(m.Mid, clock.Knot{Host: at, Timeline: mid})
		m.Low = append(m.Low, clock.Knot{Host: at, Timeline: mid - r.Int64N(1e6)})
		m.High = append(m.High, clock.Knot{Host: at, Timeline: mid + r.Int64N(1e6)})
	}
	line := clock.Identity()
	timeline := &Timeline{Rows: []Row{{Map: &line, Last: 5e12}, {Map: &m, Last: 5e12}}, Channels: []trace.Channel{{From: 0, To: 1}, {From: 1, To: 0}},
		Report: &Report{Hosts: []Host{{Name: "a", Reference: "a"}, {Name: hostile, Reference: "a"}}}}
	for c := range timeline.Channels {
		for range 100_000 {
			at := r.Int64N(5e12)
			timeline.Channels[c].Messages = append(timeline.Channels[c].Messages, trace.Message{Sent: at, Received: at + r.Int64N(1e6)})
		}
	}
	g := galleryOf(t, timeline)
	if len(g.pictures) != 2 {
		t.Fatalf("%d pictures", len(g.pictures))
	}
	for _, p := range g.pictures {
		checkSVG(t, []byte(p))
		if len(p) > mostPicture+mostPicture/4 { // which is an aim
			t.Errorf("%d bytes", len(p))
		}
	}
	if !strings.Contains(g.pictures[1], "100 000 messages from a") {
		t.Error("the selection is counted, not the messages")
	}
	var page bytes.Buffer
	if err := timeline.WritePage(&page); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(page.String(), `id="drawings">`)
	data, _, _ := strings.Cut(rest, "</script>")
	var back []string
	if err := json.NewDecoder(flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)))).Decode(&back); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(back, g.pictures) {
		t.Error("the page has other pictures")
	}
}

func TestSelectedMessagesKeepTheEdgeOfTheCorridor(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	m := clock.Curve{{Host: 0, Timeline: 0}, {Host: 1e12, Timeline: 1e12 + 5e8}, {Host: 2e12, Timeline: 2e12}}
	const total, columns = 150_000, 2 * panelWidth
	for _, side := range []int64{1, -1} {
		channels := make([]trace.Channel, 3)
		for i := range total {
			a := r.Int64N(2e12)
			b := m.At(a, clock.Nearest) + side*(1000+int64(r.ExpFloat64()*1e6))
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
				n, d := min(a*columns/2e12, columns-1), side*(b-m.At(a, clock.Nearest))
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
	rapid.Check(t, func(t *rapid.T) {
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
	timeline := synthetic{hosts: 2, messages: 5_000_000, span: 600e9, delay: 20e3, width: 40e3, seed: 9}.timeline()
	for b.Loop() {
		galleryOf(b, timeline)
	}
}
