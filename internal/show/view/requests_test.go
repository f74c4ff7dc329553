package view

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"meridian/internal/show/index/indextest"
)

func shop(t *testing.T) *Timeline {
	t.Helper()
	timeline, err := NewTimeline(indextest.Shop(t, ""))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { timeline.Close() })
	return timeline
}

func TestRequestsOfSpansAreListedWithTheirParts(t *testing.T) {
	s := shop(t)
	list, err := s.Requests(RequestQuery{Text: "get client", Sort: "begin", Most: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if list.Count != 2*indextest.ShopRequests || list.Matched != indextest.ShopRequests || len(list.Groups) != 1 || list.Groups[0].Count != indextest.ShopRequests {
		t.Fatalf("%d requests, %d of them chosen, groups %+v", list.Count, list.Matched, list.Groups)
	}
	for i, r := range list.Requests {
		i := int64(i)
		there := 200_000 + i%3*5000
		answer, render := 150_000+i%5*4000, 2_000_000+i%7*20_000
		if i == indextest.SlowNetwork {
			answer = 12_000_000
		}
		if i == indextest.SlowRender {
			render = 30_000_000
		}
		server := 500_000 + 150_000 + 800_000 + i%4*30_000 + answer + 100_000 + render + 50_000
		if r.Name != "GET /cart" || r.ServerTime != server || r.Network != there+210_000 || r.ClientTime != 0 || r.Total != server+r.Network {
			t.Fatalf("request %d is %+v; want %d at the server", i, r, server)
		}
		// The cart's clock is known to 50 us: a way is, too.
		outward := func(got, want int64) bool { return got >= want && got <= want+5 } // rounding
		if !outward(there-50_000, *r.There.Low) || !outward(*r.There.High, there+50_000) || !outward(160_000, *r.Back.Low) || !outward(*r.Back.High, 260_000) {
			t.Fatalf("request %d: there %d to %d, back %d to %d", i, *r.There.Low, *r.There.High, *r.Back.Low, *r.Back.High)
		}
	}
	slow, err := s.Requests(RequestQuery{Most: 1})
	if err != nil || len(slow.Requests) != 1 || slow.Requests[0].ServerTime < int64(30*time.Millisecond) {
		t.Errorf("the slowest is %+v, %v", slow, err)
	}
	part, err := s.Requests(RequestQuery{From: 10 * 50_000_000, To: 12*50_000_000 - 1})
	if err != nil || part.Matched != 4 {
		t.Errorf("%d requests are in a stretch of two, with their queries: %v", part.Matched, err)
	}
}

func TestThePathOfARequestNamesWhatMadeItSlow(t *testing.T) {
	s := shop(t)
	for _, c := range []struct {
		request    int
		name       string
		from, host int
	}{{indextest.SlowRender, "render", -1, 1}, {indextest.SlowNetwork, "", 2, 1}} {
		list, err := s.Requests(RequestQuery{Text: "get", Sort: "begin"})
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Path(list.Requests[c.request].ID)
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, x := range p.Pieces {
			sum += x.End - x.Begin
		}
		if sum != p.Request.Total {
			t.Errorf("request %d: pieces sum to %d of %d", c.request, sum, p.Request.Total)
		}
		for what, list := range map[string][]int{"by total": p.Total, "beyond like requests": p.Beyond} {
			if len(list) != 1 || p.Items[list[0]].Name != c.name || p.Items[list[0]].Host != c.host || p.Items[list[0]].FromHost != c.from {
				t.Errorf("request %d: %s %v of %+v", c.request, what, list, p.Items)
			}
		}
	}
	if _, err := s.Path(1 << 20); err == nil {
		t.Error("the path of a request that there is not is answered")
	}
}

func TestRequestsAreAskedForByHTTPAndHeldByAFile(t *testing.T) {
	s := shop(t)
	for address, want := range map[string]int{
		"/api/requests": 200, "/api/requests?sort=beyond&n=3&q=get+cart": 200, "/api/requests?sort=nothing": 400, "/api/requests?n=0": 400, "/api/requests?from=x": 400,
		"/api/path?request=3": 200, "/api/path": 400, "/api/path?request=-1": 400, "/api/path?request=99999999": 400,
	} {
		w := httptest.NewRecorder()
		Handler(s).ServeHTTP(w, httptest.NewRequest("GET", address, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d: %s", address, w.Code, want, w.Body)
		}
		if want == 200 && !json.Valid(w.Body.Bytes()) {
			t.Errorf("%s: not JSON", address)
		}
	}
	var page strings.Builder
	if err := WriteFile(&page, s, Options{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(page.String(), `id="requests"`) {
		t.Error("a file has no requests")
	}
}

// BenchmarkRequestsOfAMillionSpans compares the building of the index with that of the list, and a query with both.
func BenchmarkRequestsOfAMillionSpans(b *testing.B) {
	for b.Loop() {
		begun := time.Now()
		x := indextest.ShopOf(b, "", 200_000)
		built := time.Now()
		timeline, err := NewTimeline(x)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := timeline.Requests(RequestQuery{}); err != nil {
			b.Fatal(err)
		}
		listed := time.Now()
		list, err := timeline.Requests(RequestQuery{Sort: "network", Text: "get"})
		if err != nil || list.Matched != 200_000 {
			b.Fatal(err, list)
		}
		asked := time.Now()
		if _, err := timeline.Path(list.Requests[0].ID); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(built.Sub(begun).Seconds(), "s-index")
		b.ReportMetric(listed.Sub(built).Seconds(), "s-list")
		b.ReportMetric(float64(asked.Sub(listed).Milliseconds()), "ms-query")
		b.ReportMetric(float64(time.Since(asked).Milliseconds()), "ms-path")
		timeline.Close()
	}
}

func TestNumbersAreAskedForByHTTP(t *testing.T) {
	s := shop(t)
	for address, want := range map[string]int{
		"/api/numbers": 200, "/api/numbers?from=0&to=50000000&without=0-1": 200, "/api/numbers?without=3-1": 400, "/api/numbers?without=99": 400, "/api/numbers?to=x": 400,
	} {
		w := httptest.NewRecorder()
		Handler(s).ServeHTTP(w, httptest.NewRequest("GET", address, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d: %s", address, w.Code, want, w.Body)
		}
	}
}

func TestThePathBetweenTwoEventsLeadsBackToTheEarlierOne(t *testing.T) {
	s := shop(t)
	list, err := s.Requests(RequestQuery{Text: "get", Sort: "begin"})
	if err != nil {
		t.Fatal(err)
	}
	r := list.Requests[indextest.SlowRender]
	p, err := s.PathBetween(r.Event, r.Last)
	if err != nil {
		t.Fatal(err)
	}
	at := r.Begin
	for _, x := range p.Pieces {
		if x.Begin != at {
			t.Fatalf("a gap at %d before %+v", at, x)
		}
		at = x.End
	}
	if at != r.Begin+r.Total || p.Request.Total != r.Total || !p.Reaches || p.Unordered {
		t.Errorf("the path ends at %d, not at %d: %+v", at, r.Begin+r.Total, p)
	}
	for address, want := range map[string]int{
		fmt.Sprintf("/api/path?from=%d&to=%d", r.Event, r.Last): 200, fmt.Sprintf("/api/path?from=%d&to=%d", r.Last, r.Event): 400,
		"/api/path?from=0&to=999999999": 400, "/api/path?from=x&to=1": 400, "/api/path?from=1": 400,
	} {
		w := httptest.NewRecorder()
		Handler(s).ServeHTTP(w, httptest.NewRequest("GET", address, nil))
		if w.Code != want {
			t.Errorf("%s: status %d, want %d: %s", address, w.Code, want, w.Body)
		}
	}
}
