package main

// datagrams is all the UDP traffic: questions to a name server, which are answered, and trains of long packets as QUIC
// sends them, acknowledged by short ones.
type datagrams struct {
	pause float64 // between two beginnings
	left  int     // packets to come
	train []int   // packets to come of each train
	sent  uint64
}

// Timers: nextQuery, and the next packet of train i as nextQuery+1+i.
const nextQuery = 0

func newDatagrams(w *world, packets float64, span int64) *datagrams {
	const average = 0.7*2 + 0.3*18 // packets of a question or a train
	return &datagrams{pause: float64(span) * average / packets, left: int(packets)}
}

func (d *datagrams) timer(w *world, what, side int) {
	if what > nextQuery {
		d.quic(w, what-nextQuery-1)
		return
	}
	if d.left <= 0 {
		return
	}
	w.after(int64(w.random.ExpFloat64()*d.pause), d, nextQuery, 0)
	if w.random.IntN(10) < 7 {
		d.left -= 2
		from := w.random.IntN(2)
		d.send(w, from, uint16(20000+w.random.IntN(40000)), 53, 28+w.random.IntN(40))
		return
	}
	d.left -= 18
	d.train = append(d.train, 12)
	d.quic(w, len(d.train)-1)
}

func (d *datagrams) quic(w *world, train int) {
	d.send(w, train&1, 443, uint16(30000+train%30000), 1200)
	if d.train[train]--; d.train[train] > 0 {
		w.after(15_000, d, nextQuery+1+train, 0)
	}
}

func (d *datagrams) send(w *world, from int, source, port uint16, length int) {
	d.sent++
	p := packet{udp: true, sourcePort: source, port: port, length: length, content: scramble(w.seed, d.sent)}
	w.send(d, from, &p, w.random.IntN(2000) == 0)
}

// arrives answers questions always and long packets every second time.
func (d *datagrams) arrives(w *world, side int, p *packet) {
	switch {
	case p.port == 53:
		d.send(w, side, 53, p.sourcePort, 60+w.random.IntN(200))
	case p.length == 1200 && p.id&1 == 0:
		d.send(w, side, p.port, 443, 35)
	}
}
