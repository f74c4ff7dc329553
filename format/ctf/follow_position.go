package ctf

import (
	"encoding/hex"
	"hash/crc32"
	"slices"
)

// Position says which events of a trace a [Follower] has returned. It is small, some 200 bytes a file, and is stored as JSON.
type Position struct {
	UUID  string         `json:"uuid,omitempty"` // of the trace; "" if it was not known
	Files []FilePosition `json:"files,omitempty"`
	Past  Tally          `json:"past"` // of files that were removed
}

// FilePosition says how far a file was read: up to an event of a packet, which another Follower finds again.
type FilePosition struct {
	Name      string `json:"name"`
	Packet    int64  `json:"packet"`           // offset of the packet that was read last; -1 for none
	Check     uint32 `json:"check,omitempty"`  // checksum of its first bytes
	Head      uint32 `json:"head,omitempty"`   // of the file's first bytes
	Events    int    `json:"events,omitempty"` // how many of its events were returned
	Done      bool   `json:"done,omitempty"`   // nothing of it is left
	Next      int64  `json:"next,omitempty"`   // offset of what follows it
	Cycles    uint64 `json:"cycles,omitempty"` // before the packet
	Sequence  int64  `json:"sequence,omitempty"`
	FirstSeen int64  `json:"first_seen,omitempty"`
	Discarded int64  `json:"discarded,omitempty"`
	Tally     Tally  `json:"tally"`
}

func (p *Position) uuid() (u [16]byte, ok bool) {
	b, err := hex.DecodeString(p.UUID)
	if err != nil || len(b) != len(u) {
		return u, false
	}
	return [16]byte(b), true
}

// Position returns where the Follower is: behind the event that Next returned last.
func (f *Follower) Position() Position {
	p := Position{Past: f.past}
	if f.metadata.hasUUID {
		p.UUID = hex.EncodeToString(f.metadata.uuid[:])
	}
	p.Files = append(p.Files, f.rest...)
	if f.src != nil {
		f.markQueued()
	}
	for _, file := range f.files {
		if file.read() {
			p.Files = append(p.Files, f.positionOf(file))
		}
	}
	return p
}

// checkedBytes is how many bytes at the beginning of a packet tell it from others: its header and context, which have its time.
const checkedBytes = 256

// headerCheck is a checksum of the first bytes of what begins at an offset.
type headerCheck struct {
	at, n int64
	sum   uint32
}

// of computes it anew if it is another one's. It is 0 if the bytes cannot be read.
func (c *headerCheck) of(d *dataFile, at, limit int64) uint32 {
	n := min(checkedBytes, limit-at)
	if n <= 0 {
		return 0
	}
	if c.n != n || c.at != at {
		b := make([]byte, n)
		if _, err := d.file.ReadAt(b, at); err != nil {
			return 0
		}
		*c = headerCheck{at, n, crc32.Checksum(b, castagnoli)}
	}
	return c.sum
}

func (f *Follower) positionOf(file *followedFile) FilePosition {
	if file.parked != nil {
		at := file.parked.at
		at.Name = file.name // it may have been renamed
		return at
	}
	r := file.r
	at := FilePosition{Name: file.name, Packet: -1, Next: r.next, Tally: r.Tally}
	if r.packetIndex == 0 {
		return at
	}
	at.Packet, at.Events, at.Cycles = r.packet.Offset, r.packetEvents, r.cyclesBefore
	at.Sequence, at.FirstSeen, at.Discarded = r.sequence, r.firstSeen, r.discarded
	if file.queued && f.src.current != r {
		at.Events-- // it has not been returned
		at.Tally.Events--
	}
	at.Done = !file.queued && r.pos >= r.end && r.end >= r.readable
	at.Check = file.packetCheck.of(file.s.file, at.Packet, at.Next)
	at.Head = file.headCheck.of(file.s.file, 0, at.Next)
	return at
}

// place finds the position of a file among those where an earlier Follower was: under its name or, if it was renamed since, another.
// It is nil for a file that is new. Not ok means that this cannot be told yet.
func (f *Follower) place(file *followedFile) (at *FilePosition, ok bool) {
	d := file.s.file
	for i := range f.rest {
		p := &f.rest[i]
		var head, packet headerCheck
		switch {
		case p.Packet < 0:
			if p.Name != file.name {
				continue // nothing was read of it
			}
		case p.Packet >= p.Next || p.Next > file.size:
			// It may be a copy that has not got that far.
			if p.Name == file.name && p.Packet < p.Next && (file.size < checkedBytes || head.of(d, 0, p.Next) == p.Head) {
				return nil, false
			}
			continue
		case packet.of(d, p.Packet, p.Next) != p.Check:
			continue
		}
		found := *p
		f.rest = slices.Delete(f.rest, i, i+1)
		return &found, true
	}
	return nil, true
}

// forget drops the positions of files that are gone, whose names others have now.
func (f *Follower) forget() {
	if slices.ContainsFunc(f.files, func(file *followedFile) bool { return !file.read() }) {
		return // it may be one of them
	}
	f.rest = slices.DeleteFunc(f.rest, func(p FilePosition) bool {
		if f.named[p.Name] == nil {
			return false // it may come yet
		}
		f.past.add(&p.Tally)
		return true
	})
}

// begin makes the reader of a file, which goes on where an earlier Follower was. It is false while that cannot be told yet.
func (f *Follower) begin(file *followedFile) bool {
	at, ok := f.place(file)
	if !ok {
		return false
	}
	f.resume(file, at)
	return true
}

// resume makes the reader of a file, which goes on at a position; nil for its beginning.
func (f *Follower) resume(file *followedFile, at *FilePosition) {
	d, r := file.s.file, file.s.newReader()
	r.live, file.r = file, r
	d.size, r.window.size = 0, 0
	if at == nil {
		return
	}
	d.size, r.window.size, file.whole, r.next = at.Next, at.Next, at.Next, at.Next
	if at.Packet >= 0 && !r.reenter(at.Packet, at.Events, at.Cycles) {
		f.w.Add(file.s.Path, "packet that was being read cannot be read again: the file is read on behind it", "")
	}
	if at.Done {
		r.pos, r.end, r.readable = 0, 0, 0
	}
	r.Tally, r.next = at.Tally, at.Next
	r.sequence, r.firstSeen, r.discarded = at.Sequence, at.FirstSeen, at.Discarded
	r.previous = r.packet
}
