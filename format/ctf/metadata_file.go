package ctf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"

	"meridian/trace"
)

// ParseMetadata reads the content of a metadata file: TSDL (CTF 1.8) as plain text or in packets, or CTF 2's sequence
// of JSON texts. File is its name in messages. Damaged declarations on which nothing else depends are skipped and reported
// to w, which may be nil.
func ParseMetadata(data []byte, file string, w *trace.Warnings) (*Metadata, error) {
	if w == nil {
		w = new(trace.Warnings)
	}
	if len(data) > maxMetadata {
		return nil, fmt.Errorf("%s: metadata larger than %d MiB", file, maxMetadata>>20)
	}
	var text string
	if order := metadataOrder(data); order != nil {
		var err error
		if text, err = unpackMetadata(data, order, file, w); err != nil {
			return nil, err
		}
	} else {
		text = string(data)
	}
	return parseMetadataText(text, file, w)
}

func parseMetadataText(text, file string, w *trace.Warnings) (*Metadata, error) {
	if begin := strings.TrimLeft(text, " \t\r\n\x00\ufeff"); begin != "" && (begin[0] == recordSeparator || begin[0] == '{') {
		return parseFragments(strings.TrimPrefix(text, "\ufeff"), file, w)
	}
	p := &tsdlParser{lexer: newLexer(text), file: file, w: w, scalars: map[scalar]*fieldClass{}}
	if err := p.read(); err != nil {
		return nil, err
	}
	return p.metadata()
}

const (
	maxMetadata = 64 << 20 // bytes; LTTng's have some 300 kB

	// A packet of metadata: its header, text up to the content's size, padding up to the packet's.
	//
	//	0      4             20         24             28            32   33   34   35   36   37
	//	+------+-------------+----------+--------------+-------------+----+----+----+----+----+----
	//	| magic| trace's UUID| checksum | content bits | packet bits | z  | e  | c  | M  | m  | TSDL
	//	+------+-------------+----------+--------------+-------------+----+----+----+----+----+----
	//
	// z, e and c are the schemes of compression, encryption and checksum, 0 for none; M.m is the version.
	metadataMagic      = 0x75d11d57
	metadataHeaderSize = 37
)

// metadataOrder returns the byte order of metadata in packets, nil for plain text.
func metadataOrder(data []byte) binary.ByteOrder {
	if len(data) < 4 {
		return nil
	}
	for _, o := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		if o.Uint32(data) == metadataMagic {
			return o
		}
	}
	return nil
}

// unpackMetadata returns the text in the packets of metadata, with tornMark in place of a damaged packet.
func unpackMetadata(data []byte, order binary.ByteOrder, file string, w *trace.Warnings) (string, error) {
	var text bytes.Buffer
	var first error
	for at := 0; at < len(data); {
		content, size, err := metadataPacket(data[at:], order)
		if err != nil {
			if first == nil {
				first = fmt.Errorf("%s: metadata packet at offset %d: %w", file, at, err)
			}
			w.Gap(file, "invalid metadata packet skipped", fmt.Sprintf("offset %d: %v", at, err), 1)
			text.WriteString("\n" + string(rune(tornMark)) + "\n")
			at = nextMetadataPacket(data, at+1, order)
			continue
		}
		text.Write(content)
		if size > len(data)-at {
			w.Gap(file, "metadata file ends within a packet", fmt.Sprintf("the packet at offset %d has %d bytes of %d", at, len(data)-at, size), 1)
		}
		at += min(size, len(data)-at)
	}
	if text.Len() == 0 || first != nil && len(bytes.Trim(text.Bytes(), "\n\x1a")) == 0 {
		return "", errors.Join(first, nil)
	}
	return text.String(), nil
}

var (
	errMetadataHeader  = errors.New("truncated packet header")
	errMetadataMagic   = errors.New("wrong magic number")
	errMetadataSize    = errors.New("inconsistent content and packet sizes")
	errMetadataVersion = errors.New("unsupported CTF major version (1, 2)")
)

// metadataPacket returns the text of the packet at the beginning of data and how long it says that it is.
func metadataPacket(data []byte, order binary.ByteOrder) (content []byte, size int, err error) {
	if len(data) < metadataHeaderSize {
		return nil, 0, errMetadataHeader
	}
	if order.Uint32(data) != metadataMagic {
		return nil, 0, errMetadataMagic
	}
	bits, all := order.Uint32(data[24:]), order.Uint32(data[28:])
	if bits%8 != 0 || all%8 != 0 || bits < metadataHeaderSize*8 || bits > all {
		return nil, 0, errMetadataSize
	}
	for i, what := range []string{"compression", "encryption", "checksum"} {
		if data[32+i] != 0 {
			return nil, 0, fmt.Errorf("unsupported %s scheme %d", what, data[32+i])
		}
	}
	if data[35] != 1 && data[35] != 2 {
		return nil, 0, errMetadataVersion
	}
	return data[metadataHeaderSize:min(int(bits/8), len(data))], int(all / 8), nil
}

// nextMetadataPacket looks for the next magic number.
func nextMetadataPacket(data []byte, from int, order binary.ByteOrder) int {
	var magic [4]byte
	order.PutUint32(magic[:], metadataMagic)
	if n := bytes.Index(data[from:], magic[:]); n >= 0 {
		return from + n
	}
	return len(data)
}
