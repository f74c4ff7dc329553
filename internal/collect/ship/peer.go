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
	look  time.Time // when it may be asked again what it has of files that are settled

	files    map[string]*progress
	gone     map[string]wire.State // of files that the directory has no more: what the server has, with checksums, until it is compared with another's
	onWay    int64                 // bytes that were sent and not acknowledged
	progress time.Time             // when onWay began, or an ack said more
	reached  [ways]time.Time       // all that was sent by then has come or was lost: what came was sent later
	document uint32                // checksum of the metadata that is on its disk
	// documentSent is that of what was sent, and sentAt when.
	documentSent uint32
	sentAt       time.Time
	inVain       int       // how often the metadata was sent, and not acknowledged
	holds        bool      // it has files of this host, whether it is asked to store it or not: what all servers get it gets as well
	heard        bool      // it has acknowledged something since the metadata was sent to it last, so it listens
	describe     time.Time // when the metadata may be sent to it again while it is not asked to store the host
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
	oldest     sending   // the first bytes behind have
	sample     sending   // of which the ack is waited for; its time is 0 without one
	// cutting is when the server was told to drop all behind have. Until it says that it has, nothing behind it is sent: the server has other
	// bytes there, which its acks would count. Zero: nothing is to be dropped.
	cutting time.Time
	cutTold bool // of the cutting
	// unsure is that the directory had the file no more when the server said what it has of it: that may be other bytes than were recorded,
	// if it was never acknowledged and the server lost power since.
	unsure bool
	known  int64 // of have, what is not: it was acknowledged to this agent, or to an earlier one
	// cleared is that the server has no bytes of the file that this one has replaced, once it has dropped what it was told to.
	cleared bool
}

// sending is when bytes were sent, up to where, and on which way.
type sending struct {
	at  time.Time
	to  int64
	way int
}

// Ways to a server: subjects. What is sent on one comes in its order; the other may be faster.
const (
	wayData = iota
	wayFill
	ways
)

// Times of servers.
const (
	deadAfter  = 3 * time.Second        // without a word
	gapAfter   = 300 * time.Millisecond // a file goes back to a gap so long after it moved; chunks behind the gap are still coming
	stuckAfter = time.Second            // with bytes on their way and no ack: some were lost
	retryAfter = time.Second
)

// right returns how many bytes of a file are on the server as they were recorded, as far as that is known.
func (at *progress) right() int64 {
	if !at.unsure {
		return at.have
	}
	return min(at.known, at.have)
}

func (p *peer) of(name string) *progress {
	at := p.files[name]
	if at == nil {
		at = new(progress)
		p.files[name] = at
	}
	return at
}

// sent notes that bytes up to an offset are on their way.
func (p *peer) sent(at *progress, to int64, way int, now time.Time) {
	x := sending{now, to, way}
	if at.sent == at.have || at.oldest.way != way {
		at.oldest = x
	}
	if at.sample.at.IsZero() {
		at.sample = x
	}
	if p.onWay == 0 {
		p.progress = now
	}
	p.onWay += to - at.sent
	at.sent = to
}

// back has what is not acknowledged sent again.
func (p *peer) back(at *progress, now time.Time) {
	p.onWay -= at.sent - at.have
	at.sent, at.moved, at.sample = at.have, now, sending{}
}

// cut has a server drop what it has of a file behind an offset.
func (p *peer) cut(at *progress, to int64, now time.Time) {
	p.onWay -= at.sent - at.have
	at.have, at.sent, at.sample, at.cutting, at.cutTold = to, to, sending{}, now, false
}

// overtaken has files sent again of which something was lost: what was sent later has come. As long as other files grow, nothing else would show it.
func (p *peer) overtaken(now time.Time) {
	if p.state != open || p.onWay <= 0 {
		return
	}
	for _, at := range p.files {
		if at.sent > at.have && p.reached[at.oldest.way].Sub(at.oldest.at) > gapAfter {
			p.back(at, now)
		}
	}
}

// opened takes what a server has. What differs from the directory it has to drop. earlier says what is known of files that the directory has no more.
func (p *peer) opened(d *directory, earlier func(server string, x *wire.State) (acknowledged int64, sure bool), now time.Time, have []wire.State) error {
	before := p.files
	p.state, p.files, p.onWay, p.progress = open, make(map[string]*progress), 0, now
	p.document, p.documentSent, p.inVain, p.reached = 0, 0, 0, [ways]time.Time{}
	p.gone = make(map[string]wire.State)
	for _, s := range have {
		if s.Name == wire.Metadata {
			p.document, p.documentSent = s.Sum, s.Sum
			continue
		}
		f := d.files[s.Name]
		if f == nil { // the recorder has dropped it since: the account asks how much of it came
			at := before[s.Name]
			was, sure := earlier(p.name, &s)
			if at != nil {
				sure, was = at.cutting.IsZero() && at.right() == s.Have, at.right()
			}
			p.files[s.Name], p.gone[s.Name] = &progress{sent: s.Have, have: s.Have, unsure: !sure, known: was}, s
			continue
		}
		same, short, err := matching(f, &s)
		if err != nil {
			return err
		}
		if short && d.past { // the host lost power, and the server has what was not on the host's disk
			p.files[s.Name] = &progress{sent: s.Have, have: s.Have, cleared: true}
			continue
		}
		if was := before[s.Name]; f.replaced && s.Checked > 0 && (was == nil || !was.cleared || !was.cutting.IsZero()) {
			same = 0 // what lies before the checksums may be the other file's
		}
		at := &progress{sent: min(same, f.whole), have: min(same, f.whole), cleared: true}
		if p.files[s.Name] = at; same < s.Have {
			at.cutting = now.Add(-stuckAfter) // at once
		}
	}
	for name, f := range d.files {
		if f.replaced && p.files[name] == nil {
			p.of(name).cleared = true
		}
	}
	return nil
}

// matching returns up to where what a server has of a file is what the file has. Of what lies before the checksums it was told that it is
// on the disk. short is that the file ends there.
func matching(f *file, s *wire.State) (same int64, short bool, err error) {
	if s.Have < 0 || s.Checked < 0 || s.Checked > s.Have {
		return 0, false, nil
	}
	if f.size <= s.Checked && f.size < s.Have {
		return f.size, true, nil
	}
	b := make([]byte, wire.BlockSize)
	at := s.Checked
	parked := f.f == nil
	r, err := f.reader()
	if err != nil {
		return 0, false, err
	}
	if parked {
		defer f.close() // there may be thousands
	}
	for _, sum := range s.Tail {
		n := min(s.Have-at, wire.BlockSize)
		if n <= 0 {
			break
		}
		if got, err := r.ReadAt(b[:n], at); err != nil && err != io.EOF {
			return 0, false, err
		} else if int64(got) < n {
			return at, true, nil
		} else if wire.Sum(b[:n]) != sum {
			return at, false, nil
		}
		at += n
	}
	return at, false, nil
}

// acked takes what a server says.
func (p *peer) acked(a *wire.Ack, now time.Time) {
	p.heard, p.holds = a.Error == "", a.Error == "" && (p.holds || len(a.Files) > 0)
	if i := slices.IndexFunc(a.Files, func(s wire.State) bool { return s.Name == wire.Metadata }); i >= 0 {
		p.document, p.progress, p.inVain = a.Files[i].Sum, now, 0
	}
	if p.state != open {
		return
	}
	for _, s := range a.Files {
		if s.Name == wire.Metadata {
			continue
		}
		at := p.of(s.Name)
		if !at.cutting.IsZero() {
			if s.Have > at.have {
				continue
			}
			at.cutting, at.cutTold = time.Time{}, false
		}
		switch {
		case s.Have > at.have:
			p.onWay -= min(s.Have, at.sent) - min(at.have, at.sent)
			at.have, at.sent, at.moved = s.Have, max(at.sent, s.Have), now
			at.oldest.at = now // or before: what is left was sent later than what has come
			p.progress = now
			if x := at.sample; !x.at.IsZero() && s.Have >= x.to {
				if at.sample = (sending{}); p.reached[x.way].Before(x.at) {
					p.reached[x.way] = x.at
				}
			}
		case s.Have < at.have: // it has lost what was not on its disk; what it had told stays
			p.back(at, now)
			at.have, at.sent = s.Have, s.Have
		case s.Gap && at.sent > at.have && now.Sub(at.moved) > gapAfter:
			p.back(at, now)
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
