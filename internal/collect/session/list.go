package session

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"meridian/internal/collect/wire"
)

// lister joins what servers remember, what is on the disk, and what agents say.
type lister struct {
	sessions map[string]*wire.SessionStatus
	hosts    map[string]map[string]*wire.SessionOfHost // by session
}

// list returns how all sessions stand.
func (d *Director) list() wire.SessionList {
	list := wire.SessionList{Version: wire.Version, Server: d.o.Server}
	stored, err := d.o.Stored()
	if err != nil {
		list.Error = err.Error()
	}
	l := &lister{sessions: make(map[string]*wire.SessionStatus), hosts: make(map[string]map[string]*wire.SessionOfHost)}
	for _, x := range d.o.Registry.All() {
		l.remembered(x)
	}
	for session, of := range stored {
		for name, bytes := range of {
			h := l.host(session, name)
			h.Stored, h.Servers = bytes, 1
		}
	}
	for _, a := range d.there() {
		l.alive(&a)
		if x, any := d.o.Registry.Wanted(a.Host); any && a.State != "" && x.Name != a.Session {
			h := l.host(x.Name, a.Host)
			h.State, h.Error = wire.StateBusy, d.problemOf(a.Host)
			if a.State == wire.StateWaiting || a.State == wire.StateEnded {
				h.State = wire.StateWaiting
			}
		}
	}
	d.silent(l)
	list.Sessions = l.sorted()
	return list
}

// silent says of hosts that should be heard and are not what is known of them.
func (d *Director) silent(l *lister) {
	d.mu.Lock()
	for name, x := range d.hosts {
		if time.Since(x.seen) < silentAfter || !x.unfinished() || wire.CheckSession(x.Session) != nil {
			continue
		}
		h := l.host(x.Session, name)
		h.State = wire.StateAway
		h.Recorded, h.Waiting, h.Lost = x.Recorded, x.Recorded-x.Acknowledged-x.Lost, x.Lost
		h.Error = fmt.Sprintf("nothing is heard of its agent since %s: does it run, and reach the broker? It goes on when it is started again", x.seen.UTC().Format(time.RFC3339))
	}
	d.mu.Unlock()
	lacking := func(string) string { return "" }
	if d.o.Lacking != nil {
		lacking = d.o.Lacking()
	}
	for _, hosts := range l.hosts {
		for name, h := range hosts {
			if h.State != wire.StateAway {
				continue
			}
			if h.Error == "" {
				h.Error = fmt.Sprintf("no agent of it was heard since this server began, %s", d.began.UTC().Format(time.RFC3339))
			}
			h.Error = cmp.Or(lacking(name), h.Error)
		}
	}
}

// problemOf returns what a host answered to the latest command.
func (d *Director) problemOf(name string) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if h := d.hosts[name]; h != nil {
		return h.problem
	}
	return ""
}

func (l *lister) remembered(x wire.Session) {
	l.sessions[x.Name] = &wire.SessionStatus{Session: x, State: x.State()}
	for _, name := range x.Hosts {
		l.host(x.Name, name)
	}
}

// host returns the entry of a host in a session, which is made. Of a running session it is away until an agent is heard.
func (l *lister) host(session, name string) *wire.SessionOfHost {
	status := l.sessions[session]
	if status == nil {
		status = &wire.SessionStatus{Session: wire.Session{Version: wire.Version, Name: session}, State: wire.SessionOther}
		l.sessions[session] = status
	}
	if l.hosts[session] == nil {
		l.hosts[session] = make(map[string]*wire.SessionOfHost)
	}
	h := l.hosts[session][name]
	if h == nil {
		h = &wire.SessionOfHost{HostState: wire.HostState{Host: name, State: wire.StateStored}}
		if status.State == wire.SessionRunning {
			h.State = wire.StateAway
		}
		l.hosts[session][name] = h
	}
	return h
}

// alive enters what an agent says.
func (l *lister) alive(a *wire.AgentStatus) {
	if wire.CheckSession(a.Session) != nil {
		return // it waits for its first
	}
	h := l.host(a.Session, a.Host)
	h.Recorded, h.Waiting, h.Lost, h.Error = a.Recorded, a.Recorded-a.Acknowledged-a.Lost, a.Lost, a.Error
	switch {
	case a.State != "":
		h.State = a.State
	case a.Ended: // it takes no commands
		h.State = wire.StateSending
	default:
		h.State = wire.StateRecording
	}
}

// sorted returns all sessions, those that began first before others.
func (l *lister) sorted() (out []wire.SessionStatus) {
	for name, x := range l.sessions {
		x.Stats = []wire.SessionOfHost{}
		for _, h := range slices.Sorted(maps.Keys(l.hosts[name])) {
			x.Stats = append(x.Stats, *l.hosts[name][h])
		}
		out = append(out, *x)
	}
	slices.SortFunc(out, func(a, b wire.SessionStatus) int {
		return cmp.Or(a.Since.Compare(b.Since), strings.Compare(a.Name, b.Name))
	})
	return out
}

// Join returns what several servers say of all sessions. Each has the bytes of those that have most of it.
func Join(lists []wire.SessionList) []wire.SessionStatus {
	l := &lister{sessions: make(map[string]*wire.SessionStatus), hosts: make(map[string]map[string]*wire.SessionOfHost)}
	for _, list := range lists {
		for _, x := range list.Sessions {
			if known := l.sessions[x.Name]; known == nil || known.State == wire.SessionOther || x.State == wire.SessionStopped {
				l.sessions[x.Name] = &wire.SessionStatus{Session: x.Session, State: x.State}
			}
			for _, h := range x.Stats {
				l.join(x.Name, h)
			}
		}
	}
	return l.sorted()
}

func (l *lister) join(session string, h wire.SessionOfHost) {
	known := l.host(session, h.Host)
	better := h.Recorded >= known.Recorded
	if isQuiet(h.State) { // of several servers one may have heard it before
		better = isQuiet(known.State) && h.Error != "" && (known.Error == "" || h.Recorded > known.Recorded)
	}
	if better {
		known.HostState, known.Recorded, known.Waiting, known.Lost = h.HostState, h.Recorded, h.Waiting, h.Lost
	}
	known.Stored = max(known.Stored, h.Stored)
	known.Servers += h.Servers
}

// isQuiet reports whether no agent says anything of a host now.
func isQuiet(state wire.StateName) bool { return state == wire.StateStored || state == wire.StateAway }
