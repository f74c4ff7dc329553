package view

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"

	"meridian/clock"
	"meridian/internal/cause"
	"meridian/internal/cause/thread"
	"meridian/internal/cause/wire"
	"meridian/internal/kernel"
	"meridian/internal/plainhttp"
	"meridian/internal/show/index"
	"meridian/trace"
)

// wires are the packets of a timeline.
type wires struct {
	set     *wire.Set
	row     map[int]int                // of each host, the row that stands for its packets
	stamps  [][]int64                  // of each host, the instants of its TCP packets
	marks   [][]clock.HostTime         // and what its clock showed then
	others  []map[clock.HostTime]int32 // of each host, what its clock showed for other packets, with their connection
	ends    []markedEnd                // of messages, in order of their events
	local   []map[netip.Addr]bool      // of each host, its addresses
	unsure  []bool                     // of each host, whether its address may as well be that of the one other in its packets
	numbers map[[2]netip.AddrPort]int32
	found   []wire.Request
	world   *thread.World
	upTo    int64 // the instant after which no packet was read, 0 if all were
}

// DefaultPackets is how many packets requests are found in, unless [Timeline.LimitPackets] says otherwise: some 150 bytes of memory each.
const DefaultPackets = 8 << 20

// threadEvents is how many events of threads are read at most for each packet that may be: each takes some 60 bytes of memory.
const threadEvents = 4

// LimitPackets bounds the packets that requests are found in, and four times as many events of threads, before they are first asked for. The requests of a timeline with more are
// those of its first packets, up to UpTo of the list.
func (t *Timeline) LimitPackets(most int) { t.causes.most = most }

var errEnough = errors.New("enough packets")

// packetReader reads the packets of events, of captures and of kernels.
type packetReader struct {
	kernels map[int]*kernel.Segments // by host
	classes []packetClass
}

type packetClass struct {
	class   trace.Class
	kernel  bool
	capture bool
	at      [12]int // of a capture's packets: fields by captureFields
}

var captureFields = [12]string{"protocol", "source", "source_port", "destination", "destination_port", "length", "seq", "ack", "flags", "number", "id", "http"}

func newPacketReader(t causeSource, a *index.About) *packetReader {
	r := &packetReader{kernels: make(map[int]*kernel.Segments), classes: make([]packetClass, len(a.Classes))}
	var s kernel.Segments
	for i := range a.Classes {
		c := &r.classes[i]
		c.class = trace.Class{Name: a.Classes[i].Name, Category: a.Classes[i].Category, Fields: t.Fields(i)}
		c.kernel = s.Reads(&c.class)
		if c.capture = c.class.Name == "packet" && c.class.Category == "packets"; !c.capture {
			continue
		}
		for k, name := range captureFields {
			c.at[k] = slices.IndexFunc(c.class.Fields, func(f trace.Field) bool { return f.Name == name })
		}
	}
	return r
}

func (r *packetReader) wants(class int) bool {
	return r.classes[class].kernel || r.classes[class].capture
}

// read returns the packet of an event; false if it has none of TCP. UDP is returned with its ends alone, which udp says.
func (r *packetReader) read(e *index.Scanned, host int) (p wire.Packet, from, to netip.AddrPort, udp, ok bool, err error) {
	c := &r.classes[e.Class]
	values, err := e.Values()
	if err != nil {
		return p, from, to, false, false, err
	}
	p = wire.Packet{At: e.At, Event: e.Event, Host: host, Row: e.Row}
	if c.kernel {
		s := r.kernels[host]
		if s == nil {
			s = new(kernel.Segments)
			r.kernels[host] = s
		}
		x, f, t, within, ok := s.Of(e.Class, &c.class, values)
		if !ok {
			return p, from, to, false, false, nil
		}
		p.Out, p.Within, p.Flags, p.ID, p.Seq, p.Ack, p.Length = x.From == trace.Sent, within, x.Flags, x.ID, x.Seq, x.Ack, x.Length
		return p, netip.AddrPortFrom(f.Addr, f.Port), netip.AddrPortFrom(t.Addr, t.Port), false, true, nil
	}
	text := func(k int) string {
		if at := c.at[k]; at >= 0 && at < len(values) && values[at].Kind == trace.Text {
			return string(values[at].Data)
		}
		return ""
	}
	number := func(k int) uint64 {
		if at := c.at[k]; at >= 0 && at < len(values) && values[at].Kind == trace.Uint {
			return values[at].Bits
		}
		return 0
	}
	protocol := text(0)
	f, errF := netip.ParseAddr(text(1))
	t, errT := netip.ParseAddr(text(3))
	if udp = protocol == "UDP"; protocol != "TCP" && !udp || errF != nil || errT != nil {
		return p, from, to, false, false, nil
	}
	p.Length, p.Seq, p.Ack, p.ID = uint32(number(5)), uint32(number(6)), uint32(number(7)), uint16(number(10))
	for _, letter := range text(8) {
		switch letter {
		case 'F':
			p.Flags |= trace.FIN
		case 'S':
			p.Flags |= trace.SYN
		case 'R':
			p.Flags |= trace.RST
		case '.':
			p.Flags |= trace.ACK
		}
	}
	p.HTTP = plainhttp.Parse(text(11))
	return p, netip.AddrPortFrom(f, uint16(number(2))), netip.AddrPortFrom(t, uint16(number(4))), udp, true, nil
}

// readWires reads the packets of a timeline from an event on, so many at most, and so many events of threads; without a set if it has none.
func readWires(t causeSource, a *index.About, m *cause.Model, first int64, most, ofThreads int) (*wires, error) {
	r := newPacketReader(t, a)
	threads := newThreadReader(t, a, m)
	w := &wires{set: wire.NewSet(), row: make(map[int]int), stamps: make([][]int64, len(a.Hosts)), others: make([]map[clock.HostTime]int32, len(a.Hosts)), marks: make([][]clock.HostTime, len(a.Hosts)),
		local: make([]map[netip.Addr]bool, len(a.Hosts)), unsure: make([]bool, len(a.Hosts)), numbers: make(map[[2]netip.AddrPort]int32)}
	for h := range a.Hosts {
		w.local[h] = make(map[netip.Addr]bool)
		for _, text := range a.Hosts[h].Addresses {
			if addr, err := netip.ParseAddr(text); err == nil {
				w.local[h][addr] = true
			}
		}
	}
	byKernel := make([]bool, len(a.Hosts)) // the kernel's packets are recorded: those of a capture are the same
	left, leftOfThreads := most, ofThreads
	var captured []capturedPacket
	ofMessages := func(class int) bool { return a.Classes[class].Category == "messages" }
	wanted := func(class int) bool { return r.wants(class) || threads.wants(class) || ofMessages(class) }
	err := t.Scan(first, wanted, func(e *index.Scanned) error {
		host := a.Rows[e.Row].Host
		shown := e.At
		e.At = e.Own
		if ofMessages(e.Class) {
			w.ends = append(w.ends, markedEnd{e.Event, e.Stamp})
			return nil
		}
		if threads.wants(e.Class) {
			if leftOfThreads--; leftOfThreads < 0 {
				w.upTo = max(shown, 1)
				return errEnough
			}
			threads.advance(e, host)
			return threads.read(e, host, w.set)
		}
		p, from, to, udp, ok, err := r.read(e, host)
		if err != nil || !ok {
			return err
		}
		if left--; left < 0 {
			w.upTo = max(shown, 1)
			return errEnough
		}
		switch {
		case udp:
			w.other(host, e.Stamp, from, to)
		case r.classes[e.Class].kernel:
			byKernel[host] = true
			threads.advance(e, host)
			p.At = e.At
			return threads.packet(e, w.add(p, e.Stamp, from, to))
		default:
			captured = append(captured, capturedPacket{p, e.Stamp, from, to})
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	if a.Late > 0 {
		slices.SortStableFunc(captured, func(x, y capturedPacket) int { return cmp.Compare(x.At, y.At) })
	}
	w.addCaptured(captured, byKernel, threads.world)
	if w.set.Connections() == 0 && len(w.numbers) == 0 {
		return &wires{world: threads.world, upTo: w.upTo}, nil
	}
	w.set.Join()
	w.found = w.set.Requests()
	w.world = threads.world
	w.world.Ends, w.world.Client = w.set.Ends, w.set.Client
	w.world.Serve(w.found)
	return w, nil
}

type capturedPacket struct {
	wire.Packet
	mark     clock.HostTime
	from, to netip.AddrPort
}

// addCaptured adds the packets of captures. Which way they went is told by the addresses of their hosts: those that are known,
// else the one that most of the host's packets have.
func (w *wires) addCaptured(list []capturedPacket, byKernel []bool, world *thread.World) {
	counts := make([]map[netip.Addr]int, len(w.local))
	for i := range list {
		x := &list[i]
		if counts[x.Host] == nil {
			counts[x.Host] = make(map[netip.Addr]int)
		}
		counts[x.Host][x.from.Addr()]++
		counts[x.Host][x.to.Addr()]++
	}
	for h, of := range counts {
		if len(w.local[h]) > 0 {
			continue
		}
		var most netip.Addr
		for addr, n := range of {
			if n > of[most] || n == of[most] && addr.Less(most) {
				most = addr
			}
		}
		if most.IsValid() {
			w.local[h][most] = true
		}
		for addr, n := range of {
			w.unsure[h] = w.unsure[h] || addr != most && n == of[most]
		}
	}
	for i := range list {
		x := &list[i]
		x.Out = w.local[x.Host][x.from.Addr()]
		if byKernel[x.Host] {
			if len(x.HTTP) > 0 {
				w.set.Name(x.from, x.to, x.Host, x.Seq, x.HTTP)
			}
			w.mark(x.Host, x.At, x.mark)
			continue
		}
		world.Packet(world.Host(x.Host, x.Row), w.add(x.Packet, x.mark, x.from, x.to), thread.Captured)
	}
	for h := range w.stamps {
		slices.Sort(w.stamps[h])
		slices.Sort(w.marks[h])
	}
}

// markedEnd is the end of a message with what its host's clock showed. Where the timeline grew, its instant is by a later estimate than
// that of its packet.
type markedEnd struct {
	event int64
	mark  clock.HostTime
}

// mark notes the instant of a TCP packet.
func (w *wires) mark(host int, at int64, mark clock.HostTime) {
	w.stamps[host], w.marks[host] = append(w.stamps[host], at), append(w.marks[host], mark)
}

// markOf returns what the clock of a message's end showed; false for one that an event of another kind has.
func (w *wires) markOf(event int64) (clock.HostTime, bool) {
	i, found := slices.BinarySearchFunc(w.ends, event, func(x markedEnd, event int64) int { return cmp.Compare(x.event, event) })
	if !found {
		return 0, false
	}
	return w.ends[i].mark, true
}

func (w *wires) add(p wire.Packet, mark clock.HostTime, from, to netip.AddrPort) *wire.Packet {
	if _, known := w.row[p.Host]; !known {
		w.row[p.Host] = p.Row
	}
	w.mark(p.Host, p.At, mark)
	return w.set.Add(p, from, to)
}

// other notes a packet that is not of TCP.
func (w *wires) other(host int, mark clock.HostTime, from, to netip.AddrPort) {
	key := [2]netip.AddrPort{from, to}
	if from.Compare(to) > 0 {
		key = [2]netip.AddrPort{to, from}
	}
	n, known := w.numbers[key]
	if !known {
		n = int32(len(w.numbers)) + 1
		w.numbers[key] = n
	}
	if w.others[host] == nil {
		w.others[host] = make(map[clock.HostTime]int32)
	}
	w.others[host][mark] = n
}

// replace takes the messages out that are TCP's packets, puts those of the connections in, and tells apart the conversations of others.
func (w *wires) replace(m *cause.Model) {
	is := func(host int, at, event int64) bool {
		if _, found := slices.BinarySearch(w.stamps[host], at); found {
			return true
		}
		mark, known := w.markOf(event)
		if known {
			_, known = slices.BinarySearch(w.marks[host], mark)
		}
		return known
	}
	m.Messages = slices.DeleteFunc(m.Messages, func(x cause.Message) bool {
		return is(m.Hosts[x.From], x.Sent, x.SentEvent) && is(m.Hosts[x.To], x.Received, x.ReceivedEvent)
	})
	of := func(host int, event int64) int32 {
		mark, known := w.markOf(event)
		if !known {
			return 0
		}
		return w.others[host][mark]
	}
	for i := range m.Messages {
		x := &m.Messages[i]
		if n := of(m.Hosts[x.From], x.SentEvent); n != 0 && n == of(m.Hosts[x.To], x.ReceivedEvent) {
			x.Conversation = -n
		}
	}
	w.set.Payloads(func(p *wire.Packet) {
		if p.Out || p.Other == nil {
			return
		}
		m.Messages = append(m.Messages, w.message(p.Other, p))
	})
	w.ends, w.marks, w.others = nil, nil, nil
}

// message is a packet that was received.
func (w *wires) message(sent, received *wire.Packet) cause.Message {
	return cause.Message{From: w.row[sent.Host], To: w.row[received.Host], Sent: sent.At, Received: received.At, SentEvent: sent.Event, ReceivedEvent: received.Event,
		Conversation: received.Connection + 1, On: [2]int32{int32(sent.Row) + 1, int32(received.Row) + 1}}
}

// lostOf sums requests without a reply up; nil where there are none.
func lostOf(list []wire.Request) *Lost {
	const mostNames = 8
	if len(list) == 0 {
		return nil
	}
	out := &Lost{Count: len(list), Names: []string{}}
	for i := range list {
		if name := list[i].Name; len(out.Names) < mostNames && !slices.Contains(out.Names, name) {
			out.Names = append(out.Names, name)
		}
	}
	return out
}

// path returns the path of one of the requests that were found. Of one that its client or its server alone has, it is known only where it is known
// which of them that is.
func (w *wires) path(found int) ([]cause.Piece, bool) {
	r := &w.found[found]
	if alone := r.Sent.Other == nil || r.Answer.Other == nil; alone && w.unsure[r.First.Host] {
		return nil, false
	}
	return w.world.Path(r)
}

// requests returns the requests of the connections. Texts numbers names.
func (w *wires) requests(texts func(string) int32) (out []cause.Request) {
	for i := range w.found {
		r := &w.found[i]
		x := cause.Request{Kind: [...]string{cause.KindExchange, cause.KindHTTP, cause.KindHTTP2}[r.Kind], Class: -1, Begin: r.First.At, End: r.Last.At,
			Event: r.First.Event, Last: r.Last.Event, Served: -1, Messages: r.Packets, Again: r.Again, Overlapping: r.Overlaps,
			Name: texts(r.Name), Conversation: r.Connection + 1}
		status := r.Status
		if r.GRPC != "" {
			status = "grpc " + r.GRPC
		}
		x.Status = texts(status)
		here := w.row[r.First.Host]
		x.Client, x.Server = here, here
		from, to := w.set.Ends(r.Connection, r.Direction)
		if x.Peer = texts(to.String()); r.ByServer {
			x.Peer = texts(from.Addr().String()) // its port says nothing
		}
		sent, answer := r.Sent.Other, r.Answer.Other
		switch {
		case r.ByServer || sent == nil || answer == nil:
			x.Alone = true
			// Of one end it is not known which host it is, nor of the other where the recorded host may be either.
			if client := from.Addr(); (r.ByServer || w.unsure[r.First.Host]) && !client.IsLoopback() {
				x.ClientAddress = texts(client.String())
			}
			if (!r.ByServer || w.unsure[r.First.Host]) && !to.Addr().IsLoopback() {
				x.ServerAddress = texts(to.String())
			}
		default:
			x.There, x.Back, x.Server = w.message(r.Sent, sent), w.message(answer, r.Answer), w.row[sent.Host]
		}
		out = append(out, x)
	}
	return out
}
