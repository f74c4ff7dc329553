package kernel

import (
	"crypto/sha256"
	"encoding/binary"
	hexadecimal "encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/record/internal/proc"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestGroupsAreReadByName(t *testing.T) {
	g, err := ParseGroups("net, irq,,syscalls")
	if err != nil || g != Net|IRQ|Syscalls || g.String() != "net,irq,syscalls" {
		t.Errorf("%v, %v", g, err)
	}
	if g, err := ParseGroups(""); g != 0 || err != nil {
		t.Errorf("%v, %v", g, err)
	}
	if _, err := ParseGroups("net,disks"); err == nil || !strings.Contains(err.Error(), `"disks"`) {
		t.Error(err)
	}
}

func TestThePatternOfANameComparesCommsAsTheNameDoes(t *testing.T) {
	comms := []string{"", "nginx", "nginx-2", "ngin", "ng", "fifteen-letter", "fifteen-letters", "eightlet", "eightlett"}
	for _, command := range []string{"nginx", "ngi*", "fifteen-letters", "fifteen-letter", "fifteen-letter*", "eightlet", "eightlet*"} {
		name, err1 := proc.ParseNamePattern(command)
		mask, want, err2 := commPattern(command)
		if err := errors.Join(err1, err2); err != nil {
			t.Fatal(err)
		}
		for _, comm := range comms {
			var b [16]byte
			copy(b[:], comm)
			got := true
			for i := range 2 {
				got = got && binary.LittleEndian.Uint64(b[8*i:])&mask[i] == want[i]
			}
			if got != name.Matches(comm) {
				t.Errorf("%q matches %q: %v", command, comm, got)
			}
		}
	}
	if mask, _, err := commPattern(""); err != nil || mask != [2]uint64{} {
		t.Errorf("without a command: mask %x, %v", mask, err)
	}
	if _, _, err := commPattern("*"); err == nil {
		t.Error("* is a name")
	}
}

// write plays a processor: a program reserves, may be interrupted before it takes its stamp, and then takes it. It
// returns the ring's records by their places, which are not filled yet where a reader may not look.
func write(t *rapid.T, clock *uint64, ring *[]uint64, depth int) {
	at := len(*ring)
	*ring = append(*ring, 0)
	for depth < 4 && rapid.IntRange(0, 9).Draw(t, "interrupted") == 0 {
		write(t, clock, ring, depth+1)
	}
	*clock += uint64(rapid.IntRange(0, 3).Draw(t, "step"))
	(*ring)[at] = *clock
}

func TestRecordsOfInterruptsComeBeforeWhatTheyInterrupted(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var s stampSorter
		var got, all []uint64
		give := func(stamp uint64, record []byte) error {
			if stampOf(record) != stamp {
				t.Fatalf("stamp %d became %d", stampOf(record), stamp)
			}
			got = append(got, stamp)
			return nil
		}
		clock := uint64(1)
		for range rapid.IntRange(1, 50).Draw(t, "bursts") {
			var ring []uint64
			for range rapid.IntRange(1, 10).Draw(t, "events") {
				write(t, &clock, &ring, 0)
			}
			for _, stamp := range ring {
				if err := s.put(binary.LittleEndian.AppendUint64(s.buffer(), stamp), give); err != nil {
					t.Fatal(err)
				}
			}
			all = append(all, ring...)
			if rapid.Bool().Draw(t, "empty") {
				s.flush(give)
			}
		}
		s.flush(give)
		slices.Sort(all)
		if !slices.Equal(got, all) || s.late != 0 {
			t.Fatalf("%d raised, %v, want %v", s.late, got, all)
		}
	})
}

func TestAStampThatComesTooLateIsRaisedAndCounted(t *testing.T) {
	var s stampSorter
	var got []uint64
	give := func(stamp uint64, _ []byte) error { got = append(got, stamp); return nil }
	for _, stamp := range []uint64{5, 7, 3} {
		s.put(binary.LittleEndian.AppendUint64(nil, stamp), give)
		s.flush(give)
	}
	if !slices.Equal(got, []uint64{5, 7, 7}) || s.late != 1 {
		t.Errorf("%v, %d raised", got, s.late)
	}
}

func TestAnErrorOfTheReaderEndsTheReading(t *testing.T) {
	var s stampSorter
	enough := errors.New("enough")
	n := 0
	give := func(uint64, []byte) error { n++; return enough }
	for _, stamp := range []uint64{9, 3, 4, 10} {
		if err := s.put(binary.LittleEndian.AppendUint64(nil, stamp), give); (err != nil) != (stamp == 10) {
			t.Error(stamp, err)
		}
	}
	if n != 1 {
		t.Errorf("%d events after the error", n-1)
	}
}

// fits says whether a value is one of its type, all the way down.
func fits(v *trace.Value, f *trace.Type) error {
	if v.Kind != f.Kind {
		return fmt.Errorf("%v is no %v", v.Kind, f.Kind)
	}
	switch f.Kind {
	case trace.Int:
		if s := 64 - f.Bits; int64(v.Bits)<<s>>s != int64(v.Bits) {
			return fmt.Errorf("%d has more than %d bits", v.Int(), f.Bits)
		}
	case trace.Uint:
		if f.Bits < 64 && v.Bits>>f.Bits != 0 {
			return fmt.Errorf("%d has more than %d bits", v.Bits, f.Bits)
		}
	case trace.Variant:
		if v.Bits >= uint64(len(f.Fields)) || len(v.Items) != 1 {
			return fmt.Errorf("alternative %d of %d", v.Bits, len(f.Fields))
		}
		return fits(&v.Items[0], &f.Fields[v.Bits].Type)
	case trace.Struct:
		if len(v.Items) != len(f.Fields) {
			return fmt.Errorf("%d of %d members", len(v.Items), len(f.Fields))
		}
		for i := range v.Items {
			if err := fits(&v.Items[i], &f.Fields[i].Type); err != nil {
				return fmt.Errorf("%s: %w", f.Fields[i].Name, err)
			}
		}
	case trace.Array:
		if len(v.Items) != f.Length {
			return fmt.Errorf("%d of %d elements", len(v.Items), f.Length)
		}
		for i := range v.Items {
			if err := fits(&v.Items[i], f.Elem); err != nil {
				return err
			}
		}
	}
	return nil
}

// FuzzDecode holds every event that any bytes make against its class.
func FuzzDecode(f *testing.F) {
	for k := Kind(1); k < Kinds; k++ {
		b := make([]byte, ipv6Size)
		b[8], b[28], b[29] = byte(k), 6, protocolTCP
		f.Add(b)
	}
	f.Add([]byte("short"))
	d := newDecoder(Net|Sched|IRQ|Syscalls|Sockets|Disk, true)
	testseed.Fuzz(f, func(t *testing.T, record []byte) {
		e := d.decode(1, 0, record)
		if e == nil {
			return
		}
		c := &d.classes[e.Class]
		if len(e.Values) != len(c.Fields) {
			t.Fatalf("%s: %d of %d values", c.Name, len(e.Values), len(c.Fields))
		}
		for i := range e.Values {
			if err := fits(&e.Values[i], &c.Fields[i].Type); err != nil {
				t.Fatalf("%s: %s: %v", c.Name, c.Fields[i].Name, err)
			}
		}
	})
}

func TestRecordsOfGroupsNotAskedForAreNoEvents(t *testing.T) {
	d := newDecoder(Sched, false)
	b := make([]byte, 512)
	for k := Kind(0); k < Kinds+1; k++ {
		b[8] = byte(k)
		if e := d.decode(1, 0, b); (e != nil) != (k < Kinds && records[k].group == Sched) {
			t.Errorf("kind %d: %v", k, e)
		}
	}
}

func TestDecodingAllocatesNothing(t *testing.T) {
	d := newDecoder(Net|Sched|IRQ|Syscalls|Sockets|Disk, true)
	b := make([]byte, 512)
	b[28], b[29] = 6, protocolTCP
	for k := Kind(1); k < Kinds; k++ {
		b[8] = byte(k)
		if n := testing.AllocsPerRun(100, func() { d.decode(1, 0, b) }); n != 0 {
			t.Errorf("kind %d: %v allocations", k, n)
		}
	}
}

// TestTheProgramsAreThoseOfTheSources fails where a source was changed and go generate was forgotten.
func TestTheProgramsAreThoseOfTheSources(t *testing.T) {
	sums, err := os.ReadFile("bpf/sources.sum")
	if err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("bpf")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".c") && !strings.HasSuffix(f.Name(), ".h") {
			continue
		}
		b, err := os.ReadFile("bpf/" + f.Name())
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if !strings.Contains(string(sums), hexadecimal.EncodeToString(sum[:])+"  "+f.Name()+"\n") {
			t.Errorf("bpf/%s is not what kernel.bpf.o was compiled from: run go generate ./internal/record/kernel (it needs clang and llvm)", f.Name())
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	d := newDecoder(Net, false)
	r := make([]byte, ipv4Size)
	r[8], r[28], r[29] = byte(NetDevQueue), 4, protocolTCP
	b.ReportAllocs()
	for b.Loop() {
		d.decode(1, 0, r)
	}
}
