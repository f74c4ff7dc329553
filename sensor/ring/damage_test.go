package ring

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
)

// TestDamageCostsItselfAndIsTold writes nonsense over a number of the second sub-buffer or of the control block.
func TestDamageCostsItselfAndIsTold(t *testing.T) {
	const size, perBuffer = 1024, minBuffer / 1024
	second := func(event int, at uint64) func(*Ring) []byte {
		return func(w *Ring) []byte { return w.mem[w.data(0)+minBuffer+uint64(event*size)+at:] }
	}
	control := func(at uint64) func(*Ring) []byte {
		return func(w *Ring) []byte { return w.mem[w.control(0)+at:] }
	}
	for _, test := range []struct {
		name  string
		at    func(*Ring) []byte
		value uint64
		bytes int // of the value
		lost  uint64
		read  string // stamps of 0 to 9
	}{
		{"length beyond the sub-buffer", second(1, 10), 4096, 2, 3072, "[0 1 2 3 4 8 9]"},
		{"length shorter than a head", second(0, 10), 11, 2, 4096, "[0 1 2 3 8 9]"},
		{"class that nobody registered", second(3, 8), 1, 2, 1024, "[0 1 2 3 4 5 6 8 9]"},
		{"published beyond what the shard holds", control(atProduced), 4*minBuffer + 1, 8, 4*minBuffer + 1, "[]"},
		{"published before what is taken", control(atConsumed), 3 * minBuffer, 8, 0, "[]"},
		{"empty, but published", control(atProduced), 2*minBuffer + 2*size + 100, 8, 100, "[0 1 2 3 4 5 6 7 8 9]"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := made(t, Options{})
			class := registered(t, w, "step")
			for n := range uint64(2*perBuffer + 2) {
				emit(w.Shard(0), class.ID, size, n)
			}
			value := binary.LittleEndian.AppendUint64(nil, test.value)
			copy(test.at(w), value[:test.bytes])
			r := opened(t, w.Path())
			read, told := []uint64{}, 0
			for {
				var p Packet
				ok, err := r.Next(&p)
				if damage := (*DamageError)(nil); errors.As(err, &damage) {
					if damage.Bytes != test.lost || damage.Shard != 0 || damage.Path != w.Path() {
						t.Errorf("%v; %d bytes are meant", err, test.lost)
					}
					told++
				} else if err != nil {
					t.Fatal(err)
				} else if !ok {
					break
				} else {
					for b := p.Events; len(b) > 0; b = b[binary.LittleEndian.Uint16(b[10:]):] {
						read = append(read, binary.LittleEndian.Uint64(b))
					}
				}
			}
			if got := fmt.Sprint(read); told != 1 || got != test.read {
				t.Errorf("told %d times; read %s, and %s were whole", told, got, test.read)
			}
			r.Commit()
			r.Close()
			var p Packet
			if _, err := opened(t, w.Path()).Next(&p); err != nil && test.lost > 0 {
				t.Errorf("the next reader is told again: %v", err)
			}
		})
	}
}
