package ship

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"meridian/internal/collect/wire"
	"meridian/internal/retention"
	"meridian/internal/spool"
)

// account is what became of all bytes of a trace, those of files included that are not there any more. What went without having been
// acknowledged is lost. Three sources say what went:
//
//	the directory   a file was there and is not: its size is known, and the agent holds it open as long as it may still send it
//	the account     the same, of files that went while no agent ran
//	the trace       meridian:dropped events say how many bytes recorders dropped so far; what exceeds the sum of the above went unseen
type account struct {
	spool.Account
	plan     *plan
	replicas int
	released released
	held     int64 // bytes of gone files that may wait to be sent
	log      func(format string, args ...any)

	began  bool
	since  map[string]time.Time // of Gone
	told   int64                // bytes of the files with the events when these were read
	warned string
}

// settleAfter is how long after a file went its last acks may come.
const settleAfter = 2 * time.Second

func newAccount(p *plan, replicas int, held int64, log func(string, ...any)) *account {
	return &account{plan: p, replicas: replicas, held: held, log: log, since: make(map[string]time.Time), released: newReleased()}
}

// begin reads the account of an earlier agent, or begins one.
func (a *account) begin(now time.Time) error {
	a.began = true
	a.Account = spool.New(a.plan.d.trace)
	l, err := spool.Read(a.plan.d.dir)
	switch {
	case err == nil && l.Trace == a.plan.d.trace:
		a.Account = l
		a.readReleased()
		for _, name := range slices.Sorted(maps.Keys(a.Files)) {
			x := a.Files[name]
			if f := a.plan.d.files[name]; f == nil {
				a.went(name, x, now)
			} else if a.plan.d.past && x.Size > f.whole {
				a.powerCut(f, x)
			}
		}
		for name := range a.Gone {
			a.since[name] = now
		}
		return a.unseen(now)
	case err == nil:
		a.log("%s has the account of another trace: what went before is not counted", filepath.Join(a.plan.d.dir, spool.File))
	case errors.Is(err, spool.ErrUnknown):
		a.log("%v: what went before is not counted", err)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	a.beginReleased()
	told, before, err := a.dropped()
	a.Before, a.told = before, a.tellers()
	for name := range told {
		a.Counted[name] = true
	}
	for _, f := range a.plan.d.vanished {
		if isChunk(f.name) {
			a.Before -= f.whole
		}
	}
	return err
}

// went enters a file that is not there any more and cannot be sent.
func (a *account) went(name string, x spool.Part, now time.Time) {
	if len(x.Servers) == 0 {
		x.Servers = slices.Clone(a.Servers)
	}
	a.Gone[name], a.since[name] = x, now
	if isChunk(name) {
		a.Dropped += x.Size
	}
}

// powerCut enters the end of a file that was recorded, and that the host's disk did not have when the host lost power.
func (a *account) powerCut(f *file, x spool.Part) {
	gone := x.Size - f.whole
	had := max(min(x.Acknowledged, x.Size)-f.whole, 0)
	a.Settled.Recorded += gone
	a.Settled.Acknowledged += had
	if had > 0 {
		left := spool.Released{File: f.name, Bytes: f.whole + had, Packets: max(x.Packets-x.Lacking-f.walker.packets, 0), Servers: x.Servers}
		a.released.files[f.name] = left
		a.released.pending = append(a.released.pending, left)
	}
	if gone == had {
		return
	}
	a.Settled.Lost += gone - had
	if had > 0 {
		a.Settled.LostPackets += x.Lacking
	} else {
		a.Settled.LostPackets += max(x.Packets-f.walker.packets, 0)
	}
	a.log("%s: the last %d bytes went with the host's power, and servers had not acknowledged them", f.name, gone-had)
}

// isChunk reports whether recorders count a file that they drop. Readings of clocks and the events that tell are not counted.
func isChunk(name string) bool {
	return !strings.HasPrefix(name, "clocks_") && !strings.HasPrefix(name, retention.Stream+"_")
}

// take enters the files that went since the last scan. They stay open.
func (a *account) take(now time.Time) error {
	if a.plan.d.trace == "" {
		return nil
	}
	var err error
	if !a.began {
		err = a.begin(now)
	}
	for _, f := range a.plan.d.vanished {
		if isChunk(f.name) {
			a.Dropped += f.whole
		}
	}
	a.plan.d.vanished = a.plan.d.vanished[:0]
	return err
}

// dropped returns which chunks recorders dropped, as far as events of these are left, and how many bytes they dropped in all, without
// files that are still there: these were told and not removed yet.
func (a *account) dropped() (told map[string]retention.Span, total int64, err error) {
	d := a.plan.d
	told = make(map[string]retention.Span)
	err = retention.Each(d.dir, func(x *retention.Dropped) error {
		total = max(total, int64(x.All.Bytes))
		if name := filepath.ToSlash(retention.PathOf(x.File)); isChunk(name) && wire.CheckFile(name) == nil {
			told[name] = x.Span
		}
		return nil
	})
	for name, x := range told {
		if f := d.files[name]; f != nil && !f.gone {
			total -= int64(x.Bytes)
		}
	}
	return told, total, err
}

// tellers returns the size of the files with the events.
func (a *account) tellers() (size int64) {
	for name, f := range a.plan.d.files {
		if strings.HasPrefix(name, retention.Stream+"_") {
			size += f.whole
		}
	}
	return size
}

// unseen counts what recorders dropped and no agent has seen going. The directory was scanned right before.
func (a *account) unseen(now time.Time) error {
	told, total, err := a.dropped()
	if err != nil {
		return fmt.Errorf("what the recorder dropped is not known: %w", err)
	}
	a.told = a.tellers()
	counted := make(map[string]bool, len(told))
	for name, x := range told {
		counted[name] = true
		g, gone := a.Gone[name]
		switch size := int64(x.Bytes); {
		case gone && size > g.Size: // it had grown since an agent saw it
			g.Packets, g.Lacking = max(g.Packets, int64(x.Packets)), g.Lacking+max(int64(x.Packets)-g.Packets, 0)
			a.Dropped += size - g.Size
			g.Size = size
			a.Gone[name] = g
		case !gone && !a.Counted[name] && a.plan.d.files[name] == nil:
			a.went(name, spool.Part{Size: int64(x.Bytes), Packets: int64(x.Packets), Lacking: int64(x.Packets)}, now)
		}
	}
	a.Counted = counted
	if n := total - a.Before - a.Dropped; n > 0 {
		a.Dropped += n
		a.Settled.Recorded += n
		a.Settled.Lost += n
		a.Unseen += n
		a.log("%d bytes were dropped by the recorder while no agent ran, and are lost unless servers have them", n)
	}
	return nil
}

// release closes files that are gone: those that are acknowledged, and where more waits than may, the oldest of the last class.
func (a *account) release(now time.Time, peers map[string]*peer) error {
	held := int64(0)
	var last *file
	for _, f := range append([]*file(nil), a.plan.d.order...) {
		if !f.gone {
			continue
		}
		have := a.ofFile(f)
		if have >= f.whole {
			a.settle(f.name, spool.Part{Size: f.whole, Packets: f.walker.packets, Acknowledged: have, Servers: a.serversOf(f, have)}, peers)
			if err := a.plan.d.forget(f); err != nil {
				return err
			}
			continue
		}
		if f.unreadable() {
			last, held = f, a.held+1 // no server gets more of it
			break
		}
		held += f.whole - have
		if last == nil || f.class > last.class || f.class == last.class && f.turn < last.turn {
			last = f
		}
	}
	if held <= a.held || last == nil {
		return nil
	}
	x, err := a.partOf(last)
	if err != nil {
		return err
	}
	a.Gone[last.name], a.since[last.name] = x, now
	if err := a.plan.d.forget(last); err != nil {
		return err
	}
	return a.release(now, peers)
}

// ofFile returns up to where a file is acknowledged, or was when as many servers as are wanted were there last.
func (a *account) ofFile(f *file) int64 {
	have := a.Files[f.name].Acknowledged
	if a.plan.opened(a.replicas) {
		have = a.plan.acknowledged(f.name, a.replicas) // less than before if a disk was replaced: the recorder must not drop it
	}
	return min(have, f.whole)
}

// serversOf returns the servers that acknowledged so much of an open file. The account has those that had acknowledged what it says, which may be less: what
// such a server has more, after a power cut, may be other bytes.
func (a *account) serversOf(f *file, have int64) []string {
	if x := a.Files[f.name]; have <= x.Acknowledged {
		return x.Servers
	}
	return a.plan.holders(f.name, have)
}

// had returns how much each server acknowledged of a file, as far as that is not plain from the servers that have what all have. Of those that are there it
// is what they have now, as one may have another disk.
func (a *account) had(name string, before *spool.Part) map[string]int64 {
	had := make(map[string]int64, len(before.Had)+len(before.Servers)+len(a.plan.peers))
	maps.Copy(had, before.Had)
	for _, server := range before.Servers {
		had[server] = before.By(server)
	}
	for _, p := range a.plan.peers {
		if p.state == open {
			had[p.name] = p.of(name).right()
		}
	}
	maps.DeleteFunc(had, func(_ string, n int64) bool { return n == 0 })
	return had
}

// earlier returns how much of a file that is gone a server has acknowledged, and whether all that it has is known to be right. An agent that was killed may
// not have written down the last acknowledgements, so a server that had everything is trusted with more, unless its host may have lost power.
func (a *account) earlier(server string, s *wire.State) (acknowledged int64, sure bool) {
	told := false // by whom it was acknowledged
	if x, gone := a.Gone[s.Name]; gone {
		acknowledged, told = x.By(server), len(x.Servers)+len(x.Had) > 0
	} else if x, is := a.released.files[s.Name]; is {
		if told = len(x.Servers) > 0; slices.Contains(x.Servers, server) {
			acknowledged = x.Bytes
		}
	}
	if acknowledged >= s.Have {
		return acknowledged, true
	}
	return acknowledged, !s.Doubt && (!told || slices.Contains(a.Servers, server))
}

// partOf returns what servers have a file that is open, with the packets that would be lost now.
func (a *account) partOf(f *file) (spool.Part, error) {
	x, before := spool.Part{Size: f.whole, Packets: f.walker.packets, Acknowledged: a.ofFile(f)}, a.Files[f.name]
	x.Servers, x.Had, x.Lacking = a.serversOf(f, x.Acknowledged), a.had(f.name, &before), x.Packets
	if x.Acknowledged > 0 {
		w := newWalker(f.name)
		if r, err := f.reader(); err == nil { // else too many count as lost
			if _, err := w.walk(r, x.Acknowledged); err != nil {
				return x, err
			}
			x.Lacking -= w.packets
		}
	}
	return x, nil
}

// renew takes that another file was put in place of one. Servers drop what was there before. It is not recorded any more, as what is cut off; but if the file
// was seen to be gone it was counted, and is lost.
func (a *account) renew(x renewed) {
	delete(a.Files, x.f.name)
	if x.gone {
		a.settle(x.f.name, spool.Part{Size: x.whole, Packets: x.packets, Lacking: x.packets}, nil)
	}
}

// shrink takes that a file was cut off: what servers had behind that is no part of it.
func (a *account) shrink(f *file) {
	x, known := a.Files[f.name]
	if !known {
		return
	}
	x.Acknowledged, x.Had = min(x.Acknowledged, f.whole), maps.Clone(x.Had)
	for server, n := range x.Had {
		x.Had[server] = min(n, f.whole)
	}
	a.Files[f.name] = x
}

// settle enters what became of a file.
func (a *account) settle(name string, x spool.Part, peers map[string]*peer) {
	a.Counted[name] = true
	a.Settled.Recorded += x.Size
	a.Settled.Acknowledged += x.Acknowledged
	a.Settled.Lost += x.Size - x.Acknowledged
	if x.Acknowledged < x.Size {
		a.Settled.LostPackets += x.Lacking
	}
	a.note(name, x)
	for _, p := range peers {
		if at := p.files[name]; at != nil { // it stays: a server that has less is filled from this one
			p.onWay -= at.sent - at.have
			at.sent = at.have
		}
	}
}

// update brings the account up to now and writes it.
func (a *account) update(now time.Time, peers map[string]*peer) {
	if !a.began {
		return
	}
	if a.told != a.tellers() {
		a.warn(a.unseen(now))
	}
	for name, x := range a.Gone {
		if n := min(a.plan.acknowledged(name, a.replicas)-x.Size, a.Unseen); n > 0 && isChunk(name) { // it had grown since an agent saw it
			x.Size += n
			a.found(n)
			a.Settled.Recorded -= n
			a.Settled.Acknowledged -= n
			a.Gone[name] = x
		}
		if n := a.acknowledged(name, x); n > x.Acknowledged {
			x.Had, x.Servers = a.had(name, &x), a.plan.holders(name, n)
			if x.Acknowledged = n; n == x.Size {
				x.Lacking, x.Had = 0, nil
			}
			a.Gone[name] = x
		}
		if a.plan.opened(a.replicas) && a.plan.even(name) && now.Sub(a.since[name]) >= settleAfter {
			delete(a.Gone, name)
			delete(a.since, name)
			a.settle(name, x, peers)
		}
	}
	a.findUnseen()
	a.review()
	a.warn(a.save()) // the next one may be written
}

// warn logs an error once.
func (a *account) warn(err error) {
	if err != nil && err.Error() != a.warned {
		a.warned = err.Error()
		a.log("%v", err)
	}
}

// acknowledged returns what servers have of a file that is gone.
func (a *account) acknowledged(name string, x spool.Part) int64 {
	return min(max(x.Acknowledged, a.plan.acknowledged(name, a.replicas)), x.Size)
}

// settled reports whether all that was dropped is counted, for good.
func (a *account) settled() bool { return len(a.Gone) == 0 && a.told == a.tellers() }

// sum returns how far everything is. What is gone counts as lost unless it was acknowledged, and as not acknowledged while a server lacks it
// that is to be filled from another.
func (a *account) sum() Summary {
	x := a.Settled
	if a.plan.opened(a.replicas) {
		x.Acknowledged -= a.plan.lacking()
	}
	a.released.enter(&x)
	for _, f := range a.plan.d.order {
		x.Recorded += f.whole
		if f.gone {
			x.Acknowledged += a.ofFile(f)
		} else {
			x.Acknowledged += min(a.plan.acknowledged(f.name, a.replicas), f.whole)
		}
	}
	for name, g := range a.Gone {
		have := a.acknowledged(name, g)
		x.Recorded += g.Size
		x.Acknowledged += have
		x.Lost += g.Size - have
		if have < g.Size {
			x.LostPackets += g.Lacking
		}
	}
	return x
}

// replaced forgets servers in whose place others are asked, before anything is acknowledged without them: what they have may be other bytes. An agent that
// is started again would trust them.
func (a *account) replaced() {
	asked := func(name string) bool {
		return slices.ContainsFunc(a.plan.peers, func(p *peer) bool { return p.name == name })
	}
	if len(a.plan.peers) < a.replicas || !slices.ContainsFunc(a.Servers, func(name string) bool { return !asked(name) }) {
		return
	}
	a.Servers = slices.DeleteFunc(slices.Clone(a.Servers), func(name string) bool { return !asked(name) })
	a.warn(a.save())
}

// save writes the account.
func (a *account) save() error {
	if !a.began {
		return nil
	}
	files, gone := make(map[string]spool.Part, len(a.plan.d.files)), maps.Clone(a.Gone)
	for name, f := range a.plan.d.files {
		x, before := spool.Part{Size: f.whole, Packets: f.walker.packets, Acknowledged: a.ofFile(f)}, a.Files[name]
		if x.Acknowledged > 0 {
			if x.Servers = a.plan.holders(name, x.Acknowledged); len(x.Servers) == 0 {
				x.Servers = before.Servers
			}
		}
		if x.Acknowledged < x.Size {
			x.Had = a.had(name, &before)
		}
		if x.Lacking = x.Packets; x.Acknowledged == x.Size {
			x.Lacking = 0
		}
		files[name] = x
		if f.gone { // what this agent still holds is gone for the next one
			gone[name] = x
		}
	}
	a.Files = files
	if a.plan.opened(a.replicas) {
		if a.Servers, a.Document = a.plan.whole(), 0; a.plan.documented(a.replicas) {
			a.Document = a.plan.d.metadata.sum
		}
	}
	if err := a.released.write(a.plan.d.dir, a.Trace); err != nil {
		return fmt.Errorf("%w: what servers lose of it is not noticed by the next agent", err)
	}
	l := a.Account
	l.Gone, l.Files = gone, maps.Clone(files)
	maps.DeleteFunc(l.Files, func(name string, _ spool.Part) bool { _, is := gone[name]; return is })
	if err := l.Write(a.plan.d.dir); err != nil {
		return fmt.Errorf("%w: what goes while no agent runs may be counted wrongly", err)
	}
	return nil
}
