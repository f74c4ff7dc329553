package publish

import (
	"bytes"
	"fmt"
	"slices"
	"sync"

	"meridian/format/ctf"
	"meridian/format/jsonl"
	"meridian/order"
	"meridian/trace"
)

// output is the events of a timeline in one format. They are encoded while somebody wants them, and numbered in any case: the numbers are the
// same in all formats.
type output struct {
	feed    *feed
	enc     encoder
	want    bool   // as of the last step
	unheard uint64 // events since the last step that nobody wanted
	seen    uint64 // number of the next event, as of the last step
	fault   error  // why there are no more
}

// encoder encodes events and appends messages to a feed.
type encoder interface {
	write(e *trace.TimelineEvent, n order.Note) error
	cut() error    // hands on what was written
	skip(n uint64) // events that were not written
}

// maxMessage is how many bytes of events a message has at most, unless one event is longer.
const maxMessage = 32 << 10

func (o *output) write(e *trace.TimelineEvent, n order.Note) {
	if !o.want || o.fault != nil {
		o.unheard++
		return
	}
	if err := o.enc.write(e, n); err != nil {
		o.fault = err
	}
}

// step hands on what has come. It says whether anything has.
func (o *output) step() (grew bool) {
	if o.fault == nil {
		o.fault = o.enc.cut()
	}
	if o.unheard > 0 {
		o.enc.skip(o.unheard)
		o.feed.skip(o.unheard)
		o.unheard = 0
	}
	o.want = o.feed.wanted()
	next := o.feed.end().event
	grew, o.seen = next > o.seen, next
	return grew
}

// lines encodes events as lines of JSON.
type lines struct {
	feed   *feed
	writer *jsonl.Writer
	buffer bytes.Buffer
	ends   []int
}

func newLines(s *trace.Schema) (o *output, err error) {
	l := &lines{feed: newFeed(feedBytes)}
	l.writer, err = jsonl.NewWriter(&l.buffer, s)
	return &output{feed: l.feed, enc: l, seen: 1}, err
}

func (l *lines) write(e *trace.TimelineEvent, n order.Note) error {
	l.writer.Annotate(int64(n.Behind), int64(n.Moved))
	if err := l.writer.Write(e); err != nil {
		return err
	}
	if err := l.writer.Flush(); err != nil {
		return err
	}
	if l.ends = append(l.ends, l.buffer.Len()); l.buffer.Len() >= maxMessage {
		return l.cut()
	}
	return nil
}

func (l *lines) cut() error {
	if len(l.ends) > 0 {
		l.feed.append(&message{events: uint64(len(l.ends)), data: bytes.Clone(l.buffer.Bytes()), ends: slices.Clone(l.ends)})
	}
	l.buffer.Reset()
	l.ends = l.ends[:0]
	return nil
}

func (l *lines) skip(uint64) {}

// maxMetadata limits what describes the packets of a timeline, bytes: event classes come from other machines.
const maxMetadata = 16 << 20

// packets encodes events as CTF packets, one in a message.
type packets struct {
	feed   *feed
	writer *ctf.PacketWriter

	mu       sync.Mutex
	metadata []byte // of the packets that are in the feed; only its end grows
}

func newPackets(s *trace.Schema, session, timeline string) (o *output, p *packets, err error) {
	p = &packets{feed: newFeed(feedBytes)}
	env := []ctf.Env{{Name: "session", Text: session, IsText: true}, {Name: "timeline", Text: timeline, IsText: true}}
	p.writer, err = ctf.NewPacketWriter(s, ctf.PacketOptions{PacketSize: maxMessage, Env: env, Packet: p.take})
	return &output{feed: p.feed, enc: p, seen: 1}, p, err
}

// take takes a packet from the writer.
func (p *packets) take(x ctf.TimelinePacket) {
	p.mu.Lock()
	if x.Metadata > len(p.metadata) {
		p.metadata = append(p.metadata, p.writer.Metadata(len(p.metadata))...)
	}
	p.mu.Unlock()
	p.feed.append(&message{events: x.Events, data: bytes.Clone(x.Data), metadata: x.Metadata})
}

func (p *packets) write(e *trace.TimelineEvent, n order.Note) error {
	p.writer.Annotate(int64(n.Moved))
	if err := p.writer.Write(e); err != nil {
		return err
	}
	return p.tooMuch()
}

func (p *packets) tooMuch() error {
	if n := len(p.metadata); n > maxMetadata {
		return fmt.Errorf("the metadata of its event classes has %d bytes, of which %d are permitted", n, maxMetadata)
	}
	return nil
}

func (p *packets) cut() error { return p.writer.Flush() }

func (p *packets) skip(n uint64) { p.writer.Discard(n) }

// describe returns the metadata from an offset on, at most so many bytes of it.
func (p *packets) describe(from uint64, most int) ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from > uint64(len(p.metadata)) {
		return nil, fmt.Errorf("the metadata has %d bytes, and those from %d on are asked for", len(p.metadata), from)
	}
	b := p.metadata[from:]
	return bytes.Clone(b[:min(len(b), most)]), nil
}
