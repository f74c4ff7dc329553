package index

import (
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"meridian/trace"
)

const (
	// mostHits is how many hits are returned at once.
	mostHits = 10_000
	// mostScanned is how many events are looked at in one call, so that it returns within a second or so.
	mostScanned = 1 << 22
	// chunkBlocks is how many blocks a processor goes through at a time.
	chunkBlocks = 32
)

// Search returns the first events after one (-1: from the first on) that a query in the language of docs/viewer.md finds,
// up to limit. It may return fewer and go on from Next.
func (x *Index) Search(text string, after int64, limit int) (*Found, error) {
	c := corpus{about: x.about, fields: x.fields, events: fileLanes{x}}
	return c.search(text, after, limit)
}

// corpus is what a search goes through.
type corpus struct {
	about  *About
	fields [][]trace.Field
	events eventSource
}

// search goes through the blocks on all processors, in rounds of which each is twice as long as the one before: what is found often
// is found in the first.
func (x *corpus) search(text string, after int64, limit int) (*Found, error) {
	q, err := parseQuery(text)
	if err != nil {
		return nil, err
	}
	limit = min(max(limit, 1), mostHits)
	out := &Found{Found: []Hit{}, Next: -1}
	from := max(after, -1) + 1
	if from >= x.about.Events {
		return out, nil
	}
	processors := runtime.GOMAXPROCS(0)
	searchers := make([]*searcher, processors)
	chunks := chunksOf(x.events, from, x.mayHold(q))
	scanned := int64(0)
	for size := processors; len(chunks) > 0; size *= 2 {
		round := chunks[:min(size, len(chunks))]
		chunks = chunks[len(round):]
		if err := x.round(q, searchers, round, from, limit); err != nil {
			return nil, err
		}
		for _, c := range round {
			scanned += int64(len(c.blocks)) * mostInBlock
			out.Found = append(out.Found, c.hits...)
		}
		if len(out.Found) >= limit {
			out.Found = out.Found[:limit]
			if last := out.Found[limit-1].Event; last+1 < x.about.Events {
				out.Next = last
			}
			return out, nil
		}
		if scanned >= mostScanned && len(chunks) > 0 {
			out.Next = round[len(round)-1].end() - 1
			return out, nil
		}
	}
	return out, nil
}

// round goes through chunks, each by one processor, and leaves in each its first hits, up to limit.
func (x *corpus) round(q query, searchers []*searcher, round []*chunk, from int64, limit int) error {
	var group errgroup.Group
	var next atomic.Int64
	for i := range min(len(searchers), len(round)) {
		group.Go(func() error {
			if searchers[i] == nil {
				searchers[i] = newSearcher(x, q)
			}
			for {
				n := int(next.Add(1)) - 1
				if n >= len(round) {
					return nil
				}
				if err := searchers[i].search(round[n], from, limit); err != nil {
					return err
				}
			}
		})
	}
	return group.Wait()
}

// chunk is some blocks of one list, by their numbers there, and what was found in them.
type chunk struct {
	list   *blockList
	blocks []int
	hits   []Hit
}

// end returns the number of the event behind the chunk.
func (c *chunk) end() int64 { return c.list.endOf(c.blocks[len(c.blocks)-1]) }

// chunksOf lists the blocks from an event on that are wanted: those that may hold what is searched for.
func chunksOf(x eventSource, from int64, wanted func(b *block) bool) (out []*chunk) {
	for _, l := range x.lists() {
		var c *chunk
		for i := l.from(from); i < len(l.blocks); i++ {
			if l.endOf(i) <= from || !wanted(&l.blocks[i]) {
				continue
			}
			if c == nil || len(c.blocks) == chunkBlocks {
				c = &chunk{list: &l}
				out = append(out, c)
			}
			c.blocks = append(c.blocks, i)
		}
	}
	return out
}

// mayHold tells in which blocks there may be an event that the query finds: by the classes and the rows that occur there.
func (x *corpus) mayHold(q query) func(b *block) bool {
	a := x.about
	places := map[string]bool{"host": true, "row": true} // what a class does not decide
	for _, fields := range x.fields {
		for i := range fields {
			delete(places, fields[i].Name) // but where it is a field as well
		}
	}
	var classes, rows uint64
	for i := range a.Classes {
		f := found{name: a.Classes[i].Name, category: a.Classes[i].Category}
		if q.possible(func(t *term) bool {
			if !t.word && (t.field == "host" || t.field == "row") {
				return true
			}
			w := t.foresee(&f, x.fields[i])
			return !w.decided || w.holds
		}) {
			classes |= 1 << (i % 64)
		}
	}
	for i := range a.Rows {
		f := found{host: a.Hosts[a.Rows[i].Host].Name, row: a.Rows[i].Name}
		if q.possible(func(t *term) bool { return t.word || !places[t.field] || t.holds(&f) }) {
			rows |= 1 << (i % 64)
		}
	}
	return func(b *block) bool { return b.classes&classes != 0 && b.rows&rows != 0 }
}

// possible reports whether all terms of some alternative may hold.
func (q query) possible(may func(t *term) bool) bool {
	for _, all := range q {
		good := true
		for i := range all {
			good = good && may(&all[i])
		}
		if good {
			return true
		}
	}
	return false
}
