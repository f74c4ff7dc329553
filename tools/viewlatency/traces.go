package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/internal/load"
	"meridian/internal/lttng"
	"meridian/trace"
)

// writeTraces writes a directory for each host into dir.
func writeTraces(dir, kind string, o load.Options) error {
	switch kind {
	case "kernel":
		return kernelTraces(dir, o)
	case "sensors":
		return sensorTraces(dir, o)
	}
	return fmt.Errorf("unknown kind %q (kernel, sensors)", kind)
}

// Each host has 24 processors, and with them 24 rows of interrupts and 48 threads.
const processors = 24

// shown returns what a host's clock shows: it is off, and its skew changes in the course of minutes.
func shown(h int) func(clock.TimelineTime) clock.HostTime {
	r := rand.New(rand.NewPCG(9, uint64(h)))
	offset, skew, wander := r.Int64N(2_000_000_000)-1_000_000_000, (r.Float64()-0.5)*60e-6, r.Float64()*0.5e-6
	return func(t clock.TimelineTime) clock.HostTime {
		s := float64(t-load.Origin) / 1e9
		return clock.HostTime(int64(t) + offset + int64(s*1e9*skew) + int64(100e9*wander*math.Sin(s/100)))
	}
}

// kernelTraces plays connections of TCP between the hosts: a request in one segment or two at once, and its acknowledgement.
// Around each packet internal/lttng tells of the interrupts, threads and calls that go with it.
func kernelTraces(dir string, o load.Options) error {
	packets := make([][]lttng.Packet, o.Hosts)
	random := rand.New(rand.NewPCG(5, 6))
	type connection struct {
		from, to int
		port     uint16
		seq      uint32
	}
	var all []connection
	for a := range o.Hosts {
		for b := range o.Hosts {
			for k := range 8 {
				if a != b {
					all = append(all, connection{a, b, uint16(30000 + 64*a + 8*b + k), random.Uint32()})
				}
			}
		}
	}
	now := load.Origin
	sent := 0
	send := func(from, to int, at clock.TimelineTime, p []byte, wire int) clock.TimelineTime {
		arrives := at + 20_000 + clock.TimelineTime(random.ExpFloat64()*30_000)
		packets[from] = append(packets[from], lttng.Packet{At: at, Sent: true, Data: p, Wire: wire})
		packets[to] = append(packets[to], lttng.Packet{At: arrives, Data: p, Wire: wire})
		sent++
		return arrives
	}
	for sent < o.Messages {
		now += clock.TimelineTime(1 + random.Int64N(60_000))
		c := &all[random.IntN(len(all))]
		last := clock.TimelineTime(0)
		for k := range 1 + random.IntN(2) {
			length := 200 + random.IntN(1200)
			last = max(last, send(c.from, c.to, now+clock.TimelineTime(int64(k)*1300), segment(c.from, c.to, c.port, 80, c.seq, 1, 0x18, length), 40+length))
			c.seq += uint32(length)
		}
		send(c.to, c.from, last+8000+clock.TimelineTime(random.Int64N(20_000)), segment(c.to, c.from, 80, c.port, 1, c.seq, 0x10, 0), 40)
	}
	for h := range packets {
		name := fmt.Sprintf("host%d", h)
		if _, err := lttng.Write(filepath.Join(dir, name), packets[h], lttng.Options{Host: name, Clock: shown(h), Processors: processors,
			PacketSize: 256 << 10}); err != nil {
			return err
		}
		packets[h] = nil
	}
	return nil
}

// segment makes the headers of a segment of TCP over IPv4.
func segment(from, to int, source, target uint16, seq, ack uint32, flags byte, length int) []byte {
	p := make([]byte, 40)
	p[0], p[8], p[9] = 0x45, 64, 6
	binary.BigEndian.PutUint16(p[2:], uint16(40+length))
	binary.BigEndian.PutUint16(p[4:], uint16(seq+ack))
	copy(p[12:], []byte{10, 0, 0, byte(from + 1)})
	copy(p[16:], []byte{10, 0, 0, byte(to + 1)})
	binary.BigEndian.PutUint16(p[20:], source)
	binary.BigEndian.PutUint16(p[22:], target)
	binary.BigEndian.PutUint32(p[24:], seq)
	binary.BigEndian.PutUint32(p[28:], ack)
	p[32], p[33] = 5<<4, flags
	binary.BigEndian.PutUint16(p[34:], 501)
	return p
}

// sensorTraces writes the busy timeline as its hosts would have recorded it.
func sensorTraces(dir string, o load.Options) error {
	l := load.Schema(o)
	maps := l.Maps
	if err := os.MkdirAll(filepath.Dir(dir), 0o777); err != nil {
		return err
	}
	w, err := ctf.NewWriter(dir, l, ctf.WriterOptions{Bounds: ctf.WithoutBounds})
	if err != nil {
		return err
	}
	if err := load.Write(o, l, &asRecorded{w, map[uint64]bool{}}); err != nil {
		return err
	}
	l.Maps = maps
	return w.Close()
}

// asRecorded takes a timeline back to what clocks showed. Messages that seem to be received before they were sent are left
// out: their stamps are wrong, which no clock would do.
type asRecorded struct {
	next trace.Sink
	sent map[uint64]bool
}

func (a *asRecorded) Write(r *trace.TimelineEvent) error {
	x := *r
	x.Time = clock.TimelineTime(r.Event.Time)
	switch {
	case r.Flow == 0:
	case a.sent[r.Flow] == (r.Role == trace.Receives):
		a.sent[r.Flow] = true
	default:
		a.sent[r.Flow] = false
		x.Flow, x.Role = 0, trace.NoRole
	}
	return a.next.Write(&x)
}

func (a *asRecorded) Close() error { return a.next.Close() }
