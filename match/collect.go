package match

import (
	"context"
	"runtime"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"meridian/trace"
)

// link gathers the messages from one capture to another, in blocks: nothing is copied as they grow in number.
type link struct {
	from, to *index
	full     [][]trace.Message
	block    []trace.Message
}

const linkBlock = 1 << 15

func (l *link) add(m trace.Message) {
	if len(l.block) == cap(l.block) {
		l.grow()
	}
	l.block = append(l.block, m)
}

// grow begins a block: small at first, since most pairs of captures share little or nothing.
func (l *link) grow() {
	if len(l.block) == linkBlock {
		l.full = append(l.full, l.block)
		l.block = make([]trace.Message, 0, linkBlock)
		return
	}
	l.block = append(make([]trace.Message, 0, min(linkBlock, max(64, 4*len(l.block)))), l.block...)
}

// blocks returns all that was added.
func (l *link) blocks() [][]trace.Message {
	if len(l.block) == 0 {
		return l.full
	}
	return append(l.full, l.block)
}

// collector is what is found in one batch of conversations.
type collector struct {
	links   map[[2]*index]*link
	ordered []*link // as they were begun
	last    *link   // the one asked for last: conversations of one pair of captures come together
	tally   Tally
}

func (c *collector) link(from, to *index) *link {
	if c.last != nil && c.last.from == from && c.last.to == to {
		return c.last
	}
	key := [2]*index{from, to}
	l, ok := c.links[key]
	if !ok {
		l = &link{from: from, to: to}
		c.links[key] = l
		c.ordered = append(c.ordered, l)
	}
	c.last = l
	return l
}

// maxBatches is into how many batches conversations are divided at most: enough that no worker waits long for another.
const maxBatches = 64

// matchConversations matches all conversations whose near end is known, several at a time. What it returns is in the order of the
// conversations, whichever goroutine was quicker: what follows must not depend on that.
func matchConversations(ctx context.Context, conversations []conversation) ([]*link, Tally, error) {
	batches := make([]collector, min(maxBatches, len(conversations)))
	var next atomic.Int64
	group, ctx := errgroup.WithContext(ctx)
	for range min(runtime.GOMAXPROCS(0), len(batches)) {
		group.Go(func() error {
			var tcp tcpMatcher
			var datagrams datagramMatcher
			for i := int(next.Add(1) - 1); i < len(batches); i = int(next.Add(1) - 1) {
				c := &batches[i]
				c.links = make(map[[2]*index]*link)
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
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, Tally{}, err
	}
	var links []*link
	var tally Tally
	for i := range batches {
		tally.add(batches[i].tally)
		for _, l := range batches[i].ordered {
			for _, block := range l.blocks() {
				tally.Messages += int64(len(block))
			}
		}
		links = append(links, batches[i].ordered...)
	}
	return links, tally, nil
}
