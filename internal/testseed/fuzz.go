package testseed

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"meridian/internal/testneed"
)

// Inputs that an ordinary run draws beside each stored one.
const (
	drawnEach       = 50
	drawnEachCostly = 10
)

// Fuzz runs a fuzz target: a function of a *testing.T and of values of the types that [testing.F.Fuzz] takes. Under go test -fuzz
// the fuzzer draws the inputs. An ordinary run takes the stored inputs (those of f.Add and of testdata/fuzz) and draws more by changing
// each of them, the same in each run: the fuzzer itself cannot repeat a run, as it counts time. An input that fails is logged as a file
// for testdata/fuzz.
func Fuzz(f *testing.F, target any) {
	f.Helper()
	f.Fuzz(drawing(f.Name(), target, drawnEach))
}

// FuzzCostly is Fuzz for a target whose inputs take milliseconds: it draws fewer.
func FuzzCostly(f *testing.F, target any) {
	f.Helper()
	f.Fuzz(drawing(f.Name(), target, drawnEachCostly))
}

// drawing returns a function of target's type that runs target on the given input, and on inputs drawn from it unless the fuzzer runs.
func drawing(name string, target any, each int) any {
	if fuzzing() {
		return target
	}
	m := &mutator{}
	function := reflect.ValueOf(target)
	run := func(args []reflect.Value) []reflect.Value {
		function.Call(args)
		t := args[0].Interface().(*testing.T)
		h := fnv.New64a()
		fmt.Fprintf(h, "%d %s %s", Run(), name, corpusFile(args[1:]))
		m.random = rand.New(rand.NewPCG(h.Sum64(), 0))
		m.seen = append(m.seen, args[1:])
		for range testneed.Cases(each) {
			if t.Failed() || t.Skipped() {
				break
			}
			m.try(t, function, args[1:])
		}
		return nil
	}
	return reflect.MakeFunc(function.Type(), run).Interface()
}

// mutator draws inputs from those that were stored.
type mutator struct {
	random *rand.Rand
	seen   [][]reflect.Value
}

// try runs the target on an input drawn from a stored one, and logs the input if it fails.
func (m *mutator) try(t *testing.T, target reflect.Value, stored []reflect.Value) {
	args := []reflect.Value{reflect.ValueOf(t)}
	for i, value := range stored {
		other := m.seen[m.random.IntN(len(m.seen))][i]
		args = append(args, m.change(value, other))
	}
	input := corpusFile(args[1:]) // before the target, which may write to its input
	returned := false
	defer func() {
		if t.Failed() || !returned {
			t.Logf("this input fails; keep it as a file in testdata/fuzz/%s:\n%s", strings.Split(t.Name(), "/")[0], input)
		}
	}()
	target.Call(args)
	returned = true
}

// change returns a changed copy of a value. Another stored value lends parts of itself.
func (m *mutator) change(value, other reflect.Value) reflect.Value {
	changed := reflect.New(value.Type()).Elem()
	switch value.Kind() {
	case reflect.Slice:
		changed.SetBytes(m.changeBytes(value.Bytes(), other.Bytes()))
	case reflect.String:
		changed.SetString(string(m.changeBytes([]byte(value.String()), []byte(other.String()))))
	case reflect.Bool:
		changed.SetBool(value.Bool() != (m.random.IntN(4) == 0))
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		changed.SetInt(int64(m.changeNumber(uint64(value.Int()), value.Type().Bits())))
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		changed.SetUint(m.changeNumber(value.Uint(), value.Type().Bits()))
	case reflect.Float32, reflect.Float64:
		changed.SetFloat(value.Float() * (2*m.random.Float64() - 1))
	default:
		panic(fmt.Sprintf("testseed: a fuzz target takes a %s", value.Type()))
	}
	return changed
}

// changeNumber returns a number near the given one, one of another bit, or any, cut to so many bits. Of a signed number the cut keeps the
// sign, as reflect's setters do.
func (m *mutator) changeNumber(n uint64, bits int) uint64 {
	switch m.random.IntN(4) {
	case 0:
		return n
	case 1:
		n += m.random.Uint64N(33) - 16
	case 2:
		n ^= 1 << m.random.IntN(bits)
	default:
		n = m.random.Uint64() >> m.random.IntN(64)
	}
	return n & (1<<bits - 1)
}

// changeBytes returns a copy with one to four changes.
func (m *mutator) changeBytes(value, other []byte) []byte {
	b := append([]byte{}, value...)
	for range 1 + m.random.IntN(4) {
		b = m.changeOnce(b, other)
	}
	return b
}

// extremes are the bytes at the ends of ranges, and those that texts are made of.
const extremes = "\x00\x01\x7f\x80\xff\n\"'{}[](),:;=-+.09 aZ\\%$"

func (m *mutator) changeOnce(b, other []byte) []byte {
	if len(b) == 0 {
		return append(b, m.part(other)...)
	}
	at := m.random.IntN(len(b))
	switch m.random.IntN(9) {
	case 0:
		b[at] ^= 1 << m.random.IntN(8)
	case 1:
		b[at] = byte(m.random.Uint32())
	case 2:
		b[at] = extremes[m.random.IntN(len(extremes))]
	case 3: // a number of several bytes goes to one of its ends
		end := min(at+1<<m.random.IntN(4), len(b))
		fill := "\x00\xff"[m.random.IntN(2)]
		for i := at; i < end; i++ {
			b[i] = fill
		}
	case 4:
		b[at] += byte(m.random.IntN(33) - 16)
	case 5:
		end := at + 1 + m.random.IntN(min(len(b)-at, 16))
		b = append(b[:at], b[end:]...)
	case 6:
		b = b[:at]
	case 7:
		b = insert(b, at, m.part(b))
	default:
		b = insert(b, at, m.part(other))
	}
	return b
}

// part returns a copy of at most 64 bytes of a text, or a byte if the text is empty.
func (m *mutator) part(b []byte) []byte {
	if len(b) == 0 {
		return []byte{extremes[m.random.IntN(len(extremes))]}
	}
	at := m.random.IntN(len(b))
	return append([]byte{}, b[at:at+1+m.random.IntN(min(len(b)-at, 64))]...)
}

func insert(b []byte, at int, part []byte) []byte {
	return append(b[:at:at], append(part, b[at:]...)...)
}

// corpusFile returns an input as a file of testdata/fuzz holds it.
func corpusFile(args []reflect.Value) string {
	var s strings.Builder
	s.WriteString("go test fuzz v1\n")
	for _, arg := range args {
		switch {
		case arg.Kind() == reflect.Slice:
			fmt.Fprintf(&s, "[]byte(%q)\n", arg.Bytes())
		case arg.Kind() == reflect.String:
			fmt.Fprintf(&s, "string(%q)\n", arg.String())
		default:
			fmt.Fprintf(&s, "%s(%v)\n", arg.Type(), arg.Interface())
		}
	}
	return s.String()
}

// fuzzing says whether this process is the fuzzer or one of its workers.
func fuzzing() bool {
	for _, name := range []string{"test.fuzz", "test.fuzzworker"} {
		set := flag.Lookup(name)
		if set != nil && set.Value.String() != set.DefValue {
			return true
		}
	}
	return false
}
