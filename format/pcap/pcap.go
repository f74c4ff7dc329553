// Package pcap reads and writes packet captures: pcap in all its dialects and pcapng, plain or compressed with gzip or
// zstd.
//
//	file --> Reader --> Frame by Frame ------------------------------> order --> Writer --> file.pcapng
//	              \--> Decoder --> Packet by Packet (Read: a Capture) --> match
//
// A capture is read twice. [Read] makes the first pass: every frame becomes a [trace.Packet] of 40 bytes and belongs to a
// [trace.Flow]. The second pass, a [Reader] alone, brings the frames themselves to be written at corrected times. Both
// passes number the frames alike: frame i of the second is packet i of the first.
//
// # What a file may be
//
//	pcap     | magic, version, snap length, link type (24) | seconds, fraction, kept, wire (16) | data | ...
//	pcapng   | block type (4) | total length (4) | body, a multiple of 4 | total length (4) | ...
//
// pcap in microseconds and nanoseconds, and with the longer packet header of Kuznetzov's patch, in either byte order;
// pcapng with any number of sections, each in its own byte order, and all units of time.
//
// # Damage
//
// No length in a file is believed before as many bytes have arrived, so that a few corrupt bytes cost neither memory nor
// a crash. Of a file that is cut all whole packets are used, and a warning names the place. Where a length is corrupt,
// reading ends there: what looks like a packet behind it could be the inside of another. Only in pcapng, where
// a block's length stands at both of its ends, a bad block is skipped if the two agree.
//
// # Digest
//
// Packet.Digest is equal on both hosts for the two observations of one packet, through NAT and checksum offload: it covers
// neither addresses nor ports nor checksums.
//
//	TCP with payload      0: sequence numbers tell it
//	TCP without           the flags up to URG, window, echoed timestamp, SACK blocks; its upper 16 bits only the left edge
//	                      of the first block, its lower 16 bits are 0 where the capture cut the blocks
//	UDP, UDP-Lite, SCTP,  the first 32 bytes of payload; of SCTP above its common header of 12 bytes, of DCCP above
//	  DCCP                the 8 bytes in which ports and checksum stand
//	ICMP echo             type, code, sequence number, the first 32 bytes above the 8-byte header; not the identifier,
//	                      which NAT rewrites
//	ICMP errors           type and code: the header that they quote is rewritten
//	other ICMP            type, code, the first 32 bytes above the 8-byte header
//	fragment              its offset, and its first 32 bytes above that header, where it is the first
//	any other over IP     the first 32 bytes
//	tunnel                that of the innermost packet; where that could not be read, the first 32 bytes behind the
//	                      tunnel's header and that of Ethernet inside it
//
// Digest is 0 for content that the capture did not keep (less than 32 bytes and less than the payload); a hash that
// comes out as 0 is 1. The hash is fixed: captures reduced by different processes can be matched.
//
// # Files that grow
//
// A [Follower] reads a file while another program appends to it. It brings the packets whose blocks are whole. Half a block waits and
// is read again once the file has changed, for its writer may be killed and its successor cut it off.
//
// # Cost
//
// Reading and decoding allocate nothing per frame and take about 50 ns of one core for each; see the benchmarks.
//
// Links and tunnels: decode.go, linktypes.go, ether.go, ppp.go, wireless.go, nflog.go, tunnel.go.
//
// Sources: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng, tcpdump.org/linktypes.html, RFC 791, 8200, 9293, 7323, 768,
// 792, 4443; IEEE 802.1AE, 802.2, 802.11, radiotap.org; RFC 1042, 1661, 2427, 2516, 2661, 2684, 2784, 2890, 3031, 3378, 4385, 7348,
// 8926; draft-foschiano-erspan; 3GPP TS 29.281.
package pcap

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"meridian/clock"
	"meridian/format/internal/stream"
	"meridian/trace"
)

// Reader brings the frames of one capture. It implements [trace.FrameReader]. Consumed and Interfaces may be called
// while another goroutine is in Next.
type Reader struct {
	file   string
	source *stream.Stream
	in     window
	next   func(*trace.Frame) error // of the file's format

	layout
	number int            // of the next frame
	at     int64          // offset of the record or block being read
	last   clock.HostTime // stamp of the last frame that had one
	end    error          // what Next returns from now on
	tally  tally

	shown   atomic.Pointer[[]trace.Interface] // what other goroutines may see of ifaces
	unknown bool                              // the frame has no stamp of its own

	live  bool   // of a Follower: the file grows
	stuck string // of such a file: what is wrong where reading stands

	badFractions int    // pcap: frames with an impossible fraction of a second
	options      []byte // pcapng: options of a big-endian packet, turned round

	blocks *fileBlocks // pcapng: what is kept beside packets; nil: nothing
}

// layout is what the file has said so far of how its packets are to be read.
type layout struct {
	big    bool             // the file or the section is big-endian
	order  binary.ByteOrder // the same, for what is rare
	ifaces []trace.Interface
	step   int64 // Resolution

	// pcap
	header   int    // bytes of a packet record before its data: 16, or 24 in Kuznetzov's dialect
	scale    int64  // ns of a unit of the fraction
	limit    uint32 // longest frame that is not damage
	fraction uint32 // units of the fraction in a second
	swapped  bool   // the two lengths may stand the other way round

	// pcapng
	units     []unit // of each interface
	section   int    // index in ifaces of the section's first interface
	described int    // bytes that the descriptions of interfaces take
}

// Open opens a capture. Warnings go to w, which may be nil.
func Open(path string, w *trace.Warnings) (*Reader, error) {
	s, err := stream.Open(path)
	if err != nil {
		return nil, explain(path, err)
	}
	r, err := newReader(s, path, w)
	if err != nil {
		s.Close()
		return nil, err
	}
	return r, nil
}

// NewReader reads a capture from r, which stays the caller's to close; file is its name in errors and warnings.
func NewReader(r io.Reader, file string, w *trace.Warnings) (*Reader, error) {
	s, err := stream.New(r)
	if err != nil {
		return nil, explain(file, fmt.Errorf("%s: %w", file, err))
	}
	reader, err := newReader(s, file, w)
	if err != nil {
		s.Close()
		return nil, err
	}
	return reader, nil
}

// explain says of compressed data that end before anything can be read what it means.
func explain(file string, err error) error {
	var damage *stream.Damage
	if errors.As(err, &damage) {
		return fmt.Errorf("%s: %w before anything of the capture; copy or compress it again", file, damage)
	}
	return err
}

func newReader(s *stream.Stream, file string, w *trace.Warnings) (*Reader, error) {
	r := &Reader{file: file, source: s, in: newWindow(s), layout: layout{step: 1}, tally: tally{file: file, w: w}}
	r.shown.Store(new([]trace.Interface))
	r.in.need(headerLength)
	head := r.in.rest()
	switch {
	case len(head) == 0 && r.in.err == io.EOF:
		return nil, fmt.Errorf("%s: empty file", file)
	case len(head) < 12 && r.in.err != io.EOF && !Recognises(head):
		return nil, explain(file, fmt.Errorf("%s: %w", file, r.in.err))
	case !Recognises(head):
		return nil, fmt.Errorf("%s: neither pcap nor pcapng (begins with % x); give a capture as tcpdump -w, dumpcap or Wireshark write it",
			file, head[:min(8, len(head))])
	}
	if isBlocks(head) {
		r.next = r.nextBlock
		return r, nil
	}
	return r, r.beginRecords(head)
}

// Recognises tells from the first bytes of a file, at best 12, whether it is a capture that this package reads.
func Recognises(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	_, ok := dialectOf(head)
	return ok || isBlocks(head)
}

// Next fills f with the next frame. Its bytes stay valid until the next call.
func (r *Reader) Next(f *trace.Frame) error {
	if r.end != nil {
		return r.end
	}
	err := r.next(f)
	if err != nil {
		r.end = err
		r.tally.flush()
	}
	return err
}

// Interfaces returns the interfaces met so far: of pcapng those described before the last frame, of pcap its one.
func (r *Reader) Interfaces() []trace.Interface { return *r.shown.Load() }

func (r *Reader) addInterface(i trace.Interface) {
	r.ifaces = append(r.ifaces, i)
	// Others see the slice as it was when they asked: appending never writes to what they hold.
	shown := r.ifaces
	r.shown.Store(&shown)
}

// Consumed returns how many bytes of the file were read so far, compressed ones where it is compressed.
func (r *Reader) Consumed() int64 { return r.source.Consumed() }

// Resolution returns the resolution in ns of the timestamps read so far: the coarsest of the interfaces that had packets, at least 1.
func (r *Reader) Resolution() int64 { return r.step }

// Close ends all reading and closes what Open opened. It must not be called while another goroutine is in Next.
func (r *Reader) Close() error {
	if r.end == nil {
		r.end = io.EOF
	}
	r.tally.flush()
	return r.source.Close()
}

// Kinds of damage, as they read after the file's name.
const (
	cutPacket   = "cut in the middle of a packet; what is whole is used"
	cutBlock    = "cut in the middle of a block that holds no packet; what is whole is used"
	cutHeader   = "cut in the middle of the file's header"
	badLength   = "a packet's length is corrupt; what comes before it is used"
	badBlock    = "a block's length is corrupt; what comes before it is used"
	badVersion  = "a section in an unknown version of pcapng; what comes before it is used"
	zeros       = "zeros instead of packets, as a crash leaves them; what comes before them is used"
	tooMany     = "descriptions of interfaces take more than 32 MiB; what comes before that is used"
	badContent  = "packets whose contents contradict their block are left out"
	badStamp    = "packets with a stamp outside of the years 1823 to 2116 are left out"
	noStamp     = "packets without a stamp (simple packet blocks) take that of the packet before and are not matched"
	badFraction = "packets with an impossible fraction of a second, one second or more, take the stamp of the packet before and are not matched"
	absurdTime  = "packets have timestamps that are none, far from all others or all the same; they are shown beside their neighbours and not matched"
	mostBad     = "most packets have an impossible fraction of a second, so none is matched; the file may count nanoseconds where it says microseconds"
	shortWire   = "packets with less length on the wire than was captured; what was captured is used"
	zeroHole    = "zeros instead of packets in the middle of the file; what comes before them is used"
	damagedData = " data damaged or cut short; what came before is used"
)

// gaps are the kinds that leave something out of a capture.
var gaps = map[string]bool{
	cutPacket: true, cutBlock: true, cutHeader: true, zeros: true, zeroHole: true,
	badLength: true, badBlock: true, badVersion: true, tooMany: true, badContent: true, badStamp: true,
}

// stop ends the capture where fewer bytes are left than belong together: quietly at the end of the file if none are, with
// a warning if it is cut there, with an error if it could not be read.
func (r *Reader) stop(cut string) error {
	var damage *stream.Damage
	switch err := r.in.err; {
	case r.live && err == io.EOF: // for now
	case errors.As(err, &damage):
		r.tally.flush()
		r.tally.compressed(damage, r.place())
	case err != io.EOF:
		return fmt.Errorf("%s: %s: %w", r.file, r.place(), err)
	case len(r.in.rest()) > 0 || r.in.offset() > r.at:
		r.damage(cut)
	}
	return io.EOF
}

// damage reports damage to the packet being read. What a growing file cannot be read beyond may be written anew.
func (r *Reader) damage(kind string) {
	if r.live && (kind == badLength || kind == badBlock || kind == badVersion || kind == zeros) {
		r.stuck = kind
		return
	}
	r.tally.add(kind, r.number, r.at)
}

// damageZeros reports zeros where a packet should begin. Up to the end of the file nothing is lost by them, but before other bytes.
func (r *Reader) damageZeros() {
	kind := zeros
	for w := &r.in; kind == zeros && !r.live && w.need(1); w.lo = w.hi {
		if slices.ContainsFunc(w.rest(), func(b byte) bool { return b != 0 }) {
			kind = zeroHole
		}
	}
	if err := r.in.err; !r.live && err != nil && err != io.EOF {
		kind = zeroHole // and what is behind them cannot be read
	}
	r.damage(kind)
}

func (r *Reader) place() string { return place{r.number, r.at}.String() }
