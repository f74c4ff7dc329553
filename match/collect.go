package match

import (
	"context"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sync/errgroup"

	"meridian/trace"
)

// link gathers the messages from one capture to another, in blocks: nothing is copied as they grow in number.
type link struct {
	from, to *index
	memory   trace.Memory // of full blocks
	full     [][]trace.Message
	block    []trace.Message
}

// linkBlock is how many messages a block holds: so few that the room of the last ones is little beside all.
const linkBlock = 1 << 13

func (l *link) add(m trace.Message) {
	if len(l.block) == cap(l.block) {
		l.grow()
	}
	l.block = append(l.block, m)
}

// grow begins a block: small at first, since most pairs of captures share little or nothing.
func (l *link) grow() {
	if len(l.block) == linkBlock {
		full, moved := trace.KeepIn(l.memory, l.block)
		l.full = append(l.full, full)
		if l.block = l.block[:0]; !moved {
			l.block = make([]trace.Message, 0, linkBlock)
		}
		return
	}
	l.block = append(make([]trace.Message, 0, min(linkBlock, max(64, 4*len(l.block)))), l.block...)
}

// keep puts the last block into the memory, full or not. More can be added afterwards, though slowly.
func (l *link) keep() { l.block, _ = trace.KeepIn(l.memory, l.block) }

// length returns how many messages were added.
func (l *link) length() int { return len(l.full)*linkBlock + len(l.block) }

// truncate leaves the first n messages.
func (l *link) truncate(n int) {
	for n < len(l.full)*linkBlock {
		l.block = l.full[len(l.full)-1]
		l.full = l.full[:len(l.full)-1]
	}
	l.block = l.block[:n-len(l.full)*linkBlock]
}

// at returns the message at a place.
func (l *link) at(place int) *trace.Message {
	if place >= len(l.full)*linkBlock {
		return &l.block[place-len(l.full)*linkBlock]
	}
	return &l.full[place/linkBlock][place%linkBlock]
}

// remove takes out the messages of findings, which lie in the link in their order, but those whose deviations are accepted: so many
// does it return. Messages before the first finding stay where they are, others move forward.
func (l *link) remove(drop []*finding) (left int64) {
	kept := drop[0].from
	for place, n := kept, l.length(); place < n; place++ {
		if place%linkBlock == 0 {
			trace.TouchedIn(l.memory, linkBlock*int(unsafe.Sizeof(trace.Message{})))
		}
		for len(drop) > 0 && place >= drop[0].to {
			drop = drop[1:]
		}
		m := *l.at(place)
		if len(drop) > 0 && place >= drop[0].from {
			if !drop[0].likely(m) {
				continue
			}
			left++
		}
		*l.at(kept) = m
		kept++
	}
	l.truncate(kept)
	return left
}

// blocks returns all that was added.
func (l *link) blocks() [][]trace.Message {
	if len(l.block) == 0 {
		return l.full
	}
	return append(l.full, l.block)
}

// joined returns all that was added in one piece.
func (l *link) joined() []trace.Message {
	if len(l.full) == 0 {
		return l.block
	}
	all := trace.MakeIn[trace.Message](l.memory, l.length())
	to := all
	for _, block := range l.blocks() {
		to = to[copy(to, block):]
		trace.TouchedIn(l.memory, 2*len(block)*int(unsafe.Sizeof(trace.Message{})))
	}
	return all
}

// collector is what is found in one batch of conversations.
type collector struct {
	memory  trace.Memory
	links   map[[2]*index]*link
	ordered []*link // as they were begun
	last    *link   // the one asked for last: conversations of one pair of captures come together
	found   []*finding
}

// offer lets fill hand in what one direction of a conversation holds.
func (c *collector) offer(k kind, fill func(*finding)) {
	l := c.link(k.from, k.to)
	f := &finding{kind: k, link: l, from: l.length()}
	fill(f)
	if f.to = l.length(); f.census != (census{}) {
		c.found = append(c.found, f)
	}
}

func (c *collector) link(from, to *index) *link {
	if c.last != nil && c.last.from == from && c.last.to == to {
		return c.last
	}
	key := [2]*index{from, to}
	l, ok := c.links[key]
	if !ok {
		l = &link{from: from, to: to, memory: c.memory}
		c.links[key] = l
		c.ordered = append(c.ordered, l)
	}
	c.last = l
	return l
}

// keep puts what links hold into the memory, so that many batches do not fill the heap with blocks that are not full.
func (c *collector) keep() {
	for _, l := range c.ordered {
		l.keep()
	}
}

// maxBatches is into how many batches conversations are divided at most: enough that no worker waits long for another.
const maxBatches = 64

// matchConversations matches all conversations whose near end is known, several at a time. What it returns is in the order of the
// conversations, whichever goroutine was quicker: what follows must not depend on that.
func matchConversations(ctx context.Context, conversations []conversation, m trace.Memory) ([]*link, Tally, error) {
	batches := make([]collector, min(maxBatches, len(conversations)))
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(runtime.GOMAXPROCS(0), len(batches)) {
		group.Go(func() error {
			var tcp tcpMatcher
			var datagrams datagramMatcher
			for i := int(next.Add(1) - 1); i < len(batches); i = int(next.Add(1) - 1) {
				c := &batches[i]
				c.memory, c.links = m, make(map[[2]*index]*link)
				for k := i * len(conversations) / len(batches); k < (i+1)*len(conversations)/len(batches); k++ {
					if err := ctx.Err(); err != nil {
						return err
					}
					u := &conversations[k]
					switch {
					case u.near == 0:
					case u.connA != nil:
						tcp.match(u, c)
					default:
						datagrams.match(u, c)
					}
				}
				c.keep()
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, Tally{}, err
	}
	lone := collector{memory: m, links: make(map[[2]*index]*link)}
	lone.offerLone(conversations)
	var links []*link
	found := lone.found
	for i := range batches {
		links = append(links, batches[i].ordered...)
		found = append(found, batches[i].found...)
	}
	accept(found)
	placeByFounders(found)
	tally := addMessages(found)
	for _, l := range links {
		tally.Messages += int64(l.length())
		l.keep()
	}
	return links, tally, nil
}
