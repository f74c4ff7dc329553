package thread

import (
	"fmt"
	"testing"

	"meridian/internal/cause"
	"meridian/internal/cause/wire"
)

// polling is a host with a thread that never blocks: it looks for what has come, reads, looks again and writes. Of so many turns each reads of one of
// so many connections several times, or, where they are long, all are one turn.
func polling(turns, connections int, long bool) (*World, *Host, []*packet) {
	w := NewWorld(2, &cause.Model{Hosts: []int{0, 1}, MinDelay: 1})
	w.Client = func(int32) uint8 { return 0 }
	h := w.Host(1, 1)
	t := h.thread(server1)
	var requests []*packet
	h.readBy, h.wroteBy = make(map[int32][]moved), make(map[int32][]moved)
	for i := range turns {
		at := int64(i) * 1000
		k := way{int32(i % connections), 0}
		seq := uint32(i/connections) * 10
		for n := range int64(4) {
			t.states = append(t.states, state{begin: at + n*250, kind: running + uint8(n%2), call: -1, wake: -1})
		}
		if !long {
			t.calls = append(t.calls, call{begin: at, end: at + 1, name: "epoll_wait", word: 1})
		}
		p := &packet{Packet: &wire.Packet{Host: 1, At: at, Connection: k.connection, Seq: seq, Length: 10}}
		h.received[k] = append(h.received[k], p)
		requests = append(requests, p)
		x := transfer{at: at + 100, tid: server1, first: seq, behind: seq + 10}
		h.read[k] = append(h.read[k], x)
		h.readBy[server1] = append(h.readBy[server1], moved{x, k})
		x.at += 100
		h.wroteBy[server1] = append(h.wroteBy[server1], moved{x, way{int32((i + 1) % connections), 1}})
	}
	return w, h, requests
}

// BenchmarkBusyRelay asks for each request what made a busy thread write its reply a while later. The time of one does not grow with their number.
func BenchmarkBusyRelay(b *testing.B) {
	for _, long := range []bool{false, true} {
		for _, turns := range []int{10_000, 100_000, 1_000_000} {
			for _, connections := range []int{2, turns / 10} {
				b.Run(fmt.Sprintf("long=%v/connections=%d/turns=%d", long, connections, turns), func(b *testing.B) {
					w, h, requests := polling(turns, connections, long)
					b.ResetTimer()
					for range b.N {
						h.actors = make(map[int32]*actor)
						for _, p := range requests {
							w.passedOn(h, server1, p, p.At+1_000_000)
						}
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*turns), "ns/request")
				})
			}
		}
	}
}
