package ctf

import (
	"hash/crc32"
	"io/fs"
	"strings"
	"time"
)

// followedFile is a file of packets that grows.
//
//	0                    reader                  whole          size
//	| packets that were read | whole packets       | half a packet |
//
// The reader sees the file up to whole. That moves on when the packet behind it is whole, or when a whole packet stands behind
// that one, which then will never be: it is damaged, or was cut short by a writer that was killed.
type followedFile struct {
	name                   string
	info                   fs.FileInfo // says which file it is
	s                      *Stream
	r                      *Reader   // nil until there is metadata, and while it is parked
	parked                 *parked   // it does not grow, and is closed
	size                   int64     // when it was last looked at
	measured               int       // looks since it was removed
	idle                   int       // looks in a row that found nothing
	judged                 int64     // its size when the packet behind whole was last looked at; -1 for never
	changed                time.Time // its time of change then
	whole                  int64     // end of the whole packets
	searched               int64     // no packet begins between whole and this
	flaws                  []flaw
	cursor                 int // in the Source; -1 for none yet
	headCheck, packetCheck headerCheck
	queued                 bool // the reader's event is in the queue
	gone                   bool // it is no longer in the directory
	ended                  bool // no more is read of it
	unsized                bool // its packets do not say how long they are
}

// flaw is a packet that is not whole though others follow it.
type flaw struct {
	at, limit int64  // where the next packet begins
	problem   string // why none of it is used; "" if its events up to limit are
}

// maxAwaited is how many bytes of whole packets may follow a packet of unknown class: the metadata of some tracers comes later than
// their packets. After that the class is taken for damage.
const maxAwaited = 4 << 20

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// measure takes the size of a file. It reads only where a file that did not grow for long has changed.
func (f *Follower) measure(file *followedFile) error {
	if file.gone {
		file.measured++
	}
	if file.parked != nil {
		return f.look(file)
	}
	if size, err := file.s.file.length(); err == nil {
		file.size = size
	}
	if file.size == file.judged && file.size > file.whole {
		// Half a packet may have been cut off, and another written that ends at the same place.
		info, err := file.s.file.file.Stat()
		if err == nil && (!info.ModTime().Equal(file.changed) || time.Since(file.changed) < coarsestTime(info)) {
			file.changed, file.judged = info.ModTime(), -1
		}
	}
	return nil
}

// flawAt returns the flaw of the packet at an offset, nil if it has none.
func (file *followedFile) flawAt(offset int64) *flaw {
	for i := range file.flaws {
		if file.flaws[i].at == offset {
			return &file.flaws[i]
		}
	}
	return nil
}

// awaitsClass reports whether the reader waits for metadata that has the class of its next event.
func (file *followedFile) awaitsClass(r *Reader) bool {
	return !file.ended && file.whole-r.next < maxAwaited
}

// extend finds the packets of a file that have become whole. It is false if there are none.
func (f *Follower) extend(file *followedFile, renewed bool) bool {
	if file.parked != nil || file.r == nil && !f.begin(file) {
		return false
	}
	if file.size < file.whole {
		f.w.Add(file.s.Path, "file became shorter than what was read of it: it is read on from there", "")
		file.whole, file.searched, file.judged, file.flaws = file.size, 0, -1, nil
		file.r.next, file.r.window.size = min(file.r.next, file.size), file.size
		file.r.window.buf = file.r.window.buf[:0]
	}
	if file.size == file.whole || !renewed && (file.size == file.judged || file.unsized) {
		return false
	}
	if file.size < file.judged {
		file.searched = 0 // cut off: what is there now was not looked at
	}
	file.judged, file.unsized = file.size, false
	p := f.prober(file)
	before := file.whole
	for file.whole < file.size {
		end, ok := f.wholePacket(p, file)
		if !ok {
			break
		}
		file.whole, file.searched = end, 0
	}
	if file.whole == before {
		return false
	}
	file.s.file.size = file.whole
	file.r.window.size = file.whole
	for len(file.flaws) > 0 && file.flaws[0].limit <= file.r.packet.Offset {
		file.flaws = file.flaws[1:]
	}
	return true
}

// prober returns the reader that looks ahead, at a file up to its size.
func (f *Follower) prober(file *followedFile) *Reader {
	p := f.probe
	if p == nil || p.plan != f.t.plan {
		f.probe = file.s.newReader()
		if p != nil {
			f.probe.window.buf, f.probe.lookahead.buf = p.window.buf, p.lookahead.buf
		}
		p = f.probe
	}
	p.s = file.s
	for _, w := range []*fileWindow{&p.window, &p.lookahead} {
		*w = fileWindow{d: file.s.file, size: file.size, buf: w.buf[:0]}
	}
	return p
}

// wholePacket returns the end of the packet at file.whole, if it is whole or will never be.
func (f *Follower) wholePacket(p *Reader, file *followedFile) (end int64, ok bool) {
	at := file.whole
	packet, problem := p.parse(at)
	if problem == "" && !packet.sizeGiven {
		file.unsized = true // as far as the metadata goes
		return 0, false
	}
	unknown := strings.HasPrefix(problem, unknownStreamClass)
	end = at + int64(min(packet.Size/8, 1<<60))
	if problem == "" && end <= file.size {
		if p.isSound(&packet) {
			f.reach(p, &packet)
			return end, true
		}
		problem = wrongChecksum
	}
	behind := f.nextWhole(p, file, max(at+1, file.searched))
	if behind < 0 || unknown && file.size-behind < maxAwaited {
		return 0, false
	}
	if problem == "" && packet.class.checksum >= 0 {
		problem = "it was cut short"
	}
	file.flaws = append(file.flaws, flaw{at: at, limit: behind, problem: problem})
	return behind, true
}

// nextWhole returns the offset of the first whole packet from an offset on, or -1. It remembers up to where there is none.
func (f *Follower) nextWhole(p *Reader, file *followedFile, from int64) int64 {
	for {
		found := p.findPacket(from, file.size)
		if found < 0 {
			// The first bytes of one may be there.
			file.searched = max(file.searched, file.size-maxHeaderBytes)
			return -1
		}
		file.searched = found
		packet, problem := p.parse(found)
		if problem != "" {
			return -1
		}
		if end := found + int64(min(packet.Size/8, 1<<60)); end > file.size {
			return -1
		}
		if p.isSound(&packet) {
			return found
		}
		from = found + 1
	}
}

// isSound reports whether the checksum of a packet that was parsed last is right, if it has one.
func (r *Reader) isSound(p *Packet) bool {
	if p.class.checksum < 0 {
		return true
	}
	want := uint32(r.slots[p.class.checksum])
	sum := uint32(0)
	end := p.Offset + int64(p.Content/8)
	for at := p.Offset + int64(p.header/8); at < end; {
		data := r.window.from(at, min(readAhead, end-at))
		if len(data) == 0 {
			return false
		}
		data = data[:min(int64(len(data)), end-at)]
		sum = crc32.Update(sum, castagnoli, data)
		at += int64(len(data))
	}
	return sum == want
}

// adopt gives a reader the trace's metadata as it is now. The reader stands between two packets.
func (r *Reader) adopt() {
	p := r.s.trace.plan
	if r.plan == p {
		return
	}
	r.plan, r.clockOf = p, nil
	if len(r.slots) < p.slots {
		r.slots = make([]uint64, p.slots)
	}
}

// reenter goes to the packet at an offset, behind its first n events, and counts nothing. It is false if that packet is no
// longer there.
func (r *Reader) reenter(offset int64, n int, cycles uint64) bool {
	tally, counters, now := r.Tally, r.streamCounters, r.now
	r.pos, r.end, r.readable = 0, 0, 0
	r.cycles, r.next = cycles, offset
	r.adopt()
	p, problem := r.parse(offset)
	if problem != "" {
		r.pos, r.end = 0, 0
		return false
	}
	r.next = r.packetLimit(&p)
	if !r.enter(&p, r.next) {
		return false
	}
	for r.packetEvents < n && r.packet.Offset == offset && r.Next() == nil {
	}
	r.Tally, r.streamCounters = tally, counters
	if n == 0 {
		r.now = now
	}
	return r.packet.Offset == offset && r.packetEvents == n
}

// read reports whether something of the file was read, or might have been.
func (file *followedFile) read() bool { return file.r != nil || file.parked != nil }

// tally returns what was counted of the file so far. It is the file's.
func (file *followedFile) tally() *Tally {
	switch {
	case file.parked != nil:
		return &file.parked.at.Tally
	case file.r != nil:
		return &file.r.Tally
	}
	return new(Tally)
}

// finish reports what was counted of a file, of which no more will be read.
func (file *followedFile) finish() {
	file.ended = true
	r := file.r
	if file.parked != nil {
		r = file.parked.reporter(file)
	}
	if r == nil {
		return
	}
	if r.Packets+r.Damaged > 0 {
		r.finish()
	}
	r.done, r.pos, r.end, r.readable = true, 0, 0, 0
	r.ev, r.sp, r.data = nil, nil, nil
}

// close closes the file, unless it is.
func (file *followedFile) close() error {
	if file.parked != nil {
		return nil
	}
	return file.s.file.Close()
}
