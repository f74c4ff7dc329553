package tracefs

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// page decodes a page of the ring buffer, as trace_pipe_raw returns it:
//
//	 0 stamp 8                    of the beginning; events have differences
//	 8 commit 4 or 8              length of the data, and two flags: events were lost before this page, and how many
//	16 data: events, each with a header of 4 bytes: 5 bits type_len, 27 bits of difference to the stamp before
//	   1..28  as many words of data follow
//	   0      a word with the length of itself and the data follows
//	   29     discarded; a word with its length follows. A difference of 0: the rest of the page is empty
//	   30     a word with the upper bits of a longer difference follows, and no data
//	   31     the same of a stamp, of 59 bits
//	.. count 8                    of the events lost, behind the data, if there is room
type page struct {
	layout *pageLayout
	data   []byte // not decoded yet
	stamp  uint64
	missed uint64 // events lost before this page
}

const (
	typePadding = 29
	typeExtend  = 30
	typeStamp   = 31

	headerBytes = 4
	deltaBits   = 27

	missedFlag    = 1 << 31
	countedFlag   = 1 << 30
	highStampBits = uint64(0x1f) << 59 // missing in a stamp of the data
)

// pageLayout is the layout of header_page.
type pageLayout struct {
	stamp, commit, data field
}

// size is that of a page, and of a read of trace_pipe_raw.
func (l *pageLayout) size() int { return l.data.offset + l.data.size }

// parsePageLayout reads header_page, and checks that header_event is the layout that page decodes.
func parsePageLayout(headerPage, headerEvent string) (*pageLayout, error) {
	f, err := parseFormat(headerPage)
	if err != nil {
		return nil, fmt.Errorf("header_page: %w", err)
	}
	l := &pageLayout{}
	for _, want := range []struct {
		name string
		to   *field
	}{{"timestamp", &l.stamp}, {"commit", &l.commit}, {"data", &l.data}} {
		found, ok := f.field(want.name)
		if !ok {
			return nil, fmt.Errorf("header_page: no field %s", want.name)
		}
		*want.to = found
	}
	if l.stamp.size != 8 || l.commit.size != 8 && l.commit.size != 4 || l.data.size == 0 ||
		max(l.stamp.offset+l.stamp.size, l.commit.offset+l.commit.size) > l.data.offset {
		return nil, fmt.Errorf("header_page: fields overlap or have unknown sizes")
	}
	header := strings.Join(strings.Fields(headerEvent), " ")
	for _, want := range []string{"type_len : 5 bits", "time_delta : 27 bits", "array : 32 bits", "padding : type == 29",
		"time_extend : type == 30", "max type_len == 28"} {
		if !strings.Contains(header, want) {
			return nil, fmt.Errorf("header_event: unknown layout, without %q", want)
		}
	}
	return l, nil
}

// open begins a page. It keeps the buffer until the next page.
func (p *page) open(l *pageLayout, b []byte) error {
	*p = page{layout: l}
	if len(b) < l.data.offset {
		return fmt.Errorf("page of %d bytes, shorter than its header", len(b))
	}
	p.stamp = binary.LittleEndian.Uint64(b[l.stamp.offset:])
	commit := uint64(le32(b[l.commit.offset:]))
	length := int(commit &^ (missedFlag | countedFlag))
	data := b[l.data.offset:]
	if length > len(data) {
		return fmt.Errorf("page of %d bytes with %d of data", len(b), length)
	}
	p.data = data[:length]
	if commit&missedFlag != 0 {
		p.missed = 1 // at least
		if rest := data[length:]; commit&countedFlag != 0 && len(rest) >= 8 {
			p.missed = binary.LittleEndian.Uint64(rest)
		}
	}
	return nil
}

// next returns the data of the next event, and sets stamp to the event's. The data is nil at the page's end, and with an error
// if the rest of the page is invalid and was skipped.
func (p *page) next() ([]byte, error) {
	for len(p.data) >= headerBytes {
		head := le32(p.data)
		kind, delta := head&31, uint64(head>>5)
		if kind == typePadding && delta == 0 {
			break
		}
		start, length := headerBytes, int(kind)*4
		if kind == 0 || kind >= typePadding {
			if len(p.data) < 8 {
				return p.cut()
			}
			word := le32(p.data[4:])
			start = 8
			switch kind {
			case typeExtend:
				p.stamp += delta + uint64(word)<<deltaBits
				p.data = p.data[8:]
				continue
			case typeStamp:
				p.stamp = completeStamp(delta+uint64(word)<<deltaBits, p.stamp)
				p.data = p.data[8:]
				continue
			}
			if word < 4 || uint64(word) > uint64(len(p.data)-4) {
				return p.cut()
			}
			length = int(word) - 4
		}
		if start+length > len(p.data) {
			return p.cut()
		}
		data := p.data[start : start+length]
		p.data = p.data[start+length:]
		p.stamp += delta
		if kind != typePadding {
			return data, nil
		}
	}
	p.data = nil
	return nil, nil
}

func (p *page) cut() ([]byte, error) {
	n := len(p.data)
	p.data = nil
	return nil, fmt.Errorf("event cut short %d bytes before the end of its page", n)
}

// completeStamp returns a stamp of which 59 bits are known, from the one before, which it does not precede.
func completeStamp(stamp, before uint64) uint64 {
	high := before & highStampBits
	if stamp |= high; high != 0 && stamp < before {
		stamp += 1 << 59
	}
	return stamp
}

func le32(b []byte) uint32 { return binary.LittleEndian.Uint32(b) }

// widen reads a number of 1, 2, 4 or 8 bytes, and returns 0 for other sizes.
func widen(b []byte, signed bool) uint64 {
	var n uint64
	switch len(b) {
	case 1:
		n = uint64(b[0])
	case 2:
		n = uint64(binary.LittleEndian.Uint16(b))
	case 4:
		n = uint64(binary.LittleEndian.Uint32(b))
	case 8:
		return binary.LittleEndian.Uint64(b)
	}
	if signed {
		unused := 64 - 8*uint(len(b))
		return uint64(int64(n<<unused) >> unused)
	}
	return n
}
