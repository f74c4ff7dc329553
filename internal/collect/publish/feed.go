package publish

import (
	"sort"
	"sync"
	"time"
)

// message is some events of a feed, one after the other. Nobody changes it once it is in a feed.
type message struct {
	serial uint64 // of the message, from 1
	first  uint64 // number of the first event, from 1
	events uint64
	data   []byte
	ends   []int // where each line ends in data
	// metadata is how many bytes of the metadata describe a packet; 0 for lines.
	metadata int
}

// feed is the latest messages of a timeline in one format. Each reader has a place of its own. The writer waits for no reader: messages
// that are too many are dropped, the oldest first, and readers see that from the numbers.
//
//	append --> [17..30] [31..40] [41..41]   at most limit bytes
//	               ^ has read up to 16           has read up to 3: 4 to 16 were missed
//
// Events are encoded when somebody wants them, and for some time after.
type feed struct {
	limit int

	mu       sync.Mutex
	held     []*message // serials without a gap
	bytes    int
	serial   uint64 // of the next message
	next     uint64 // number of the next event
	changed  chan struct{}
	readers  int
	wantedAt time.Time // when a reader left last
}

// linger is how long events are encoded after the last reader has left: one that lost its connection comes back.
const linger = time.Minute

// messageOverhead is what a message takes besides its data, bytes.
const messageOverhead = 256

func newFeed(limit int) *feed {
	return &feed{limit: limit, serial: 1, next: 1, changed: make(chan struct{})}
}

// skip numbers events that nobody wants.
func (f *feed) skip(events uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.next += events
}

func (m *message) size() int { return len(m.data) + 8*len(m.ends) + messageOverhead }

// append numbers a message and its events, and wakes readers.
func (f *feed) append(m *message) {
	f.mu.Lock()
	defer f.mu.Unlock()
	m.serial, m.first = f.serial, f.next
	f.serial++
	f.next += m.events
	f.held = append(f.held, m)
	f.bytes += m.size()
	drop := 0
	for ; f.bytes > f.limit && drop < len(f.held)-1; drop++ {
		f.bytes -= f.held[drop].size()
		f.held[drop] = nil
	}
	f.held = f.held[drop:]
	close(f.changed)
	f.changed = make(chan struct{})
}

// maxRead is how many messages a reader gets at a time.
const maxRead = 64

// place is how far a reader has come: the next message, and the next event.
type place struct{ serial, event uint64 }

// end returns the place behind all there is.
func (f *feed) end() place {
	f.mu.Lock()
	defer f.mu.Unlock()
	return place{f.serial, f.next}
}

// find returns the place behind the event with a number, or of the oldest event there is if that is later.
func (f *feed) find(event uint64) place {
	f.mu.Lock()
	defer f.mu.Unlock()
	i := sort.Search(len(f.held), func(i int) bool { return f.held[i].first+f.held[i].events > event+1 })
	if i == len(f.held) {
		return place{f.serial, min(event+1, f.next)}
	}
	return place{f.held[i].serial, event + 1}
}

// read returns the messages from a place on, at most maxRead, and the place where they end. If there are none, wait is closed when one comes.
func (f *feed) read(p place) (messages []*message, end place, wait <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.held) == 0 || p.serial >= f.serial {
		return nil, place{f.serial, f.next}, f.changed
	}
	from := 0
	if oldest := f.held[0].serial; p.serial > oldest {
		from = int(p.serial - oldest)
	}
	to := min(len(f.held), from+maxRead)
	messages = append(messages, f.held[from:to]...)
	last := messages[len(messages)-1]
	return messages, place{last.serial + 1, last.first + last.events}, f.changed
}

// join notes that somebody wants the events, leave that one has gone, who may come back.
func (f *feed) join() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers++
}

func (f *feed) leave(back bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers--
	if back {
		f.wantedAt = time.Now()
	}
}

// wanted says whether events are to be encoded.
func (f *feed) wanted() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.readers > 0 || !f.wantedAt.IsZero() && time.Since(f.wantedAt) < linger
}
