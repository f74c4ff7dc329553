package index

import (
	"cmp"
	"context"
	"slices"
)

// Delayed are the messages between two hosts whose delay is within some limits.
type Delayed struct {
	Count int64            `json:"count"`
	List  []DelayedMessage `json:"list"`           // the earliest, in order of their sending
	Gone  bool             `json:"gone,omitempty"` // the index has only a part of the timeline any more
}

// DelayedMessage is one of them. Sent is ns since the origin, Delay by the estimate.
type DelayedMessage struct {
	Sent    int64   `json:"sent"`
	Delay   int64   `json:"delay"`
	From    int64   `json:"from"` // the event that sent it
	To      int64   `json:"to"`
	Link    int     `json:"link"` // its lane
	Verdict Verdict `json:"verdict"`
}

// Delayed lists the messages from one host to another that took least to most ns by the estimate, both included: the first n of them. The
// cost is that of reading the messages between the two, some 30 ns each.
func (x *Index) Delayed(ctx context.Context, from, to int, least, most int64, n int) (*Delayed, error) {
	return x.countLanes().delayed(ctx, x.about, from, to, least, most, n)
}

// Delayed is as for an [Index].
func (v *View) Delayed(ctx context.Context, from, to int, least, most int64, n int) (*Delayed, error) {
	out, err := v.countLanes().delayed(ctx, v.about(), from, to, least, most, n)
	if err == nil {
		out.Gone = len(v.gaps) > 0
	}
	return out, err
}

func (c *countedLanes) delayed(ctx context.Context, a *About, from, to int, least, most int64, n int) (*Delayed, error) {
	v := delayVisitor{least: least, most: most, n: n, out: Delayed{List: []DelayedMessage{}}}
	var w walker
	for lane := range c.owners {
		k := c.links[lane]
		if k == nil || a.Rows[k.From].Host != from || a.Rows[k.To].Host != to {
			continue
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		v.lane = lane
		if err := c.walk(&w, lane, &v); err != nil {
			return nil, err
		}
	}
	v.cut()
	return &v.out, nil
}

// delayVisitor collects messages, of which it holds at most twice as many as are wanted.
type delayVisitor struct {
	least, most int64
	n, lane     int
	out         Delayed
}

func (v *delayVisitor) node(*node) bool { return true }

func (v *delayVisitor) item(it *item) {
	delay := it.to - it.at
	if delay < v.least || delay > v.most {
		return
	}
	v.out.Count++
	v.out.List = append(v.out.List, DelayedMessage{Sent: it.at, Delay: delay, From: it.event, To: it.other, Link: v.lane, Verdict: Verdict(it.flags)})
	if len(v.out.List) >= 2*v.n {
		v.cut()
	}
}

// cut keeps the earliest.
func (v *delayVisitor) cut() {
	slices.SortFunc(v.out.List, func(a, b DelayedMessage) int {
		return cmp.Or(cmp.Compare(a.Sent, b.Sent), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	v.out.List = v.out.List[:min(len(v.out.List), v.n)]
}
