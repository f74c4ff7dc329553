package publish

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"meridian/internal/collect/wire"
)

// events reads server-sent events as a browser does.
type events struct {
	t     *testing.T
	lines *bufio.Scanner
	end   func()
}

// sent is a server-sent event.
type sent struct{ kind, id, data string }

func open(t *testing.T, url, session, last string) *events {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/sessions/"+session+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	if last != "" {
		r.Header.Set("Last-Event-ID", last)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		b, _ := io.ReadAll(answer.Body)
		t.Fatalf("%s: %s", answer.Status, b)
	}
	return &events{t, bufio.NewScanner(answer.Body), func() { cancel(); answer.Body.Close() }}
}

func (e *events) next() (s sent) {
	e.t.Helper()
	for e.lines.Scan() {
		name, value, _ := strings.Cut(e.lines.Text(), ": ")
		switch name {
		case "event":
			s.kind = value
		case "id":
			s.id = value
		case "data":
			s.data = value
		case "":
			if s.data != "" {
				return s
			}
		}
	}
	e.t.Fatalf("the stream has ended: %v", e.lines.Err())
	return s
}

// fill appends messages of lines {"n":1}, of so many events each.
func fill(f *feed, from, messages, each int) {
	for _, m := range filled(from, messages, each) {
		f.append(m)
	}
}

func filled(from, messages, each int) (all []*message) {
	for i := range messages {
		m := &message{events: uint64(each)}
		for j := range each {
			m.data = fmt.Appendf(m.data, "{\"n\":%d}\n", from+i*each+j)
			m.ends = append(m.ends, len(m.data))
		}
		all = append(all, m)
	}
	return all
}

// served is a publisher with the timeline of a session "night" that no directory has.
func served(t *testing.T, limit int) (r *run, url string) {
	t.Helper()
	p, err := New(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	x := newTimeline(p, "night", true)
	r = &run{t: x, id: "first", lines: &output{feed: newFeed(limit)}, ended: make(chan struct{})}
	r.state.Store(&State{Version: 1, Session: "night"})
	x.current.Store(r)
	p.timelines["night"] = x
	s := httptest.NewServer(p.Handler("", nil))
	t.Cleanup(s.Close)
	return r, s.URL
}

func TestLastEventIDResumesBehindTheEvent(t *testing.T) {
	t.Parallel()
	r, url := served(t, 1<<20)
	fill(r.lines.feed, 1, 10, 7)
	e := open(t, url, "night", "first/40")
	if s := e.next(); s.kind != "timeline" {
		t.Errorf("first comes %+v", s)
	}
	for n := 41; n <= 70; n++ {
		if s := e.next(); s.id != fmt.Sprintf("first/%d", n) || s.data != fmt.Sprintf(`{"n":%d}`, n) || s.kind != "" {
			t.Fatalf("event %d is %+v", n, s)
		}
	}
	fill(r.lines.feed, 71, 1, 1)
	if s := e.next(); s.data != `{"n":71}` {
		t.Errorf("then comes %+v", s)
	}
}

func TestASubscriberThatResumesTooLateIsToldWhatItMissed(t *testing.T) {
	t.Parallel()
	r, url := served(t, 3000) // some of the messages
	fill(r.lines.feed, 1, 100, 10)
	oldest := r.lines.feed.held[0].first
	if oldest < 100 || oldest > 990 {
		t.Fatalf("the feed holds events from %d on", oldest)
	}
	e := open(t, url, "night", "first/5")
	for s := e.next(); ; s = e.next() {
		if s.kind == "timeline" {
			continue
		}
		var n notice
		if err := json.Unmarshal([]byte(s.data), &n); err != nil || s.kind != "missed" || n.From != 6 || n.To != oldest-1 || !strings.Contains(n.Text, fmt.Sprintf("events 6 to %d", oldest-1)) {
			t.Errorf("%+v: want that 6 to %d are missed", s, oldest-1)
		}
		break
	}
	if s := e.next(); s.id != fmt.Sprintf("first/%d", oldest) {
		t.Errorf("then comes %+v", s)
	}
}

// A subscriber that does not read fills the buffers of its connection. The feed takes what comes all the same.
func TestASlowSubscriberDelaysNobodyAndIsTold(t *testing.T) {
	t.Parallel()
	r, url := served(t, 1<<20)
	const messages, each = 3000, 1000 // some 40 MB, more than connections hold
	all := filled(1, messages, each)
	slow := open(t, url, "night", "")
	if s := slow.next(); s.kind != "timeline" {
		t.Fatalf("first comes %+v", s)
	}
	for _, m := range all { // it ends, though the subscriber has read nothing of it
		r.lines.feed.append(m)
	}
	missed, next := uint64(0), uint64(1)
	for next <= messages*each {
		s := slow.next()
		if s.kind == "missed" {
			var n notice
			if err := json.Unmarshal([]byte(s.data), &n); err != nil || n.From != next {
				t.Fatalf("%+v: want that events from %d on are missed", s, next)
			}
			missed += n.To - n.From + 1
			next = n.To + 1
			continue
		}
		if s.id != fmt.Sprintf("first/%d", next) || s.data != fmt.Sprintf(`{"n":%d}`, next) {
			t.Fatalf("event %d is %+v", next, s)
		}
		next++
	}
	if missed == 0 {
		t.Error("nothing was missed: the test fills no buffer")
	}
	if counted := r.t.p.http.missed.Load(); counted != missed {
		t.Errorf("%d events are counted as missed, %d were told", counted, missed)
	}
}

func TestATimelineThatBeginsAnewIsToldToOldAndNewConnections(t *testing.T) {
	t.Parallel()
	r, url := served(t, 1<<20)
	fill(r.lines.feed, 1, 1, 3)
	old := open(t, url, "night", "first/2")
	if a, b := old.next(), old.next(); a.kind != "timeline" || b.id != "first/3" {
		t.Fatalf("%+v, %+v", a, b)
	}
	second := &run{t: r.t, id: "second", lines: &output{feed: newFeed(1 << 20)}, ended: make(chan struct{})}
	second.state.Store(&State{Version: 1, Session: "night"})
	r.t.current.Store(second)
	close(r.ended)
	fill(second.lines.feed, 1, 1, 2)
	back := open(t, url, "night", "first/3")
	for _, e := range []*events{old, back} {
		if s := e.next(); s.kind != "anew" || !strings.Contains(s.data, `"timeline":"second"`) || !strings.Contains(s.data, "begin anew") {
			t.Errorf("%+v: want that the numbers begin anew", s)
		}
	}
	if a, b := old.next(), old.next(); a.kind != "timeline" || b.id != "second/1" {
		t.Errorf("%+v, %+v: want the first event of the second timeline", a, b)
	}
}

func TestAnEventIsOneNoticeWhateverIsInIt(t *testing.T) {
	t.Parallel()
	r, url := served(t, 1<<20)
	line := string(wire.Encode(map[string]string{"text": "a\n\nevent: missed\r\ndata: x"})) + "\n"
	e := open(t, url, "night", "")
	e.next()
	r.lines.feed.append(&message{events: 1, data: []byte(line), ends: []int{len(line)}})
	if s := e.next(); s.kind != "" || s.data+"\n" != line {
		t.Errorf("%+v", s)
	}
}

func TestOnlyWhoMayAskIsAnswered(t *testing.T) {
	t.Parallel()
	next := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	for _, c := range []struct {
		name, token, method, host string
		header                    map[string]string
		code                      int
	}{
		{"a program of this machine", "", "GET", "127.0.0.1:8090", nil, 200},
		{"by name", "", "GET", "localhost:8090", nil, 200},
		{"a name that turns (DNS rebinding)", "", "GET", "evil.example:8090", nil, 421},
		{"another site's page", "", "GET", "127.0.0.1:8090", map[string]string{"Origin": "http://evil.example"}, 403},
		{"another site's image", "", "GET", "127.0.0.1:8090", map[string]string{"Sec-Fetch-Site": "cross-site"}, 403},
		{"a page from here", "", "GET", "127.0.0.1:8090", map[string]string{"Origin": "http://127.0.0.1:8090", "Sec-Fetch-Site": "same-origin"}, 200},
		{"writing", "", "POST", "127.0.0.1:8090", nil, 405},
		{"no token", "0123456789abcdef", "GET", "collector:8090", nil, 401},
		{"a wrong token", "0123456789abcdef", "GET", "collector:8090", map[string]string{"Authorization": "Bearer 0123456789abcdeg"}, 401},
		{"a token of another kind", "0123456789abcdef", "GET", "collector:8090", map[string]string{"Authorization": "0123456789abcdef"}, 401},
		{"the token", "0123456789abcdef", "GET", "collector:8090", map[string]string{"Authorization": "Bearer 0123456789abcdef"}, 200},
	} {
		r := httptest.NewRequest(c.method, "http://"+c.host+"/sessions", nil)
		for k, v := range c.header {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		(&guard{token: c.token, next: next}).ServeHTTP(w, r)
		if w.Code != c.code || (w.Body.String() == "here") != (c.code == 200) {
			t.Errorf("%s: %d %q, want %d", c.name, w.Code, w.Body, c.code)
		}
	}
	for _, c := range []struct {
		address, token string
		ok             bool
	}{
		{"127.0.0.1:1", "", true}, {"[::1]:1", "", true}, {"localhost:1", "", true}, {":1", "", false}, {"0.0.0.0:1", "", false}, {"collector:1", "", false},
		{"192.0.2.1:1", "", false}, {"192.0.2.1:1", "short", false}, {"192.0.2.1:1", "0123456789abcdef", true}, {"nothing", "0123456789abcdef", false},
	} {
		if err := CheckListen(c.address, c.token); (err == nil) != c.ok {
			t.Errorf("address %q, token %q: %v", c.address, c.token, err)
		}
	}
}

func TestMetricsSayWhatTheStateSays(t *testing.T) {
	t.Parallel()
	p, err := New(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	bound := int64(1_500_000)
	x := newTimeline(p, "night", true)
	r := &run{t: x, lines: &output{feed: newFeed(1)}}
	r.state.Store(&State{Session: "night", Events: 7, Late: 2, Lost: 3, Hosts: []HostState{{Host: "web", LagNs: 2_000_000, BoundNs: &bound, Lost: 3}, {Host: "db"}}})
	x.current.Store(r)
	p.timelines["night"] = x
	w := httptest.NewRecorder()
	p.Handler("", func() []Agent {
		return []Agent{{Host: "web", Session: "night", Recorded: 10, Acknowledged: 8, Lost: 1, Probing: &wire.Probing{Pairs: []wire.ProbePair{
			{Host: "db", WidthNs: 5000, LeastRTTNs: 3000}, {Host: "db", WidthNs: 7000}, {Host: "cache", Silent: true},
		}}}}
	}).ServeHTTP(w, httptest.NewRequest("GET", "http://127.0.0.1/metrics", nil))
	for _, want := range []string{`meridian_timeline_events{session="night"} 7`, `meridian_timeline_late_events{session="night"} 2`, `meridian_timeline_lost_events{host="web",session="night"} 3`,
		`meridian_timeline_lag_seconds{host="web",session="night"} 0.002`, `meridian_timeline_bound_seconds{host="web",session="night"} 0.0015`, `meridian_agent_recorded_bytes{host="web",session="night"} 10`,
		`meridian_agent_acknowledged_bytes{host="web",session="night"} 8`, `meridian_agent_lost_bytes{host="web",session="night"} 1`,
		`meridian_probe_bound_width_seconds{host="web",peer="db",session="night"} 5e-06`, `meridian_probe_least_round_trip_seconds{host="web",peer="db",session="night"} 3e-06`,
		`meridian_probe_silent{host="web",peer="db",session="night"} 0`, `meridian_probe_silent{host="web",peer="cache",session="night"} 1`} {
		if !strings.Contains(w.Body.String(), want+"\n") {
			t.Errorf("missing %s", want)
		}
	}
	if strings.Contains(w.Body.String(), `meridian_timeline_bound_seconds{host="db"`) || strings.Contains(w.Body.String(), `width_seconds{host="web",peer="cache"`) {
		t.Error("an unbounded host has a bound")
	}
}
