package input

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// TestPacketsThatACaptureHasAreTakenFromTheKernelsAlone plays conversations of which a capture of the same host, of another host, or
// none has one direction, both, or too few, in all or a part of the time.
func TestPacketsThatACaptureHasAreTakenFromTheKernelsAlone(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		const begin, end = 100e9, 200e9 // of the capture
		tables := [2]trace.FlowTable{trace.NewFlowTable(), trace.NewFlowTable()}
		captures := [2]*trace.Capture{{Host: "web"}, {Host: "web"}}
		other := rapid.IntRange(0, 3).Draw(t, "other host") == 0
		if other {
			captures[1].Host = "db"
		}
		add := func(which int, port uint16, way int, at clock.HostTime) {
			from, to := trace.FlowEnd{Lo: 0x0a000001, Port: port}, trace.FlowEnd{Lo: 0x0a000002, Port: 80}
			if way == 1 {
				from, to = to, from
			}
			flow, _ := tables[which].Find(from, to, 6, false)
			*captures[which].Packets.Append() = trace.Packet{Time: at, Flow: flow, Kind: trace.TCP}
		}
		// The capture has a flow of its own from its first instant to its last.
		add(1, 9, 0, begin)
		add(1, 9, 0, end)
		var want []clock.HostTime
		for port := range uint16(rapid.IntRange(1, 5).Draw(t, "flows")) {
			for way := range 2 {
				n := rapid.IntRange(1, 40).Draw(t, "packets")
				covered := rapid.SampledFrom([]int{0, 0, (n + minCapturedShare - 1) / minCapturedShare, n, 2 * n}).Draw(t, "in the capture")
				inside := 0
				var outside, both []clock.HostTime
				for range n {
					at := clock.HostTime(rapid.Int64Range(begin-100*1e9, end+100*1e9).Draw(t, "time"))
					add(0, 100+port, way, at)
					both = append(both, at)
					if at >= begin-dedupMargin && at <= end+dedupMargin {
						inside++
					} else {
						outside = append(outside, at)
					}
				}
				for range covered {
					add(1, 100+port, way, clock.HostTime(rapid.Int64Range(begin, end).Draw(t, "time")))
				}
				if covered*minCapturedShare >= inside && covered > 0 && !other {
					want = append(want, outside...)
				} else {
					want = append(want, both...)
				}
			}
		}
		add(0, 500, 0, begin+1) // of no flow
		captures[0].Packets.At(captures[0].Packets.Len() - 1).Flow = trace.NoFlow
		want = append(want, begin+1)
		for i := range captures {
			captures[i].Flows = tables[i].Flows()
		}
		x := &Recording{Capture: captures[0]}
		dropDuplicates([]content{{recording: x}, {capture: captures[1]}, {recording: &Recording{}}, {}})
		var got []clock.HostTime
		for i := range x.Capture.Packets.Len() {
			got = append(got, x.Capture.Packets.At(i).Time)
		}
		if len(got) != len(want) {
			t.Fatalf("%d packets are left, not %d", len(got), len(want))
		}
		for i := range got {
			if got[i] != want[i] {
				t.Fatalf("packet %d is of %d, not %d", i, got[i], want[i])
			}
		}
	})
}
