package view

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/trace"
)

// growingShop is a shop of which a test publishes pictures.
type growingShop struct {
	t      *testing.T
	events []trace.TimelineEvent
	index  *index.Live
	live   *Live
	n      int
}

func newGrowingShop(t *testing.T) *growingShop {
	schema, events := indextest.ShopEvents(indextest.ShopRequests)
	x, err := index.NewLive(t.TempDir(), schema, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	g := &growingShop{t: t, events: events, index: x, live: NewLive()}
	t.Cleanup(func() {
		if err := g.live.Close(); err != nil {
			t.Error(err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return g
}

// grow adds events up to a number, and publishes a picture.
func (g *growingShop) grow(to int) {
	for ; g.n < to; g.n++ {
		if err := g.index.Write(&g.events[g.n]); err != nil {
			g.t.Fatal(err)
		}
	}
	if err := g.live.Publish(g.index.View(), &Report{}, Status{}); err != nil {
		g.t.Fatal(err)
	}
}

// fresh has the next question answered of the newest picture.
func (g *growingShop) fresh() {
	g.live.mu.Lock()
	defer g.live.mu.Unlock()
	if r := g.live.requests; r != nil {
		r.took = 0
	}
}

// TestRequestsOfATimelineThatGrowsAreThoseOfOneThatHasEnded asks at several lengths, before and after seals, what an index of the same
// events answers.
func TestRequestsOfATimelineThatGrowsAreThoseOfOneThatHasEnded(t *testing.T) {
	g := newGrowingShop(t)
	for _, to := range []int{7, 200, 431, len(g.events)} {
		g.grow(to)
		g.fresh()
		if to > 300 {
			if err := g.index.Seal(nil); err != nil {
				t.Fatal(err)
			}
		}
		x := indextest.Build(t, g.index.Schema(), "", nil, func(b *index.Builder) error {
			for i := range g.events[:to] {
				if err := b.Write(&g.events[i]); err != nil {
					return err
				}
			}
			return nil
		})
		ended, err := NewTimeline(x)
		if err != nil {
			t.Fatal(err)
		}
		defer ended.Close()
		for _, q := range []RequestQuery{{Most: 1000}, {Sort: "network", Text: "select"}, {From: 1e8, To: 3e8}} {
			same(t, fmt.Sprintf("%d events, %+v", to, q), func(r Requests) (any, error) { return r.Requests(q) }, g.live, ended)
		}
		list, err := ended.Requests(RequestQuery{Most: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range list.Requests {
			same(t, "path", func(x Requests) (any, error) { return x.PathOf(-1, r.Event, r.Last) }, g.live, ended)
			same(t, "path between", func(x Requests) (any, error) { return x.PathBetween(r.Event, r.Last) }, g.live, ended)
		}
		got, err := g.live.Numbers(context.Background(), 0, 1<<60, func(int) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		want, err := ended.Numbers(context.Background(), 0, 1<<60, func(int) bool { return true })
		if err != nil || asJSON(t, got.Names) != asJSON(t, want.Names) || got.Gone != 0 {
			t.Errorf("after %d events numbers are %+v, want %+v: %v", to, got, want, err)
		}
	}
}

// same asks both.
func same(t *testing.T, what string, ask func(Requests) (any, error), of ...Requests) {
	t.Helper()
	var said []string
	for _, r := range of {
		answer, err := ask(r)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		said = append(said, asJSON(t, answer))
	}
	if said[0] != said[1] {
		t.Errorf("%s: %s\nwant %s", what, said[0], said[1])
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestRequestsAreFoundAnewOnceTheyAreOldAndAtTheEnd grows on after requests were asked for.
func TestRequestsAreFoundAnewOnceTheyAreOldAndAtTheEnd(t *testing.T) {
	g := newGrowingShop(t)
	count := func() int {
		t.Helper()
		list, err := g.live.Requests(RequestQuery{})
		if err != nil {
			t.Fatal(err)
		}
		return list.Count
	}
	g.grow(200)
	first := count()
	g.live.mu.Lock()
	g.live.requests.took = time.Hour // as if there were very many
	before := g.live.requests
	g.live.mu.Unlock()
	g.grow(300)
	if n := count(); n != first {
		t.Errorf("%d requests, want %d: those found at last are good for a while", n, first)
	}
	g.live.End()
	second := count()
	if second <= first {
		t.Errorf("at the end %d requests, before it %d", second, first)
	}
	if before.readers != 0 || !before.old {
		t.Errorf("what was replaced is still read by %d", before.readers)
	}
	g.live.mu.Lock()
	g.live.requests.asked = time.Now().Add(-2 * unasked)
	g.live.mu.Unlock()
	g.grow(301)
	if g.live.requests != nil {
		t.Error("requests that nobody asks for are held")
	}
}

// TestRequestsOfManyEventsAreThoseOfTheLatest leaves the first events out.
func TestRequestsOfManyEventsAreThoseOfTheLatest(t *testing.T) {
	g := newGrowingShop(t)
	g.grow(len(g.events))
	p, release := g.live.acquire()
	defer release()
	r := &liveRequests{picture: p}
	if err := r.find(100); err != nil {
		t.Fatal(err)
	}
	list := r.requests(RequestQuery{Sort: "begin", Most: 1000})
	if list.Since == 0 || list.Count == 0 || list.Count > 100/4 {
		t.Fatalf("%d requests since %d, of 100 events", list.Count, list.Since)
	}
	for _, x := range list.Requests {
		if x.Begin < list.Since {
			t.Errorf("request %d begins at %d, before %d", x.ID, x.Begin, list.Since)
		}
	}
}

func TestMessagesOfADelayAreServed(t *testing.T) {
	s := shop(t)
	a := s.About()
	if len(a.Delays) == 0 {
		t.Fatal("no delays")
	}
	h := a.Delays[0]
	for address, want := range map[string]int{
		fmt.Sprintf("/api/messages?from=%d&to=%d&n=5", h.From, h.To): 200,
		"/api/messages?from=0": 400, "/api/messages?from=0&to=99": 400, "/api/messages?from=0&to=1&least=x": 400, "/api/messages?from=0&to=1&n=100000": 400,
	} {
		w := httptest.NewRecorder()
		Handler(s).ServeHTTP(w, httptest.NewRequest("GET", address, nil))
		var got index.Delayed
		if w.Code != want || want == 200 && (json.Unmarshal(w.Body.Bytes(), &got) != nil || got.Count != h.Messages || len(got.List) != 5) {
			t.Errorf("%s: status %d, want %d: %s", address, w.Code, want, w.Body)
		}
	}
}

// TestThePathBetweenEventsWhoseOrderIsOpenIsOfferedBothWays takes two events of hosts whose clocks are known to 50 µs, 20 µs apart.
func TestThePathBetweenEventsWhoseOrderIsOpenIsOfferedBothWays(t *testing.T) {
	schema, events := indextest.ShopEvents(3)
	first := events[len(events)-1].Time
	for i, host := range []int{0, 1, 0} {
		at := first + 1000_000 + clock.TimelineTime(i)*20_000
		if i == 2 {
			at += 1000_000
		}
		events = append(events, trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at), Stream: host, Class: indextest.ShopAudit}, Time: at, Host: host, Map: host})
	}
	s, err := NewTimeline(indextest.Build(t, schema, "", nil, func(b *index.Builder) error {
		for i := range events {
			if err := b.Write(&events[i]); err != nil {
				return err
			}
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	n := int64(len(events))
	for _, way := range [][2]int64{{n - 3, n - 2}, {n - 2, n - 3}} {
		p, err := s.PathBetween(way[0], way[1])
		if err != nil || !p.Unordered || p.Request.Total < 0 {
			t.Errorf("%v: %+v, %v", way, p, err)
		}
	}
	if p, err := s.PathBetween(n-2, n-1); err != nil || p.Unordered {
		t.Errorf("events a millisecond apart: %+v, %v", p, err)
	}
	if _, err := s.PathBetween(n-1, n-2); err == nil {
		t.Error("the wrong way round there is a path")
	}
}

// The traces of all hosts but one come a second late. Their events are shown late, but requests are about when they
// happened.
func TestRequestsOfEventsThatCameLateHaveTheEventsOwnTimes(t *testing.T) {
	const lag = 1e9
	schema, events := indextest.ShopEvents(indextest.ShopRequests)
	front := events[0].Host
	late := slices.Clone(events)
	slices.SortStableFunc(late, func(a, b trace.TimelineEvent) int {
		came := func(e *trace.TimelineEvent) clock.TimelineTime {
			if e.Host == front {
				return e.Time
			}
			return clock.Add(e.Time, lag)
		}
		return cmp.Compare(came(&a), came(&b))
	})
	list := func(events []trace.TimelineEvent) (all []Request) {
		x := indextest.Build(t, schema, "", nil, func(b *index.Builder) error {
			for i := range events {
				if err := b.Write(&events[i]); err != nil {
					return err
				}
			}
			return nil
		})
		timeline, err := NewTimeline(x)
		if err != nil {
			t.Fatal(err)
		}
		defer timeline.Close()
		if events[0].Time != timeline.About().Origin {
			t.Fatalf("origin %d, late %d", timeline.About().Origin, timeline.About().Late)
		}
		got, err := timeline.Requests(RequestQuery{Most: 1000})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got.Requests {
			path, err := timeline.PathOf(-1, r.Event, r.Last)
			if err != nil {
				t.Fatal(err)
			}
			sum := int64(0)
			for _, p := range path.Pieces {
				sum += p.End - p.Begin
			}
			if sum != r.Total {
				t.Errorf("a path of %d ns of a request of %d", sum, r.Total)
			}
			r.ID, r.Event, r.Last = 0, 0, 0 // they are numbered as they came
			all = append(all, r)
		}
		slices.SortFunc(all, func(a, b Request) int {
			return cmp.Or(cmp.Compare(a.Begin, b.Begin), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Total, b.Total))
		})
		return all
	}
	want, got := list(events), list(late)
	if len(want) == 0 || asJSON(t, got) != asJSON(t, want) {
		t.Errorf("%d requests, want %d:\n%s\nwant\n%s", len(got), len(want), asJSON(t, got), asJSON(t, want))
	}
}
