package ship

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"meridian/internal/spool"
)

// released is what servers had of files that are gone and settled. A server may lose it later, with its disk. Then it is lost if no other server
// has it, nor an archive. What a server that had it is not there to say is neither lost nor acknowledged.
type released struct {
	files   map[string]spool.Released
	pending []spool.Released            // not written yet
	told    map[string]map[string]int64 // by server that is there: what it and its archive have
	wanted  bool                        // that servers tell
	// documents are the checksums of the metadata of these servers. What they have counts with the newest alone: without it nobody can read it.
	documents map[string]uint32

	lost, lostPackets, away int64
	said                    string
}

func newReleased() released {
	return released{files: make(map[string]spool.Released), told: make(map[string]map[string]int64), documents: make(map[string]uint32)}
}

// forget takes that a server is away, or may be another.
func (r *released) forget(server string) {
	delete(r.told, server)
	delete(r.documents, server)
}

// documented notes which metadata a server has that has told of files. It reports whether that is news.
func (a *account) documented(p *peer) bool {
	r := &a.released
	if r.told[p.name] == nil || r.documents[p.name] == p.document {
		return false
	}
	r.documents[p.name] = p.document
	return true
}

// beginReleased begins without any.
func (a *account) beginReleased() {
	a.Named = true
	if err := os.Remove(filepath.Join(a.plan.d.dir, spool.ReleasedFile)); err != nil && !os.IsNotExist(err) {
		a.warn(err)
	}
}

// readReleased goes on with those of an earlier agent.
func (a *account) readReleased() {
	files, err := spool.ReadReleased(a.plan.d.dir, a.Trace)
	if err != nil {
		a.Named = false
		a.log("%v: what servers have lost of what was sent is not noticed", err)
		return
	}
	a.released.files = files
}

// note enters a file that is settled.
func (a *account) note(name string, x spool.Part) {
	if x.Acknowledged <= 0 {
		return
	}
	f := spool.Released{File: name, Bytes: x.Acknowledged, Packets: max(x.Packets-x.Lacking, 0), Servers: a.plan.holders(name, x.Acknowledged)}
	for _, server := range x.Servers { // an earlier agent sent it, and others may store the host now
		if !slices.Contains(f.Servers, server) {
			f.Servers = append(f.Servers, server)
		}
	}
	if len(f.Servers) == 0 {
		f.Servers = slices.Clone(a.Servers)
	}
	a.released.files[name] = f
	a.released.pending = append(a.released.pending, f)
}

// holders returns the servers that have so much of a file.
func (p *plan) holders(name string, bytes int64) (names []string) {
	for _, s := range p.peers {
		if at := s.files[name]; s.state == open && at != nil && at.right() >= bytes {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return names
}

// write adds to the file what is not in it yet.
func (r *released) write(dir, trace string) error {
	if len(r.pending) == 0 {
		return nil
	}
	err := spool.AddReleased(dir, trace, r.pending)
	if err == nil {
		r.pending = r.pending[:0]
	}
	return err
}

// enter puts into a sum what became of files since they were settled.
func (r *released) enter(x *Summary) {
	x.Acknowledged -= r.lost + r.away
	x.Lost += r.lost
	x.LostPackets += r.lostPackets
	x.Away = r.away
}

// review finds out what became of files since they were settled.
func (a *account) review() {
	r := &a.released
	r.lost, r.lostPackets, r.away, r.wanted = 0, 0, 0, false
	if !a.plan.opened(a.replicas) {
		return // it stands as it was when servers were there
	}
	absent := make(map[string]bool)
	for name, x := range r.files {
		f := a.plan.d.files[name]
		if _, is := a.Gone[name]; is || f != nil && !a.plan.d.past {
			continue // which counts by itself
		}
		if f != nil { // a power cut has taken its end from the host, which servers had
			if n := x.Bytes - max(a.plan.acknowledged(name, a.replicas), f.whole); n > 0 {
				r.lost += n
				r.lostPackets += x.Packets
			}
			continue
		}
		here, doubtful, unsure := int64(0), false, make(map[string]int64)
		for _, s := range a.plan.peers {
			if at := s.files[name]; s.state == open && at != nil {
				right := at.right()
				if here = max(here, right); right < at.have {
					unsure[s.name] = at.have
					doubtful = doubtful || right < x.Bytes
				}
			}
		}
		if here >= x.Bytes && (!doubtful || a.plan.comparable(name)) {
			continue // a server that lacks it is filled up
		} else if here >= x.Bytes {
			r.away += x.Bytes - a.plan.acknowledged(name, a.replicas) // another may have other bytes, and it is not known which
			continue
		}
		r.wanted = true
		most, copies, unknown := here, 0, len(x.Servers) == 0
		for server, told := range r.told {
			have := told[name]
			if have <= unsure[server] {
				continue // it may be other bytes
			}
			if have >= x.Bytes && r.documents[server] == a.plan.d.metadata.sum {
				copies++
			} else if have >= x.Bytes {
				unknown = true // until it has the metadata
			} else {
				most = max(most, have)
			}
		}
		if copies >= a.replicas {
			continue
		}
		unknown = unknown || copies > 0
		for _, server := range x.Servers {
			if r.told[server] == nil {
				absent[server], unknown = true, true
			}
		}
		if unknown {
			r.away += x.Bytes - here
			continue
		}
		r.lost += x.Bytes - most
		r.away += most - here
		if most == 0 {
			r.lostPackets += x.Packets
		}
	}
	a.sayReleased(slices.Sorted(maps.Keys(absent)))
}

// sayReleased logs a loss once.
func (a *account) sayReleased(absent []string) {
	r := &a.released
	line := ""
	switch {
	case r.lost > 0:
		line = fmt.Sprintf("servers have lost %d bytes that are not in %s any more", r.lost, a.plan.d.dir)
	case len(absent) > 0 && !a.asksFor(absent):
		line = fmt.Sprintf("%d bytes are not in %s any more, and were on servers that are away: %s", r.away, a.plan.d.dir, strings.Join(absent, ", "))
	}
	if line != "" && line != r.said {
		a.log("%s", line)
	}
	r.said = line
}

// asksFor reports whether one of some servers is there, and will tell.
func (a *account) asksFor(names []string) bool {
	return slices.ContainsFunc(a.plan.peers, func(p *peer) bool { return p.state == open && slices.Contains(names, p.name) })
}

// found notes that servers have bytes of which no name was known.
func (a *account) found(n int64) {
	a.Unseen -= n
	a.Settled.Lost -= n
	a.Settled.Acknowledged += n
}

// findUnseen looks among what servers have for files that went without a trace in the directory.
func (a *account) findUnseen() {
	if a.Unseen <= 0 || !a.Named || !a.plan.opened(a.replicas) {
		return
	}
	names := make(map[string]bool)
	for _, p := range a.plan.peers {
		for name := range p.files {
			names[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		_, gone := a.Gone[name]
		_, known := a.released.files[name]
		if gone || known || a.Counted[name] || a.plan.d.files[name] != nil || !isChunk(name) || !a.plan.even(name) {
			continue
		}
		if n := min(a.plan.acknowledged(name, a.replicas), a.Unseen); n > 0 {
			a.found(n)
			a.note(name, spool.Part{Size: n, Acknowledged: n})
		}
	}
}
