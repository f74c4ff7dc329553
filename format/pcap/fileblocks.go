package pcap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"

	"meridian/clock"
	"meridian/trace"
)

// Blocks beside packets and interfaces are kept while a file is read, so that merged captures have them too: they are
// few, but stand anywhere in the file, and to look for them later would be to read it once more.

// maxKeptBlocks is how many bytes the blocks of a file may take that are kept.
const maxKeptBlocks = 64 << 20

// fileBlocks holds the blocks of a file that are written again.
type fileBlocks struct {
	list  []trace.FileBlock
	bytes int // that list takes
	left  int // blocks that are not kept
}

// keepBlock reads a block that is no packet, interface or section, of a length that has been checked to be possible.
func (r *Reader) keepBlock(kind, length uint32) error {
	const overhead = 64 // of a FileBlock, about
	switch kind {
	case namesBlock, statisticsBlock, secretsBlock, customBlock:
	default:
		r.blocks.left++
		return r.passOver(length, false)
	}
	if int64(r.blocks.bytes)+int64(length)+overhead > maxKeptBlocks {
		r.blocks.left++
		return r.passOver(length, false)
	}
	w := &r.in
	if !w.need(int(length)) {
		return r.stop(cutBlock)
	}
	block := w.buf[w.lo : w.lo+int(length)]
	if r.u32(block[length-4:]) != length {
		r.damage(badBlock)
		return io.EOF
	}
	w.lo += int(length)
	b, ok := r.fileBlock(kind, block[8:length-4])
	if !ok {
		r.blocks.left++
		return nil
	}
	b.Packets = r.number
	r.blocks.list = append(r.blocks.list, b)
	r.blocks.bytes += len(b.Data) + overhead
	return nil
}

// fileBlock returns a copy of the block with a body; false for one that contradicts itself.
func (r *Reader) fileBlock(kind uint32, body []byte) (b trace.FileBlock, ok bool) {
	switch kind {
	case secretsBlock:
		b.Kind = trace.SecretsBlock
		b.Data, ok = r.secrets(body)
	case namesBlock:
		b.Kind = trace.NamesBlock
		b.Data, ok = r.names(body)
	case statisticsBlock:
		return r.statistics(body)
	case customBlock:
		// The enterprise's number has the byte order of the section, what follows that of the enterprise.
		if len(body) >= 4 {
			b.Kind, ok = trace.CustomBlock, true
			b.Data = append(binary.LittleEndian.AppendUint32(nil, r.u32(body)), body[4:]...)
		}
	}
	return b, ok
}

// secrets copies the body of a decryption secrets block: type, length, the secrets, options.
func (r *Reader) secrets(body []byte) ([]byte, bool) {
	if len(body) < 8 {
		return nil, false
	}
	n := r.u32(body[4:])
	if int64(n) > int64(len(body)-8) {
		return nil, false
	}
	end := 8 + (int(n)+3)&^3 // at most the body, which is a multiple of 4
	out := binary.LittleEndian.AppendUint32(make([]byte, 0, len(body)+4), r.u32(body))
	out = binary.LittleEndian.AppendUint32(out, n)
	out = append(out, body[8:end]...)
	return endOptions(r.copyOptions(out, body[end:], nil), len(out)), true
}

// names copies the body of a name resolution block: records of a type, a length and that many bytes, up to one of type
// 0; options.
func (r *Reader) names(body []byte) ([]byte, bool) {
	out := make([]byte, 0, len(body)+4)
	for len(body) >= 4 {
		kind, n := r.order.Uint16(body), int(r.order.Uint16(body[2:]))
		next := 4 + (n+3)&^3
		if next > len(body) {
			return nil, false
		}
		out = binary.LittleEndian.AppendUint16(out, kind)
		out = binary.LittleEndian.AppendUint16(out, uint16(n))
		out = append(out, body[4:next]...)
		body = body[next:]
		if kind == 0 {
			break
		}
	}
	return endOptions(r.copyOptions(out, body, nil), len(out)), true
}

// Options of interface statistics: two instants, then counts of 64 bits.
const (
	statisticsBegan    = 2
	statisticsEnded    = 3
	statisticsReceived = 4
	statisticsDropped  = 7
	statisticsUsed     = 8
)

// statistics reads a block of an interface, an instant, and options.
func (r *Reader) statistics(body []byte) (b trace.FileBlock, ok bool) {
	if len(body) < 12 {
		return b, false
	}
	local := r.u32(body)
	if int64(local) >= int64(len(r.ifaces)-r.section) {
		return b, false
	}
	b.Kind, b.Interface = trace.StatisticsBlock, r.section+int(local)
	at := func(v []byte) (clock.HostTime, bool) {
		return r.units[b.Interface].time(uint64(r.u32(v))<<32 | uint64(r.u32(v[4:])))
	}
	b.Time, ok = at(body[4:])
	b.Data = r.copyOptions(nil, body[12:], func(code uint16, value []byte) bool {
		if len(value) != 8 {
			return code != statisticsBegan && code != statisticsEnded
		}
		switch {
		case code == statisticsBegan:
			b.Began, _ = at(value)
			return false
		case code == statisticsEnded:
			b.Ended, _ = at(value)
			return false
		case code >= statisticsReceived && code <= statisticsUsed && r.big:
			binary.LittleEndian.PutUint64(value, binary.BigEndian.Uint64(value))
		}
		return true
	})
	return b, ok
}

// copyOptions appends a list of options to out, little-endian, without its end and without the custom options that must
// not be copied. Take, unless it is nil, is given a copy of each option and may change it, and returns whether it
// stays.
func (r *Reader) copyOptions(out, list []byte, take func(code uint16, value []byte) bool) []byte {
	eachOption(list, r.order, func(code uint16, value []byte) {
		if code == customTextStay || code == customBytesStay {
			return
		}
		value = bytes.Clone(value)
		if (code == customText || code == customBytes) && len(value) >= 4 {
			binary.LittleEndian.PutUint32(value, r.u32(value))
		}
		if take == nil || take(code, value) {
			out = appendOption(out, code, value)
		}
	})
	return out
}

// endOptions appends the end of a list of options that begins at start, unless the list is empty.
func endOptions(list []byte, start int) []byte {
	if len(list) > start {
		list = append(list, endOfOptions, 0, 0, 0)
	}
	return list
}

func appendOption(list []byte, code uint16, value []byte) []byte {
	list = binary.LittleEndian.AppendUint16(list, code)
	list = binary.LittleEndian.AppendUint16(list, uint16(len(value)))
	list = append(list, value...)
	return append(list, make([]byte, -len(value)&3)...)
}

// Counts returns the counts of the options of a statistics block alone, without comments and other texts.
func Counts(options []byte) []byte {
	var counts []byte
	eachOption(options, binary.LittleEndian, func(code uint16, value []byte) {
		if code >= statisticsReceived && code <= statisticsUsed && len(value) == 8 {
			counts = appendOption(counts, code, value)
		}
	})
	return counts
}

// Block writes a block as it is, unless it is of statistics, which [Writer.CopyStatistics] writes.
func (x *Writer) Block(b *trace.FileBlock) error {
	var kind uint32
	switch b.Kind {
	case trace.SecretsBlock:
		kind = secretsBlock
	case trace.NamesBlock:
		kind = namesBlock
	case trace.CustomBlock:
		kind = customBlock
	default:
		return fmt.Errorf("pcapng: a block of kind %d cannot be written as it is", b.Kind)
	}
	start, err := x.beginCopy(kind, len(b.Data))
	if err != nil {
		return err
	}
	x.buf = append(x.buf, b.Data...)
	x.close(start)
	return nil
}

// CopyStatistics writes the statistics of an interface of another file as those of one of this file. The times of b are
// times of this file.
func (x *Writer) CopyStatistics(iface int, b *trace.FileBlock) error {
	if iface < 0 || iface >= len(x.starts) {
		return x.unknown(iface)
	}
	from := x.starts[iface]
	if b.Time < from {
		return errBefore
	}
	start, err := x.beginCopy(statisticsBlock, len(b.Data))
	if err != nil {
		return err
	}
	x.u32(uint32(iface))
	x.instant(b.Time - from)
	for code, t := range [...]clock.HostTime{statisticsBegan: b.Began, statisticsEnded: b.Ended} {
		if t != 0 && t >= from {
			x.u16(uint16(code))
			x.u16(8)
			x.instant(t - from)
		}
	}
	x.buf = append(x.buf, b.Data...)
	x.u32(endOfOptions)
	x.close(start)
	return nil
}

// beginCopy begins a block with a body of about n bytes. It returns where the block begins.
func (x *Writer) beginCopy(kind uint32, n int) (start int, err error) {
	if len(x.buf)+n > writeSize && len(x.buf) > 0 {
		if err := x.Flush(); err != nil {
			return 0, err
		}
	}
	if x.err != nil {
		return 0, x.err
	}
	start = len(x.buf)
	x.begin(kind)
	return start, nil
}

// instant writes nanoseconds since the beginning of an interface's time, the upper half first.
func (x *Writer) instant(t clock.HostTime) {
	x.u32(uint32(uint64(t) >> 32))
	x.u32(uint32(t))
}
