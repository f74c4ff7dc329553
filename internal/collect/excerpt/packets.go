package excerpt

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// Where a packet of a recorder has its stream, its times and its size, bytes. The size is in bits.
const (
	packetMagic  = 0xc1fc1fc1
	atClass      = 20
	atInstance   = 24
	atBegin      = 32
	atEnd        = 40
	atSize       = 56
	packetHead   = 64
	checkPackets = 1 << 12 // after so many it is looked whether somebody still waits
)

// eachPacket calls f with the whole packets of a stream's file.
func eachPacket(ctx context.Context, file *os.File, f func(streamKey, place)) error {
	info, err := file.Stat()
	if err != nil {
		return err
	}
	le := binary.LittleEndian
	head := make([]byte, packetHead)
	for at, n := int64(0), 0; info.Size()-at >= packetHead; n++ {
		if n%checkPackets == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if _, err := file.ReadAt(head, at); err != nil {
			return err
		}
		bits := le.Uint64(head[atSize:])
		if le.Uint32(head) != packetMagic || bits%8 != 0 || bits/8 < packetHead || bits/8 > uint64(info.Size()-at) {
			break // half a packet, which is being written
		}
		p := place{at: at, size: int64(bits / 8), begin: cycles(le.Uint64(head[atBegin:])), end: cycles(le.Uint64(head[atEnd:]))}
		f(streamKey{le.Uint32(head[atClass:]), le.Uint64(head[atInstance:])}, p)
		at += p.size
	}
	return nil
}

func cycles(n uint64) int64 { return int64(min(n, math.MaxInt64)) }

// Blocks of pcapng.
const (
	sectionBlock   = 0x0a0d0d0a
	interfaceBlock = 1
	simpleBlock    = 3
	enhancedBlock  = 6
	byteOrder      = 0x1a2b3c4d
	mostBlock      = 64 << 20
)

// errForeign is of a capture that is not as recorders write it.
var errForeign = errors.New("not as 'meridian record' writes it")

// capture copies a capture without the packets outside of the span, ns since 1970. One that has none in it is left out.
func (x *excerpt) capture(name string, span Span) error {
	f, err := os.Open(filepath.Join(x.dir, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // dropped meanwhile, which is told
	} else if err != nil {
		return err
	}
	defer f.Close()
	frames, first, last := int64(0), int64(math.MaxInt64), int64(math.MinInt64)
	err = x.blocks(f, func(kind uint32, at int64, _ []byte) error {
		if kind == enhancedBlock {
			if first, last = min(first, at), max(last, at); at >= span.From && at <= span.To {
				frames++
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errForeign) {
		return err
	}
	if err == nil && (first > span.To || last < span.From) {
		return nil // a file that was begun is that of no packets
	}
	x.sum.Frames += frames
	return x.write(name, func(w io.Writer) error {
		if err != nil { // its times are not known
			_, err := io.Copy(w, io.NewSectionReader(f, 0, math.MaxInt64))
			return err
		}
		return x.blocks(f, func(kind uint32, at int64, block []byte) error {
			if kind == enhancedBlock && (at < span.From || at > span.To) {
				return nil
			}
			_, err := w.Write(block)
			return err
		})
	})
}

// blocks calls f with the whole blocks of a capture, and when each packet was stamped.
func (x *excerpt) blocks(file *os.File, f func(kind uint32, at int64, block []byte) error) error {
	le := binary.LittleEndian
	r := bufio.NewReaderSize(io.NewSectionReader(file, 0, math.MaxInt64), 1<<20)
	var block []byte
	for n := 0; ; n++ {
		if n%checkPackets == 0 && x.ctx.Err() != nil {
			return x.ctx.Err()
		}
		head, err := r.Peek(12)
		if err == io.EOF {
			return nil // half a block at most
		} else if err != nil {
			return err
		}
		kind, size := le.Uint32(head), le.Uint32(head[4:])
		if n == 0 && kind != sectionBlock || kind == sectionBlock && le.Uint32(head[8:]) != byteOrder || kind == simpleBlock || size < 12 || size%4 != 0 || size > mostBlock {
			return errForeign
		}
		if uint32(cap(block)) < size {
			block = make([]byte, size)
		}
		block = block[:size]
		if _, err := io.ReadFull(r, block); err == io.ErrUnexpectedEOF || err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		at := int64(0)
		switch kind {
		case interfaceBlock:
			if !nanoseconds(block) {
				return errForeign
			}
		case enhancedBlock:
			if size < 32 {
				return errForeign
			}
			at = int64(uint64(le.Uint32(block[12:]))<<32 | uint64(le.Uint32(block[16:])))
		}
		if err := f(kind, at, block); err != nil {
			return err
		}
	}
}

// nanoseconds reports whether the packets of an interface are stamped in ns since 1970.
func nanoseconds(block []byte) bool {
	const ifTsresol, ifTsoffset = 9, 14
	le := binary.LittleEndian
	found := false
	if len(block) < 20 {
		return false
	}
	for b := block[16 : len(block)-4]; len(b) >= 4; {
		code, n := le.Uint16(b), int(le.Uint16(b[2:]))
		padded := 4 + (n+3)/4*4
		if code == 0 || padded > len(b) {
			break
		}
		switch {
		case code == ifTsresol:
			found = n == 1 && b[4] == 9
		case code == ifTsoffset && n == 8 && le.Uint64(b[4:]) != 0:
			return false
		}
		b = b[padded:]
	}
	return found
}
