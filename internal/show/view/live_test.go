package view

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/trace"
)

// growing is a live index of one row, of which a test publishes pictures.
type growing struct {
	t     *testing.T
	index *index.Live
	live  *Live
	n     int
}

const firstInstant = 1_700_000_000_000_000_000

func newGrowing(t *testing.T) *growing {
	schema := &trace.Schema{Hosts: []string{"web"}, Streams: []trace.Stream{{Name: "nginx", Host: "web", Parent: -1}}, Classes: []trace.Class{{Name: "request"}}}
	x, err := index.NewLive(t.TempDir(), schema, index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	})
	return &growing{t: t, index: x, live: NewLive()}
}

// grow adds events, a millisecond apart, and publishes a picture.
func (g *growing) grow(events int) {
	for range events {
		at := clock.TimelineTime(firstInstant + int64(g.n)*1_000_000)
		g.n++
		if err := g.index.Write(&trace.TimelineEvent{Event: trace.Event{Time: clock.HostTime(at)}, Time: at, Map: -1}); err != nil {
			g.t.Fatal(err)
		}
	}
	s := Status{Now: clock.TimelineTime(firstInstant + int64(g.n)*1_000_000), Behind: 5, Frame: 7, Lost: 2, Late: 3, Hosts: []HostStatus{{Behind: 5, Lost: 2, Bound: "±1 µs"}}}
	if err := g.live.Publish(g.index.View(), &Report{Hosts: []index.HostReport{{Bound: "±1 µs"}}, Summary: "live"}, s); err != nil {
		g.t.Fatal(err)
	}
}

func answered(t *testing.T, base, what string) (status int, body string) {
	t.Helper()
	r, err := http.Get(base + "/api/" + what)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(b)
}

func TestNothingIsAnsweredBeforeTheFirstEventAndTheNewestPictureAfterIt(t *testing.T) {
	g := newGrowing(t)
	server := httptest.NewServer(Handler(g.live))
	defer server.Close()
	if status, body := answered(t, server.URL, "about"); status != http.StatusServiceUnavailable || !strings.Contains(body, "nothing has been recorded yet") {
		t.Errorf("%d %s", status, body)
	}
	if status, body := answered(t, server.URL, "about?wait=1"); status != http.StatusNoContent || body != "" {
		t.Errorf("to a page that waits: %d %s", status, body)
	}
	for _, want := range []int{3, 5} {
		g.grow(want - g.n)
		_, body := answered(t, server.URL, "about")
		var about index.About
		if err := json.Unmarshal([]byte(body), &about); err != nil {
			t.Fatal(err)
		}
		if !about.Live || about.Events != int64(want) || about.Hosts[0].Bound != "±1 µs" || about.Summary != "live" || about.Origin != firstInstant {
			t.Errorf("after %d events: %s", want, body)
		}
		if _, body := answered(t, server.URL, fmt.Sprintf("events?from=%d&count=9", want-1)); !strings.Contains(body, fmt.Sprintf(`"event":%d,`, want-1)) {
			t.Errorf("the last event is %s", body)
		}
	}
	if err := g.live.Close(); err != nil {
		t.Error(err)
	}
}

func TestPageIsToldOfEachPictureAndOfTheEnd(t *testing.T) {
	g := newGrowing(t)
	server := httptest.NewServer(Handler(g.live))
	defer server.Close()
	g.grow(2)
	r, err := http.Get(server.URL + "/api/live")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if kind := r.Header.Get("Content-Type"); kind != "text/event-stream" {
		t.Errorf("content type %q", kind)
	}
	lines := bufio.NewScanner(r.Body)
	next := func() (u update) {
		t.Helper()
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
				if err := json.Unmarshal([]byte(text), &u); err != nil {
					t.Fatal(err)
				}
				return u
			}
		}
		t.Fatalf("the stream ended: %v", lines.Err())
		return u
	}
	u := next()
	if u.Growth.Events != 2 || u.Now != 2_000_000 || u.Behind != 5 || u.Frame != 7 || u.Lost != 2 || u.Late != 3 || len(u.Hosts) != 1 || u.Hosts[0].Bound != "±1 µs" || u.Ended {
		t.Errorf("%+v", u)
	}
	version := u.Growth.Version
	g.grow(3)
	for u.Growth.Version == version { // the same picture is told each second
		u = next()
	}
	if u.Growth.Events != 5 || u.Growth.Version < version {
		t.Errorf("%+v after version %d", u, version)
	}
	g.live.End()
	for !u.Ended {
		u = next()
	}
	for lines.Scan() {
		if text := lines.Text(); text != "" {
			t.Errorf("after the end: %q", text)
		}
	}
	if status, _ := answered(t, server.URL, "live?since=x"); status != http.StatusBadRequest {
		t.Errorf("status %d of an invalid version", status)
	}
	if err := g.live.Close(); err != nil {
		t.Error(err)
	}
}
