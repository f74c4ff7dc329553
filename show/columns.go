package show

import (
	"cmp"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"

	"meridian/clock"
	"meridian/trace"
)

// columns holds what the page draws, in the order in which page/decode.js takes it apart. Every number is a varint
// (encoding/binary), u unsigned, s signed; runs of sorted numbers are differences from the one before, the first from
// zero; instants count from the survey's first.
//
//	row*      corners u, at s then u..., below s..., above s...
//	          marks u, at u..., number s..., described u (0 or 1), [length u..., text]
//	channel*  messages u, sent u..., delay s... (received minus sent, not from the one before)
//	density   steps u (0: none), row*: lane, channel*: lane (messages), lane (inverted)
//	lane      entries u, step u..., count u... (not from the one before)
type columns struct {
	bytes     []byte
	events    []int64 // embedded, per row
	messages  int64   // embedded
	inverted  int64   // of these
	described int64
	text      int // bytes of descriptions so far
}

func (b *columns) u(v uint64) { b.bytes = binary.AppendUvarint(b.bytes, v) }
func (b *columns) s(v int64)  { b.bytes = binary.AppendVarint(b.bytes, v) }

// maxDescription is where a single description is cut off: it is one line of a tooltip.
const maxDescription = 300

// row adds the bounds and the chosen events of a row.
func (b *columns) row(s *scene, row int, v *survey, c *choice, corners []corner) {
	b.u(uint64(len(corners)))
	at, below, above := int64(0), int64(0), int64(0)
	for i, k := range corners {
		if i == 0 {
			b.s(clock.Sub(k.at, v.first))
		} else {
			b.u(uint64(k.at) - uint64(at))
		}
		at = k.at
	}
	for _, k := range corners {
		b.s(k.below - below)
		below = k.below
	}
	for _, k := range corners {
		b.s(k.above - above)
		above = k.above
	}

	type mark struct{ at, number int64 }
	var marks []mark
	s.events(row, func(number int, at int64) {
		if c.allEvents || c.contains(at) {
			marks = append(marks, mark{at, int64(number)})
		}
	})
	slices.SortFunc(marks, func(a, b mark) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.number, b.number)) })
	b.events = append(b.events, int64(len(marks)))
	b.u(uint64(len(marks)))
	last := v.first
	for _, m := range marks {
		b.u(uint64(m.at) - uint64(last))
		last = m.at
	}
	number := int64(0)
	for _, m := range marks {
		b.s(m.number - number)
		number = m.number
	}
	describe := s.Rows[row].Describe
	if describe == nil {
		b.u(0)
		return
	}
	b.u(1)
	texts := make([]byte, 0, 64*min(len(marks), 1<<16))
	for _, m := range marks {
		text := ""
		if b.text < maxText {
			text = shortened(describe(int(m.number)))
			b.text += len(text)
			b.described++
		}
		b.u(uint64(len(text)))
		texts = append(texts, text...)
	}
	b.bytes = append(b.bytes, texts...)
}

// shortened returns one line of valid UTF-8 no longer than a description may be.
func shortened(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if len(text) <= maxDescription {
		return text
	}
	return strings.ToValidUTF8(text[:maxDescription], "") + "…"
}

// channel adds the chosen messages of a channel.
func (b *columns) channel(s *scene, channel int, v *survey, c *choice, worst map[[2]int]bool) {
	var chosen []trace.Message
	s.messages(channel, func(i int, m trace.Message) {
		if c.allMessages || c.contains(m.Sent) || c.contains(m.Received) || worst[[2]int{channel, i}] {
			chosen = append(chosen, m)
			if s.inverted(channel, m) {
				b.inverted++
			}
		}
	})
	slices.SortFunc(chosen, func(a, b trace.Message) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.Received, b.Received))
	})
	b.messages += int64(len(chosen))
	b.u(uint64(len(chosen)))
	last := v.first
	for _, m := range chosen {
		b.u(uint64(m.Sent) - uint64(last))
		last = m.Sent
	}
	for _, m := range chosen {
		b.s(m.Received - m.Sent)
	}
}

// density adds the histogram; nil stands for none.
func (b *columns) density(h *histogram) {
	if h == nil {
		b.u(0)
		return
	}
	b.u(uint64(h.steps))
	for _, lane := range h.rows {
		b.lane(lane)
	}
	for i := range h.channels {
		b.lane(h.channels[i])
		b.lane(h.inverted[i])
	}
}

func (b *columns) lane(counts []uint32) {
	entries := 0
	for _, n := range counts {
		if n > 0 {
			entries++
		}
	}
	b.u(uint64(entries))
	last := 0
	for i, n := range counts {
		if n > 0 {
			b.u(uint64(i - last))
			last = i
		}
	}
	for _, n := range counts {
		if n > 0 {
			b.u(uint64(n))
		}
	}
}

// write deflates the columns (RFC 1951, without a header) and writes them in base64.
func (b *columns) write(w io.Writer) error {
	text := base64.NewEncoder(base64.StdEncoding, w)
	small, err := flate.NewWriter(text, flate.DefaultCompression)
	if err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if _, err := small.Write(b.bytes); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if err := small.Close(); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	if err := text.Close(); err != nil {
		return fmt.Errorf("page: %w", err)
	}
	return nil
}
