package view

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"

	"meridian/internal/show/index"
	"meridian/internal/show/index/indextest"
	"meridian/internal/testneed"
)

// opened is one file taken apart as page/data.js does it.
type opened struct {
	elements map[string]string
	about    struct {
		Title string
		Left  []string
	}
	contents contents
	tiles    map[string][]byte
	block    map[int64]int // how many events each block holds
}

var element = regexp.MustCompile(`<script type="text/plain" id="([^"]*)">([^<]*)</script>`)

func unpack(t *testing.T, page string) *opened {
	t.Helper()
	o := &opened{elements: map[string]string{}, tiles: map[string][]byte{}, block: map[int64]int{}}
	for _, m := range element.FindAllStringSubmatch(page, -1) {
		text, err := io.ReadAll(flate.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(m[2]))))
		if err != nil {
			t.Fatalf("%s: %v", m[1], err)
		}
		if _, duplicate := o.elements[m[1]]; duplicate {
			t.Errorf("there are two elements %s", m[1])
		}
		o.elements[m[1]] = string(text)
	}
	for id, to := range map[string]any{"about": &o.about, "held": &o.contents} {
		if err := json.Unmarshal([]byte(o.elements[id]), to); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
	}
	for n, keys := range o.contents.Tiles {
		b := []byte(o.elements[fmt.Sprintf("tiles-%d", n)])
		for _, k := range keys {
			size := binary.LittleEndian.Uint32(b)
			if _, duplicate := o.tiles[k]; duplicate {
				t.Errorf("duplicate tile %s", k)
			}
			o.tiles[k] = b[4 : 4+size]
			b = b[4+size:]
		}
		if len(b) > 0 {
			t.Errorf("%d bytes follow the tiles of chunk %d", len(b), n)
		}
	}
	for n, blocks := range o.contents.Events {
		var lists [][]struct{ Event int64 }
		if err := json.Unmarshal([]byte(o.elements[fmt.Sprintf("events-%d", n)]), &lists); err != nil || len(lists) != len(blocks) {
			t.Fatalf("chunk %d: %v, %d lists of %d", n, err, len(lists), len(blocks))
		}
		for i, b := range blocks {
			for k, e := range lists[i] {
				if e.Event != b*blockEvents+int64(k) {
					t.Fatalf("block %d has event %d", b, e.Event)
				}
			}
			o.block[b] = len(lists[i])
		}
	}
	return o
}

func written(t *testing.T, d Data, budget int64) string {
	t.Helper()
	var b bytes.Buffer
	if err := WriteFile(&b, d, Options{Budget: budget}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestASmallTimelineIsHeldWhole(t *testing.T) {
	d := &fake{title: "small", hosts: 2, top: 12, final: 9, tileBytes: 100, count: 100_000, text: "n"}
	o := unpack(t, written(t, d, 0))
	if len(o.about.Left) != 0 {
		t.Errorf("it says that it lacks %q", o.about.Left)
	}
	for g := range 3 {
		for level := 9; level <= 12; level++ {
			for n := range int64(1) << (12 - level) {
				want, _ := d.Tile(g, level, n)
				if k := (key{g, level, n}).String(); !bytes.Equal(o.tiles[k], want) {
					t.Errorf("tile %s is missing", k)
				}
			}
		}
	}
	if len(o.tiles) != 3*15 {
		t.Errorf("%d tiles", len(o.tiles))
	}
	events := 0
	for _, n := range o.block {
		events += n
	}
	if events != 100_000 {
		t.Errorf("%d events", events)
	}
	if first := o.contents.Tiles[0]; !slices.Equal(first, []string{"0.12.0", "1.12.0", "2.12.0"}) {
		t.Errorf("the first chunk holds %s", first)
	}
}

func TestALargeTimelineKeepsTheBudgetAndSaysWhatIsMissing(t *testing.T) {
	testneed.Long(t, "fills files of several budgets")
	d := &fake{title: "large", hosts: 3, top: 30, final: 2, tileBytes: 20_000, count: 10_000_000, text: "n"}
	for i := range 300 {
		d.worst = append(d.worst, index.Violation{Verdict: index.Verdict(3 + i%2), Sent: int64(i+1) << 31, Delay: int64(-i), From: int64(i * 30_000), To: int64(i*30_000 + 9)})
	}
	page := thePage().size()
	last := 0
	for _, budget := range []int64{page + 1, page + 100_000, 2 << 20, DefaultBudget} {
		text := written(t, d, budget)
		most := budget + budget/50
		if least := page + 140_000; most < least { // the top and the violations are there in any case
			most = least
		}
		if int64(len(text)) > most {
			t.Errorf("%d bytes for a budget of %d", len(text), budget)
		}
		if len(text) < last {
			t.Errorf("a larger budget makes a smaller file: %d", len(text))
		}
		last = len(text)
		o := unpack(t, text)
		left := strings.Join(o.about.Left, "\n")
		if !strings.Contains(left, " of 10 000 000 events, those of the worst violations and the first; meridian view covers all") || !strings.Contains(left, "the finest resolution is") {
			t.Errorf("of %d bytes it lacks %q", budget, left)
		}
		for g := range 4 {
			if _, there := o.tiles[(key{g, 30, 0}).String()]; !there {
				t.Error("without the top there is no picture")
			}
		}
		// All coarser tiles are in the file too: a page zooms level by level.
		for k := range o.tiles {
			at, err := parseKey(k)
			if err != nil {
				t.Fatal(err)
			}
			if up := (key{at.group, at.level + 1, at.number / 2}).String(); at.level < 30 && o.tiles[up] == nil {
				t.Errorf("%s is in the file, and %s above it is not", k, up)
			}
		}
		if budget < DefaultBudget {
			continue
		}
		deepest := 30
		for k := range o.tiles {
			at, _ := parseKey(k)
			deepest = min(deepest, at.level)
		}
		if deepest > 5 {
			t.Errorf("the finest tile is of level %d", deepest)
		}
		if o.block[299*30_000/blockEvents] == 0 {
			t.Error("the fields of the worst violation are missing")
		}
	}
}

func TestTheSameTimelineMakesTheSameFile(t *testing.T) {
	d := &fake{title: "T", hosts: 3, top: 14, final: 3, tileBytes: 3000, count: 50_000, text: "x"}
	if first, again := written(t, d, 1<<20), written(t, d, 1<<20); first != again {
		t.Error("two files of one timeline differ")
	}
}

func TestHostileNamesAreNoMarkupServedOrInAFile(t *testing.T) {
	plain := written(t, &fake{title: "plain", hosts: 1, top: 3, final: 3, tileBytes: 9, count: 3, text: "plain"}, 0)
	tags := func(page string) []string {
		data := regexp.MustCompile(`>[A-Za-z0-9+/=]*</script>`).ReplaceAllString(page, "></script>")
		_, data, _ = strings.Cut(data, "</title>")
		return regexp.MustCompile(`<[^<>]*>`).FindAllString(data, -1)
	}
	for _, text := range indextest.Hostile {
		d := &fake{title: text, hosts: 2, top: 3, final: 3, tileBytes: 9, count: 3, text: text}
		page := written(t, d, 0)
		if got := tags(page); !slices.Equal(got, tags(plain)) {
			t.Errorf("%q changes the markup", text)
		}
		_, title, _ := strings.Cut(page, "<title>")
		title, _, _ = strings.Cut(title, "</title>")
		if strings.ContainsAny(title, "<>\x00\u2028\u202e\x1b") || !strings.HasSuffix(title, "Meridian") {
			t.Errorf("%q makes the title %q", text, title)
		}
		h := Handler(d)
		served := body(t, ask(h, "/", nil))
		if strings.Contains(served, text) && len(text) > 4 {
			t.Errorf("%q is in the served page", text)
		}
		for _, name := range []string{"about", "events?from=0&count=3", "violations", "plots"} {
			r := ask(h, "/api/"+name, nil)
			answer := body(t, r)
			if r.Header.Get("Content-Type") != kindJSON || !json.Valid([]byte(answer)) || strings.ContainsAny(answer, "<>\x00\u2028\u2029\x1b") {
				t.Errorf("%s of %q: %s", name, text, answer)
			}
		}
	}
}

// broken fails at one request.
type broken struct {
	*fake
	tile int
}

func (d *broken) Tile(group, level int, number int64) ([]byte, error) {
	if d.tile--; d.tile < 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return d.fake.Tile(group, level, number)
}

func TestAnIndexThatFailsMakesNoFile(t *testing.T) {
	d := &broken{&fake{hosts: 2, top: 5, tileBytes: 5}, 7}
	if err := WriteFile(io.Discard, d, Options{}); err == nil {
		t.Error("the file is said to be whole")
	}
	if r := ask(Handler(d), "/api/tiles?keys=0.0.0", nil); r.StatusCode != 500 || !json.Valid([]byte(body(t, r))) {
		t.Error(r.StatusCode)
	}
}
