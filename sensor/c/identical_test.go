package c_test

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"meridian/sensor/ring"
)

// integer and the others are TSDL as package sensor writes it, said here once more.
func integer(bits, name string, signed string) string {
	return "integer { size = " + bits + "; align = 8; signed = " + signed + "; } _" + name + ";"
}

const (
	slice   = "integer { size = 64; align = 8; signed = false; } _slice;"
	message = slice + `X enum : integer { size = 8; align = 8; signed = false; } { "none" = 0, "sends" = 1, "receives" = 2, "enters" = 3, "leaves" = 4 } _role;`
)

// writtenInGo is what testdata/types.c declares and emits, by package ring.
type writtenInGo struct {
	t     *testing.T
	ring  *ring.Ring
	shard *ring.Shard
	ids   map[string]uint16
	clock uint64
	at    uint64 // position in the shard, as the end of a sub-buffer leaves it
	size  uint64 // of a sub-buffer
}

func (w *writtenInGo) declare(category, name, context string, fields ...string) {
	h, err := w.ring.Register(ring.Class{Category: category, Name: name, Context: context, Fields: strings.Join(fields, " ")})
	if err != nil {
		w.t.Fatal(err)
	}
	w.ids[category+":"+name] = h.ID
}

func (w *writtenInGo) emit(class string, values ...any) {
	var b bytes.Buffer
	for _, v := range values {
		switch v := v.(type) {
		case string:
			b.WriteString(v + "\x00")
		case []byte:
			binary.Write(&b, binary.LittleEndian, uint32(len(v)))
			b.Write(v)
		case int:
			w.t.Fatalf("%s: a value without a size", class)
		default:
			if err := binary.Write(&b, binary.LittleEndian, v); err != nil {
				w.t.Fatal(err)
			}
		}
	}
	size := ring.HeadSize + b.Len()
	p := w.shard.Reserve(size)
	if p == nil {
		return
	}
	w.clock++
	ring.PutHead(p, w.ids[class], size, w.clock)
	copy(unsafe.Slice((*byte)(p), size)[ring.HeadSize:], b.Bytes())
	w.shard.Commit(size, w.clock)
	if w.at/w.size != (w.at+uint64(size)-1)/w.size {
		w.at = (w.at/w.size + 1) * w.size
	}
	w.at += uint64(size)
}

// begin emits the begin of a slice. Its number is the shard's and where the event is.
func (w *writtenInGo) begin(class string, values ...any) uint64 {
	number := 1<<48 + w.at
	w.emit(class, append([]any{number}, values...)...)
	return number
}

func (w *writtenInGo) all(fixed int) {
	w.declare("types", "nothing", "")
	w.declare("types", "small", "", `enum : integer { size = 8; align = 8; signed = false; } { "false" = 0, "true" = 1 } _b;`,
		integer("8", "i8", "true"), integer("8", "u8", "false"), integer("16", "i16", "true"), integer("16", "u16", "false"))
	w.declare("types", "large", "", integer("32", "i32", "true"), integer("32", "u32", "false"), integer("64", "l", "true"),
		integer("64", "ul", "false"), integer("64", "ll", "true"), integer("64", "ull", "false"))
	w.declare("types.more", "fixed", "", integer("8", "a", "true"), integer("8", "b", "false"), integer("16", "c", "true"),
		integer("16", "d", "false"), integer("32", "e", "true"), integer("32", "f", "false"), integer("64", "g", "true"),
		integer("64", "h", "false"))
	w.declare("types.more", "floats", "", "floating_point { exp_dig = 8; mant_dig = 24; align = 8; } _f;",
		"floating_point { exp_dig = 11; mant_dig = 53; align = 8; } _d;")
	w.declare("types.more", "texts", "", "string _text;",
		"integer { size = 32; align = 8; signed = false; } __data_length; integer { size = 8; align = 8; signed = false; base = 16; } _data[__data_length];",
		"string _writable;", integer("64", "last", "false"))
	w.declare("work", "step:begin", slice, integer("32", "n", "true"))
	w.declare("work", "step:end", slice)
	w.declare("work", "bare:begin", slice)
	w.declare("work", "bare:end", slice)
	w.declare("work", "done:counter", "", integer("64", "done", "true"))
	w.declare("work", "load:counter", "", "floating_point { exp_dig = 11; mant_dig = 53; align = 8; } _load;")
	mark := strings.NewReplacer("_slice;X", "_flow;").Replace(message)
	w.declare("work", "rpc", mark)
	w.declare("message", "message", mark)
	w.declare("meridian", "cut:counter", "", integer("64", "cut", "true"))

	w.emit("types:nothing")
	w.emit("types:small", false, int8(math.MinInt8), uint8(0), int16(math.MinInt16), uint16(0))
	w.emit("types:small", true, int8(math.MaxInt8), uint8(math.MaxUint8), int16(math.MaxInt16), uint16(math.MaxUint16))
	w.emit("types:large", int32(math.MinInt32), uint32(0), int64(math.MinInt64), uint64(0), int64(math.MinInt64), uint64(0))
	w.emit("types:large", int32(math.MaxInt32), uint32(math.MaxUint32), int64(math.MaxInt64), uint64(math.MaxUint64),
		int64(math.MaxInt64), uint64(math.MaxUint64))
	w.emit("types.more:fixed", int8(-1), uint8(2), int16(-3), uint16(4), int32(-5), uint32(6), int64(-7), uint64(8))
	w.emit("types.more:floats", float32(math.MaxFloat32), -0x1p-1022)
	w.emit("types.more:texts", "", []byte{}, "wä", uint64(7))
	w.emit("types.more:texts", "", []byte{0, 0xff}, "", uint64(math.MaxUint64))
	outer := w.begin("work:step:begin", int32(3))
	inner := w.begin("work:bare:begin")
	w.emit("work:step:end", outer)
	w.emit("work:bare:end", inner)
	w.emit("work:done:counter", int64(2))
	w.emit("work:done:counter", int64(-1))
	w.emit("work:done:counter", int64(9))
	w.emit("work:load:counter", 0.5)
	w.emit("work:rpc", uint64(77), uint8(1))
	w.emit("message:message", uint64(78), uint8(2))
	for i := range int64(fixed) {
		w.emit("types.more:fixed", int8(i), uint8(0), int16(i), uint16(0), int32(0), uint32(i), i, uint64(i))
	}
}

// TestRingsAreTheSameByteForByte writes the same in C, in C++ and with package ring in Go: the ring comes to its end several
// times over.
func TestRingsAreTheSameByteForByte(t *testing.T) {
	t.Parallel()
	for _, mode := range []struct {
		name      string
		overwrite bool
		buffers   int
	}{{"discard", false, 2}, {"overwrite", true, 4}} {
		const fixed, size = 2000, 4096
		dir := t.TempDir()
		r, err := ring.Create(ring.Options{Dir: dir, Program: "test", Shards: 4, Buffers: mode.buffers, BufferSize: size,
			Overwrite: mode.overwrite, Clock: ring.Clock{Kind: 3, Frequency: 1e9}})
		if err != nil {
			t.Fatal(err)
		}
		shard, err := r.Claim()
		if err != nil {
			t.Fatal(err)
		}
		w := &writtenInGo{t: t, ring: r, shard: shard, ids: map[string]uint16{}, size: size}
		w.all(fixed)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		want := masked(t, r.Path())
		if err := r.Unmap(); err != nil {
			t.Fatal(err)
		}
		for _, with := range []string{"gcc -std=c11", "clang -std=c11", "g++ -x c++ -std=c++17", "clang++ -x c++ -std=c++17"} {
			t.Run(mode.name+" "+with, func(t *testing.T) {
				t.Parallel()
				cc := strings.Fields(with)
				path := build(t, cc[0], append(cc[1:], "-O2", "-DMERIDIAN_TEST_CLOCK", "testdata/types.c")...)
				overwrite := "overwrite=0"
				if mode.overwrite {
					overwrite = "overwrite=1"
				}
				made := run(t, command(t, path, "long=0", overwrite, "n=2000", "buffers="+string(rune('0'+mode.buffers))))[0]
				if filepath.Base(made)[:9] != "meridian-" {
					t.Fatal(made)
				}
				got := masked(t, made)
				if len(got) != len(want) {
					t.Fatalf("%d bytes, not %d", len(got), len(want))
				}
				for i := range got {
					if got[i] != want[i] {
						t.Fatalf("offset %d is %q in C, %q in Go", i, got[i:min(i+80, len(got))], want[i:min(i+80, len(got))])
					}
				}
			})
		}
	}
}

// withoutProcess reads a ring and clears what differs from process to process in its header: pid, start time and UUID.
func withoutProcess(t *testing.T, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	clear(b[44:64])
	clear(b[152:160])
	return b
}

// masked reads a ring without what no two processes have in common: pid, UUID, start time, and the thread that owns
// the first shard.
func masked(t *testing.T, path string) []byte {
	t.Helper()
	b := withoutProcess(t, path)
	owner := binary.LittleEndian.Uint64(b[128:]) + 24
	if binary.LittleEndian.Uint32(b[owner:]) == 0 {
		t.Errorf("%s: nobody owns the shard that was written", path)
	}
	clear(b[owner : owner+4])
	return b
}
