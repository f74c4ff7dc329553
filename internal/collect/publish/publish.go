// Package publish makes one timeline of each session that a server stores, while it is recorded, and hands it to subscribers. It reads directories
// and nothing else: a server stores on, whatever happens here.
//
//	DIR/SESSION/HOST... --> live.Session --> events in order --> lines (JSON) --> feed --> NATS subject, server-sent events
//	                                                        |--> CTF packets --> feed --> NATS subject
//	                                                        '--> spans --> OTLP
//
// A feed holds the latest messages. Whoever reads it has a place of his own there, so a slow subscriber delays nobody, and sees from the numbers of the
// events what it has missed. Numbers count from 1 for each timeline, which has an identity: one that begins anew has another.
//
// Memory is bounded: the sorter's, and that of the feeds. One session's fault ends its timeline alone, which begins anew after a pause.
package publish

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"meridian/internal/collect/wire"
)

// Options say what is followed and where it goes. Only Dir is required.
type Options struct {
	Dir      string   // of sessions
	Sessions []string // that are followed; nil: all
	Latency  time.Duration
	// Conn publishes events. It is for this alone: a broker may hold up a client whose messages others are slow to take. Nil: none.
	Conn   *nats.Conn
	Server string // name of this server
	OTLP   *Exporter
	Log    func(format string, args ...any) // lines for people; nil for none
}

// Times and limits of following.
const (
	lookEvery   = 500 * time.Millisecond // for sessions
	idleAfter   = 10 * time.Minute       // a session that does not grow for so long is followed no more
	retryAfter  = 10 * time.Second       // a timeline that failed begins anew
	maxFollowed = 64                     // sessions at a time
	feedBytes   = 8 << 20                // of a format of a timeline
)

// Publisher follows sessions. Any goroutine may call its methods.
type Publisher struct {
	o    Options
	http counters

	mu        sync.Mutex
	timelines map[string]*timeline
	looked    map[string]time.Time // when a session that is not followed was looked at
	evicted   map[string]evicted   // sessions whose timelines made room
	refused   map[string]bool      // of what it was said that there is no room
	// emptyAfter is how long a session is followed before it may make room.
	emptyAfter time.Duration
}

// New returns a publisher that does nothing until it is run.
func New(o Options) (*Publisher, error) {
	if o.Dir == "" {
		return nil, errors.New("publish: missing directory")
	}
	for _, s := range o.Sessions {
		if err := wire.CheckSession(s); err != nil {
			return nil, err
		}
	}
	if o.Latency == 0 {
		o.Latency = DefaultLatency
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return &Publisher{o: o, timelines: make(map[string]*timeline), looked: make(map[string]time.Time), evicted: make(map[string]evicted), refused: make(map[string]bool), emptyAfter: emptyAfter}, nil
}

// DefaultLatency is how long events wait for earlier ones of other streams.
const DefaultLatency = 100 * time.Millisecond

// Run follows sessions until ctx ends. Faults of sessions are told and do not end it.
func (p *Publisher) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		for _, t := range p.due(first) {
			within, cancel := context.WithCancel(ctx)
			t.cancel = cancel
			all.Go(func() {
				defer p.end(t)
				defer cancel()
				t.run(within)
			})
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// due returns timelines of the sessions that are to be followed and are not. What a session held before is left out, but for one that is new
// since the last look.
func (p *Publisher) due(first bool) (begun []*timeline) {
	names := p.names()
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.looked {
		if !slices.Contains(names, name) {
			delete(p.looked, name) // it was removed
			delete(p.evicted, name)
		}
	}
	owners := make(map[string]string)
	for _, name := range names {
		last, known := p.looked[name]
		if p.timelines[name] != nil || known && time.Since(last) < idleLook {
			continue
		}
		p.looked[name] = time.Now()
		fromEnd := first || known
		since := time.Now().Add(-recently)
		before, was := p.evicted[name]
		if was && before.at.After(since) {
			since = before.at
		}
		if fromEnd && p.o.Sessions == nil && !growsSince(filepath.Join(p.o.Dir, name), since) || !p.room(name, owners) {
			continue
		}
		if was { // nothing of it was shown
			fromEnd = before.fromEnd
			delete(p.evicted, name)
		}
		t := newTimeline(p, name, fromEnd)
		p.timelines[name] = t
		begun = append(begun, t)
	}
	return begun
}

// names returns the sessions that may be followed.
func (p *Publisher) names() (names []string) {
	if p.o.Sessions != nil {
		return p.o.Sessions
	}
	entries, err := os.ReadDir(p.o.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.o.Log("timeline: %v", err)
	}
	for _, e := range entries {
		if e.IsDir() && wire.CheckSession(e.Name()) == nil {
			names = append(names, e.Name())
		}
	}
	return names
}

// idleLook is how often a session is looked at that did not grow, and recently what counts as growing.
const (
	idleLook = 5 * time.Second
	recently = time.Minute
)

// growsSince says whether a file of a session was written to since then.
func growsSince(session string, since time.Time) bool {
	hosts, err := os.ReadDir(session)
	if err != nil {
		return false
	}
	for _, h := range hosts {
		names, err := wire.List(filepath.Join(session, h.Name()), os.ReadDir)
		if err != nil || !h.IsDir() {
			continue
		}
		for _, name := range names {
			info, err := os.Stat(filepath.Join(session, h.Name(), filepath.FromSlash(name)))
			if err == nil && info.ModTime().After(since) {
				return true
			}
		}
	}
	return false
}

func (p *Publisher) end(t *timeline) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.timelines, t.session)
}

// timeline returns that of a session.
func (p *Publisher) timeline(session string) *timeline {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.timelines[session]
}

// all returns the timelines in the order of their sessions' names.
func (p *Publisher) all() []*timeline {
	p.mu.Lock()
	defer p.mu.Unlock()
	list := make([]*timeline, 0, len(p.timelines))
	for _, t := range p.timelines {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b *timeline) int { return strings.Compare(a.session, b.session) })
	return list
}
