package excerpt

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

// Captures that this recorder did not write have times that nobody here knows. They are given as they are, whole: nothing of them may be
// lost for a time that was misread.
func TestACaptureOfAnotherProgramIsGivenWhole(t *testing.T) {
	le := binary.LittleEndian
	section := block(sectionBlock, uint32(byteOrder), uint16(1), uint16(0), int64(-1))
	described := func(options ...any) []byte {
		return block(interfaceBlock, append([]any{uint16(1), uint16(0), uint32(0)}, options...)...)
	}
	good := described(uint16(9), uint16(1), []byte{9, 0, 0, 0}, uint32(0))
	frame := block(enhancedBlock, uint32(0), uint32(0), uint32(500), uint32(4), uint32(4), []byte("data")) // outside of the span
	big := bytes.Clone(section)
	le.PutUint32(big[8:], 0x4d3c2b1a)
	huge := le.AppendUint32(le.AppendUint32(nil, enhancedBlock), mostBlock+4)
	odd := le.AppendUint32(le.AppendUint32(nil, 5), 13)
	for name, parts := range map[string][][]byte{
		"no section first":       {good, frame},
		"another order of bytes": {big, good, frame},
		"another in the middle":  {section, good, frame, big},
		"simple packets":         {section, good, block(simpleBlock, uint32(4), []byte("data"))},
		"a block of 13 bytes":    {section, good, frame, append(odd, make([]byte, 20)...)},
		"a block of 64 MiB":      {section, good, frame, append(huge, make([]byte, 20)...)},
		"a packet cut short":     {section, good, block(enhancedBlock, uint32(0), uint32(0))},
		"microseconds":           {section, described(), frame},
		"an interface cut short": {section, block(interfaceBlock)},
		"an offset of seconds":   {section, described(uint16(9), uint16(1), []byte{9, 0, 0, 0}, uint16(14), uint16(8), int64(7), uint32(0)), frame},
		"an option cut short":    {section, described(uint16(9), uint16(200)), frame},
	} {
		m := newMade(t, filepath.Join(t.TempDir(), "trace"))
		content := bytes.Join(parts, nil)
		if err := os.WriteFile(filepath.Join(m.dir, "packets", "a.pcapng"), content, 0o666); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out")
		if _, err := Write(t.Context(), m.dir, out, Span{100, 200}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := os.ReadFile(filepath.Join(out, "packets", "a.pcapng")); err != nil || !bytes.Equal(got, content) {
			t.Errorf("%s: %d bytes of %d, %v", name, len(got), len(content), err)
		}
	}
}

// Of a stream's file that ends within a packet, or has bytes that are none, what is before is taken.
func TestAStreamThatEndsWithinAPacketHasThoseBefore(t *testing.T) {
	m := newMade(t, filepath.Join(t.TempDir(), "trace"))
	m.stream(tickStream, 0, "kernel_3", []int64{10, 20, 30, 40}, 9, 0)
	files, err := filepath.Glob(filepath.Join(m.dir, "kernel_3*"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	whole, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	m.tell()
	for name, more := range map[string][]byte{"half a packet": whole[:len(whole)/4], "no packet": make([]byte, 4096), "": nil} {
		if err := os.WriteFile(files[0], append(bytes.Clone(whole), more...), 0o666); err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "out")
		if _, err := Write(t.Context(), m.dir, out, Span{clockOffset, clockOffset + 100}); err != nil {
			t.Fatal(err)
		}
		if got, _ := read(t, out); len(got) != 2 {
			t.Errorf("%q: packets %d", name, got)
		}
	}
}
