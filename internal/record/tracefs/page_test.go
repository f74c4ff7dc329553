package tracefs

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

const (
	headerPage = `	field: u64 timestamp;	offset:0;	size:8;	signed:0;
	field: local_t commit;	offset:8;	size:8;	signed:1;
	field: int overwrite;	offset:8;	size:1;	signed:1;
	field: char data;	offset:16;	size:4080;	signed:0;
`
	headerEvent = `# compressed entry header
	type_len    :    5 bits
	time_delta  :   27 bits
	array       :   32 bits

	padding     : type == 29
	time_extend : type == 30
	time_stamp : type == 31
	data max type_len  == 28
`
)

func pageLayoutOf(t testing.TB) *pageLayout {
	t.Helper()
	l, err := parsePageLayout(headerPage, headerEvent)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// writer writes a page as the kernel's ring buffer does.
type writer struct {
	begin, stamp uint64
	data         []byte
}

func (w *writer) word(n uint32) { w.data = binary.LittleEndian.AppendUint32(w.data, n) }

func (w *writer) head(kind, delta uint64) { w.word(uint32(kind | delta<<5)) }

// advance returns the difference that the next event has, behind what a difference too long for it asks for.
func (w *writer) advance(stamp uint64, absolutely bool) uint64 {
	delta := stamp - w.stamp
	w.stamp = stamp
	switch {
	case absolutely:
		low := stamp &^ highStampBits
		w.head(typeStamp, low&(1<<deltaBits-1))
		w.word(uint32(low >> deltaBits))
		return 0
	case delta>>deltaBits != 0:
		w.head(typeExtend, delta&(1<<deltaBits-1))
		w.word(uint32(delta >> deltaBits))
		return 0
	}
	return delta
}

// put writes data of whole words.
func (w *writer) put(data []byte, delta uint64) {
	if len(data)/4 <= 28 && len(data) > 0 {
		w.head(uint64(len(data)/4), delta)
	} else {
		w.head(0, delta)
		w.word(uint32(len(data) + 4))
	}
	w.data = append(w.data, data...)
}

func (w *writer) page(size int, lost uint64, counted bool) []byte {
	b := make([]byte, 16, size)
	binary.LittleEndian.PutUint64(b, w.begin)
	b = append(b, w.data...)
	commit := uint64(len(w.data))
	if lost > 0 {
		commit |= missedFlag
		if counted && len(b)+8 <= size {
			commit |= countedFlag
			b = binary.LittleEndian.AppendUint64(b, lost)
		}
	}
	binary.LittleEndian.PutUint64(b[8:], commit)
	return b[:size]
}

func TestAPageGivesWhatWasWritten(t *testing.T) {
	layout := pageLayoutOf(t)
	testseed.Check(t, func(t *rapid.T) {
		type event struct {
			stamp uint64
			data  []byte
		}
		var want []event
		at := rapid.Uint64Range(1, 1<<62).Draw(t, "begin")
		w := &writer{begin: at, stamp: at}
		for range rapid.IntRange(0, 20).Draw(t, "events") {
			at += rapid.SampledFrom([]uint64{0, 1, 1000, 1<<deltaBits - 1, 1 << deltaBits, 1 << 40}).Draw(t, "later")
			data := rapid.SliceOfN(rapid.Byte(), 1, 30).Draw(t, "data")
			data = slices.Repeat(data, 4)
			discarded := rapid.IntRange(0, 9).Draw(t, "discarded") == 0
			delta := w.advance(at, rapid.Bool().Draw(t, "absolute"))
			if discarded {
				if delta == 0 { // as the kernel does, for 0 would end the page
					delta, at = 1, at+1
					w.stamp = at
				}
				w.head(typePadding, delta)
				w.word(uint32(len(data) + 4))
				w.data = append(w.data, data...)
				continue
			}
			w.put(data, delta)
			want = append(want, event{at, data})
		}
		if rapid.Bool().Draw(t, "padded") {
			w.head(typePadding, 0)
			w.word(12345)
		}
		lost := rapid.SampledFrom([]uint64{0, 1, 77}).Draw(t, "lost")
		counted := rapid.Bool().Draw(t, "counted")
		var p page
		if err := p.open(layout, w.page(layout.size(), lost, counted)); err != nil {
			t.Fatal(err)
		}
		if !counted {
			lost = min(lost, 1)
		}
		if p.missed != lost {
			t.Fatalf("%d missed, want %d", p.missed, lost)
		}
		for i, e := range want {
			got, err := p.next()
			if err != nil || p.stamp != e.stamp || !bytes.Equal(got, e.data) {
				t.Fatalf("event %d: %d %x, %v, want %d %x", i, p.stamp, got, err, e.stamp, e.data)
			}
		}
		if got, err := p.next(); got != nil || err != nil {
			t.Fatalf("behind the last: %x, %v", got, err)
		}
	})
}

func TestPagesCutShortGiveWhatIsWholeAndSaySo(t *testing.T) {
	layout := pageLayoutOf(t)
	for _, test := range []struct {
		name  string
		words []uint32
		whole int
		bad   bool
	}{
		{"nothing", nil, 0, false},
		{"data beyond the end", []uint32{2 | 1<<5, 7}, 0, true},
		{"a whole event and half of one", []uint32{1, 7, 3, 7}, 1, true},
		{"a length beyond the end", []uint32{0, 1 << 20}, 0, true},
		{"a length of all bits", []uint32{0, 1<<32 - 1}, 0, true},
		{"a length shorter than itself", []uint32{0, 3, 0}, 0, true},
		{"no length", []uint32{0}, 0, true},
		{"half an extension", []uint32{typeExtend | 1<<5}, 0, true},
		{"empty padding", []uint32{1, 7, typePadding}, 1, false},
	} {
		w := &writer{}
		for _, word := range test.words {
			w.word(word)
		}
		var p page
		if err := p.open(layout, w.page(layout.size(), 0, false)); err != nil {
			t.Fatal(err)
		}
		n := 0
		var err error
		for {
			var data []byte
			if data, err = p.next(); data == nil {
				break
			}
			n++
		}
		if n != test.whole || (err != nil) != test.bad {
			t.Errorf("%s: %d events, %v", test.name, n, err)
		}
	}
	var p page
	for _, b := range [][]byte{nil, make([]byte, 15), append(make([]byte, 8), 9, 0, 0, 0, 0, 0, 0, 0)} {
		if err := p.open(layout, b); err == nil {
			t.Errorf("%x is a page", b)
		}
	}
}

func TestRingBuffersOfAnotherMakeAreRefused(t *testing.T) {
	for _, test := range [][2]string{
		{headerPage, strings.Replace(headerEvent, "27 bits", "28 bits", 1)},
		{strings.Replace(headerPage, "timestamp", "time", 1), headerEvent},
		{strings.Replace(headerPage, "commit;	offset:8;	size:8", "commit;	offset:8;	size:16", 1), headerEvent},
		{strings.Replace(headerPage, "offset:16", "offset:4", 1), headerEvent},
		{"", ""},
	} {
		if _, err := parsePageLayout(test[0], test[1]); err == nil {
			t.Errorf("accepted: %s%s", test[0], test[1])
		}
	}
}

func FuzzPage(f *testing.F) {
	layout := pageLayoutOf(f)
	files, _ := filepath.Glob(filepath.Join("testdata", "linux", "cpu*.raw"))
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b[:layout.size()])
	}
	l := load(f, filepath.Join("testdata", "linux"))
	d := newDecoder(15, true, 2, l, nil) // once: there are hundreds of classes
	testseed.Fuzz(f, func(t *testing.T, b []byte) {
		given := false
		a := &cursor{layout: layout, readPage: func(to []byte) (int, error) {
			if given {
				return 0, nil
			}
			given = true
			return copy(to, b), nil
		}, buffer: make([]byte, len(b))}
		d.tasks = newTasks(nobody)
		total := 0
		for {
			ok, err := a.advance()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if total += len(a.record) + headerBytes; total > len(b) {
				t.Fatal("more events than bytes")
			}
			if e := d.decode(a.stamp, 0, len(b)%2 == 0, a.record); e != nil && (e.Class < 0 || e.Class >= len(d.classes) || len(e.Values) != len(d.classes[e.Class].Fields)) {
				t.Fatalf("class %d with %d values", e.Class, len(e.Values))
			}
		}
	})
}
