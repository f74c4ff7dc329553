package publish

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"meridian/internal/collect/wire"
)

// Limits of server-sent events.
const (
	maxStreams   = 256              // at a time
	writeWithin  = 30 * time.Second // a subscriber that takes nothing for so long has gone
	commentEvery = 10 * time.Second // without events, so that a lost connection is noticed
)

// counters are of subscribers by HTTP.
type counters struct {
	streams atomic.Int64
	missed  atomic.Uint64 // events
}

// Handler answers /sessions, /sessions/SESSION/events and /metrics. With a token it asks for that; else it is for this machine alone.
func (p *Publisher) Handler(token string, agents func() []Agent) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/sessions", p.serveSessions)
	mux.HandleFunc("/sessions/{session}/events", p.serveEvents)
	mux.Handle("/metrics", p.metrics(agents))
	return &guard{token: token, next: mux}
}

// States returns how the timelines stand.
func (p *Publisher) States() (list []*State) {
	for _, t := range p.all() {
		x := &State{Version: 1, Session: t.session, Server: p.o.Server}
		if r := t.current.Load(); r != nil {
			x = r.state.Load()
		} else if fault := t.fault.Load(); fault != nil {
			first, _, _ := strings.Cut(*fault, "\n")
			x.Warnings = []string{"the timeline has stopped, and begins anew soon: " + first}
		}
		list = append(list, x)
	}
	return list
}

func (p *Publisher) serveSessions(w http.ResponseWriter, _ *http.Request) {
	list := p.States()
	if list == nil {
		list = []*State{}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(list) // the client may have gone
}

// stream is a subscriber by server-sent events.
type stream struct {
	p       *Publisher
	w       *bufio.Writer
	control *http.ResponseController
	session string
	id      string // of the timeline that was told of last
}

func (p *Publisher) serveEvents(w http.ResponseWriter, r *http.Request) {
	session := r.PathValue("session")
	if err := wire.CheckSession(session); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if p.timeline(session) == nil {
		http.Error(w, "session "+strconv.Quote(session)+" is not followed now; /sessions lists those that are", http.StatusNotFound)
		return
	}
	if p.http.streams.Add(1) > maxStreams {
		p.http.streams.Add(-1)
		http.Error(w, fmt.Sprintf("%d subscribers are here already", maxStreams), http.StatusServiceUnavailable)
		return
	}
	defer p.http.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	if r.Method == http.MethodHead {
		return
	}
	s := &stream{p: p, w: bufio.NewWriterSize(w, 64<<10), control: http.NewResponseController(w), session: session}
	id, number, resumes := strings.Cut(r.Header.Get("Last-Event-ID"), "/")
	last, err := strconv.ParseUint(number, 10, 64)
	for first := true; ; first = false {
		t := p.timeline(session)
		if t == nil {
			s.say("end", 0, 0, "the session is not followed any more")
			_ = s.flush() // the client may have gone
			return
		}
		x := t.current.Load()
		if x == nil || x.id == s.id { // it begins anew soon
			select {
			case <-r.Context().Done():
				return
			case <-time.After(lookEvery):
			}
			continue
		}
		from := place{serial: x.lines.feed.end().serial} // whatever comes next
		s.id = x.id
		switch {
		case first && resumes && err == nil && id == x.id:
			from = x.lines.feed.find(last)
		case first && resumes || !first:
			s.say("anew", 0, 0, "another timeline has begun, whose numbers begin anew: what lies between is in the directories of the session")
			if !first {
				from = place{1, 1}
			}
		}
		if !s.follow(r, x, from) {
			return
		}
	}
}

// follow sends the events of a timeline from a place on, whose event is 0 where any may be the first. False: the client has gone.
func (s *stream) follow(r *http.Request, x *run, at place) bool {
	x.lines.feed.join()
	defer x.lines.feed.leave(true)
	s.say("timeline", at.event, 0, "events of session "+s.session)
	silent := time.NewTicker(commentEvery)
	defer silent.Stop()
	for ended := false; ; {
		messages, end, wait := x.lines.feed.read(at)
		for _, m := range messages {
			if at.event != 0 && m.first > at.event {
				s.p.http.missed.Add(m.first - at.event)
				s.say("missed", at.event, m.first-1, fmt.Sprintf("events %d to %d are missed: they were not read in time, and are in the directories of the session", at.event, m.first-1))
			}
			s.lines(m, at.event)
			at.event = m.first + m.events
		}
		if at.serial = end.serial; at.event == 0 {
			at.event = end.event // the subscriber is told that it is here: what it misses from now on is said
		}
		if err := s.flush(); err != nil {
			return false
		}
		if len(messages) > 0 {
			continue
		}
		if ended {
			return true
		}
		select {
		case <-r.Context().Done():
			return false
		case <-x.ended:
			ended = true
		case <-wait:
		case <-silent.C:
			_, _ = s.w.WriteString(": nothing new\n\n") // flush has the error
		}
	}
}

// lines sends the events of a message from a number on.
func (s *stream) lines(m *message, from uint64) {
	begin := 0
	for i, end := range m.ends {
		if n := m.first + uint64(i); n >= from {
			fmt.Fprintf(s.w, "id: %s/%d\ndata: ", s.id, n)
			_, _ = s.w.Write(m.data[begin:end]) // flush has the error
			_ = s.w.WriteByte('\n')
		}
		begin = end
	}
}

// notice is what is told beside events.
type notice struct {
	Session  string `json:"session"`
	Timeline string `json:"timeline"`
	From     uint64 `json:"from,omitempty"`
	To       uint64 `json:"to,omitempty"`
	Text     string `json:"text"`
}

func (s *stream) say(event string, from, to uint64, text string) {
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", event, wire.Encode(notice{s.session, s.id, from, to, text}))
}

// flush sends what is buffered.
func (s *stream) flush() error {
	_ = s.control.SetWriteDeadline(time.Now().Add(writeWithin)) // a connection that has none ends otherwise
	if err := s.w.Flush(); err != nil {
		return err
	}
	return s.control.Flush()
}
