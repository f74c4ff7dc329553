package publish

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"meridian/internal/collect/wire"
)

// A host may begin sessions without end, each of which would have a timeline. So sessions that only one host is in count for that host, and of these it
// has no more than mostOfHost. Where there is no room, a session of which no event has come makes some: the one that was followed first.
const (
	mostOfHost = 16
	emptyAfter = 10 * time.Second // a session that was followed for less may still get its first event
)

// evicted is a timeline that made room.
type evicted struct {
	at      time.Time // its session is followed again if it grows later
	fromEnd bool
}

// room reports whether a session may be followed, and ends a timeline where that makes room. Owners are the hosts of sessions that were looked up in this
// pass. p.mu is held.
func (p *Publisher) room(name string, owners map[string]string) bool {
	owner := p.ownerOf(name, owners)
	all, own := 0, 0
	var oldest, oldestOwn *timeline
	for _, t := range p.timelines {
		if t.ending {
			continue
		}
		all++
		owned := owner != "" && p.ownerOf(t.session, owners) == owner
		if owned {
			own++
		}
		if p.o.Sessions != nil || t.cancel == nil || t.events() > 0 || time.Since(t.began) < p.emptyAfter {
			continue
		}
		if oldest == nil || t.began.Before(oldest.began) {
			oldest = t
		}
		if owned && (oldestOwn == nil || t.began.Before(oldestOwn.began)) {
			oldestOwn = t
		}
	}
	if len(p.timelines) >= maxFollowed+mostOfHost {
		return false // those that make room have not ended yet
	}
	switch {
	case own >= mostOfHost:
		return p.evict(oldestOwn, name, fmt.Sprintf("%d sessions of host %s alone are followed already", own, owner))
	case all >= maxFollowed:
		return p.evict(oldest, name, fmt.Sprintf("%d sessions are followed already", all))
	}
	return true
}

// evict ends an empty timeline to make room for another session, or says that there is none.
func (p *Publisher) evict(t *timeline, name, why string) bool {
	if t == nil {
		if !p.refused[why] && len(p.refused) < maxWarned {
			p.refused[why] = true
			p.o.Log("timeline: session %s is not followed: %s; name the wanted ones by --timeline", name, why)
		}
		return false
	}
	t.ending = true
	t.cancel()
	p.evicted[t.session] = evicted{time.Now(), t.fromEnd}
	p.o.Log("timeline: session %s makes room for %s, since no event of it has come: %s", t.session, name, why)
	return true
}

// ownerOf returns the host of a session that has no other but the server; "" for none, and where operators named the sessions.
func (p *Publisher) ownerOf(session string, owners map[string]string) (owner string) {
	if p.o.Sessions != nil {
		return ""
	}
	if owner, known := owners[session]; known {
		return owner
	}
	defer func() { owners[session] = owner }()
	entries, err := os.ReadDir(filepath.Join(p.o.Dir, session))
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if !e.IsDir() || wire.CheckHost(e.Name()) != nil || e.Name() == wire.ServerHost(p.o.Server) {
			continue
		}
		if owner != "" {
			return ""
		}
		owner = e.Name()
	}
	return owner
}

// events is how many events of a session have come.
func (t *timeline) events() uint64 {
	if r := t.current.Load(); r != nil {
		return r.lines.feed.end().event - 1
	}
	return 0
}
