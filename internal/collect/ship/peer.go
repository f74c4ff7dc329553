package ship

import (
	"cmp"
	"io"
	"slices"
	"time"

	"meridian/internal/collect/wire"
)

// peer is a server that stores this host, or may.
type peer struct {
	name  string
	seen  time.Time // when it said last that it is there
	state peerState
	retry time.Time // when it is asked again
	error string    // why it does not store the host

	files    map[string]*progress
	gone     map[string]wire.State // of files that the directory has no more: what the server has, with checksums, until it is compared with another's
	onWay    int64                 // bytes that were sent and not acknowledged
	progress time.Time             // when onWay began, or an ack said more
	document uint32                // checksum of the metadata that is on its disk
	sent     uint32                // and of what was sent
	sentAt   time.Time
}

type peerState int

const (
	idle    peerState = iota
	opening           // it was asked
	open              // it stores the host
)

// progress is how far a file is with a server.
type progress struct {
	sent, have int64
	moved      time.Time // when have grew last, or sent went back
}

// Times of servers.
const (
	deadAfter  = 3 * time.Second        // without a word
	gapAfter   = 300 * time.Millisecond // a file goes back to a gap so long after it moved; chunks behind the gap are still coming
	stuckAfter = time.Second            // with bytes on their way and no ack: some were lost
	retryAfter = time.Second
)

func (p *peer) of(name string) *progress {
	at := p.files[name]
	if at == nil {
		at = new(progress)
		p.files[name] = at
	}
	return at
}

// opened takes what a server has, and returns the files it has to shorten, by name, to what the directory has of them.
func (p *peer) opened(d *directory, now time.Time, have []wire.State) (cut map[string]int64, err error) {
	p.state, p.error, p.files, p.onWay, p.progress = open, "", make(map[string]*progress), 0, now
	p.document, p.sent = 0, 0
	p.gone = make(map[string]wire.State)
	for _, s := range have {
		if s.Name == wire.Metadata {
			p.document, p.sent = s.Sum, s.Sum
			continue
		}
		f := d.files[s.Name]
		if f == nil { // the recorder has dropped it since: the account asks how much of it came
			p.files[s.Name], p.gone[s.Name] = &progress{sent: s.Have, have: s.Have}, s
			continue
		}
		same, err := matching(f, &s)
		if err != nil {
			return nil, err
		}
		if same < s.Have && f.whole < s.Have {
			if cut == nil {
				cut = make(map[string]int64)
			}
			cut[s.Name] = min(same, f.whole)
		}
		same = min(same, f.whole)
		p.files[s.Name] = &progress{sent: same, have: same}
	}
	return cut, nil
}

// matching returns up to where what a server has of a file is what the file has. Of what lies before the checksums it was told that it is
// on the disk.
func matching(f *file, s *wire.State) (int64, error) {
	if s.Have < 0 || s.Checked < 0 || s.Checked > s.Have {
		return 0, nil
	}
	b := make([]byte, wire.BlockSize)
	at := s.Checked
	for _, sum := range s.Tail {
		n := min(s.Have-at, wire.BlockSize)
		if n <= 0 {
			break
		}
		if got, err := f.f.ReadAt(b[:n], at); err != nil && err != io.EOF {
			return 0, err
		} else if int64(got) < n || wire.Sum(b[:n]) != sum {
			return at, nil
		}
		at += n
	}
	return at, nil
}

// acked takes what a server says.
func (p *peer) acked(a *wire.Ack, now time.Time) {
	if p.state != open {
		return
	}
	for _, s := range a.Files {
		if s.Name == wire.Metadata {
			p.document = s.Sum
			p.progress = now
			continue
		}
		at := p.of(s.Name)
		switch {
		case s.Have > at.have:
			p.onWay -= min(s.Have, at.sent) - min(at.have, at.sent)
			at.have, at.sent, at.moved = s.Have, max(at.sent, s.Have), now
			p.progress = now
		case s.Have < at.have: // it has lost what was not on its disk; what it had told stays
			p.onWay -= at.sent - at.have
			at.have, at.sent, at.moved = s.Have, s.Have, now
		case s.Gap && at.sent > at.have && now.Sub(at.moved) > gapAfter:
			p.onWay -= at.sent - at.have
			at.sent, at.moved = at.have, now
		}
	}
}

// order sorts servers by how they are chosen for a host: the highest hash of both names first (rendezvous), so that hosts are spread and
// keep their servers when others come and go.
func order(host string, servers []*peer) {
	slices.SortFunc(servers, func(a, b *peer) int {
		return cmp.Compare(wire.Weight(host, b.name), wire.Weight(host, a.name))
	})
}
