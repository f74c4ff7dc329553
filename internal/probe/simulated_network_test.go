package probe

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"os"
	"sync"
	"time"
)

// simulatedNetwork carries datagrams between simulated ports in virtual time. A seed decides how long each takes, and what is lost, doubled, damaged,
// and sent again later.
type simulatedNetwork struct {
	mu     sync.Mutex
	r      *rand.Rand
	wall   func() int64 // the machine's REALTIME
	ports  map[netip.AddrPort]*simulatedPort
	parted bool
	worse  float64 // the share of datagrams to which something happens
	plant  plant
	caught [][]byte // datagrams that somebody on the way has kept
	to     []netip.AddrPort
	from   []netip.AddrPort
	digest uint64 // of all that was delivered, and when
	count  int
}

// plant is a bug that is planted.
type plant int

const (
	nonePlanted  plant = iota
	staleStamp         // an arrival has the stamp of the one before
	takesReplays       // the server forgets which questions it has answered
	takesDoubles       // the client forgets which answers it has taken
)

// simulatedPort is one end. Between a datagram's arrival, which is stamped, and its taking the host may be busy.
type simulatedPort struct {
	n       *simulatedNetwork
	at      netip.AddrPort
	in      chan simulatedArrival
	ended   chan struct{}
	once    sync.Once
	next    uint32
	mu      sync.Mutex
	gone    []departure
	stalest int64
	forget  func() // the bug of this end, in its goroutine; nil for none
}

type simulatedArrival struct {
	b    []byte
	from netip.AddrPort
	wall int64
	busy time.Duration
}

func (n *simulatedNetwork) open(at netip.AddrPort) *socket {
	p := &simulatedPort{n: n, at: at, in: make(chan simulatedArrival, 4096), ended: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ports[at] = p
	return &socket{port: p}
}

func (p *simulatedPort) take(b []byte, deadline time.Time) (a arrival, err error) {
	var timeout <-chan time.Time
	if !deadline.IsZero() {
		t := time.NewTimer(time.Until(deadline))
		defer t.Stop()
		timeout = t.C
	}
	select {
	case <-p.ended:
		return a, os.ErrDeadlineExceeded
	default:
	}
	select {
	case <-p.ended:
		return a, os.ErrDeadlineExceeded
	case <-timeout:
		return a, os.ErrDeadlineExceeded
	case x := <-p.in:
		time.Sleep(x.busy)
		if p.forget != nil {
			p.forget()
		}
		a = arrival{n: copy(b, x.b), from: x.from, kernel: x.wall}
		if p.n.plant == staleStamp && p.stalest != 0 {
			a.kernel = p.stalest
		}
		p.stalest = x.wall
		return a, nil
	}
}

func (p *simulatedPort) send(b []byte, to netip.AddrPort) (id uint32, err error) {
	id = p.next
	p.next++
	stamp := p.n.wall()
	p.mu.Lock()
	p.gone = append(p.gone, departure{id: id, kernel: stamp})
	p.mu.Unlock()
	p.n.carry(b, p.at, to, 0)
	return id, nil
}

// carry takes a datagram on its way.
func (n *simulatedNetwork) carry(b []byte, from, to netip.AddrPort, later time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	copies := 1
	b = bytes.Clone(b)
	if len(n.caught) < 256 || n.r.IntN(8) == 0 {
		n.caught, n.from, n.to = append(n.caught, bytes.Clone(b)), append(n.from, from), append(n.to, to)
	}
	if n.r.Float64() < n.worse {
		switch n.r.IntN(4) {
		case 0:
			copies = 0
		case 1:
			copies = 2
		case 2:
			b[n.r.IntN(len(b))] ^= 1 << n.r.IntN(8)
		case 3:
			b = b[:n.r.IntN(len(b)+1)]
		}
	}
	if n.parted {
		copies = 0
	}
	for range copies {
		delay := later + 50*time.Microsecond + time.Duration(n.r.ExpFloat64()*float64(20*time.Microsecond))
		if n.r.IntN(20) == 0 {
			delay += time.Duration(n.r.Int64N(int64(30 * time.Millisecond)))
		}
		busy := time.Duration(n.r.ExpFloat64() * float64(10*time.Microsecond))
		time.AfterFunc(delay, func() { n.deliver(b, from, to, busy) })
	}
}

func (n *simulatedNetwork) deliver(b []byte, from, to netip.AddrPort, busy time.Duration) {
	wall := n.wall()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.count++
	h := fnv.New64a()
	kind := byte(0)
	if len(b) > atKind {
		kind = b[atKind]
	}
	fmt.Fprint(h, n.digest, time.Now().UnixNano(), from, to, len(b), kind)
	n.digest = h.Sum64()
	if p := n.ports[to]; p != nil {
		select {
		case p.in <- simulatedArrival{b, from, wall, busy}:
		default: // its buffer is full
		}
	}
}

// again sends some of what was kept, as it was, to where it went or from elsewhere.
func (n *simulatedNetwork) again(times int, elsewhere netip.AddrPort) {
	for range times {
		n.mu.Lock()
		if len(n.caught) == 0 {
			n.mu.Unlock()
			return
		}
		i := n.r.IntN(len(n.caught))
		b, from, to := n.caught[i], n.from[i], n.to[i]
		if n.r.IntN(2) == 0 && elsewhere.IsValid() {
			from = elsewhere
		}
		later := time.Duration(n.r.Int64N(int64(2 * time.Second)))
		n.mu.Unlock()
		n.carry(b, from, to, later)
	}
}

func (p *simulatedPort) departed(bool) (d departure, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.gone) == 0 {
		return d, false
	}
	d, p.gone = p.gone[0], p.gone[1:]
	return d, true
}

func (p *simulatedPort) expect()                 {}
func (p *simulatedPort) stamps() bool            { return true }
func (p *simulatedPort) address() netip.AddrPort { return p.at }
func (p *simulatedPort) answerFrom() error       { return nil }
func (p *simulatedPort) bind(string) error       { return nil }
func (p *simulatedPort) interrupt()              { p.once.Do(func() { close(p.ended) }) }
func (p *simulatedPort) close() error            { p.interrupt(); return nil }
