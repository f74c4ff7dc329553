package ctf

import (
	"bytes"
	"testing"

	"meridian/trace"
)

func TestStampsThatStepBackStayIfAskedFor(t *testing.T) {
	stamps := []uint64{1000, 5000, 4000, 6000, 6000, 1 << 40, 1<<40 - 5, 1<<40 - 6, 1 << 41}
	for _, back := range []bool{false, true} {
		m := lttngMetadata()
		var out bytes.Buffer
		w, err := NewEncoder(m).NewStream(&out, 0, StreamOptions{PacketSize: 128, StepsBack: back})
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range stamps {
			if err := w.Write(i%3, c, nil, nil, []trace.Value{trace.OfUint(uint64(i))}); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Flush(); err != nil {
			t.Fatal(err)
		}
		var warnings trace.Warnings
		tr, err := Open(save(t, m, out.Bytes()), &warnings)
		if err != nil {
			t.Fatal(err)
		}
		r := tr.Streams[0].Reader()
		highest := uint64(0)
		for i, c := range stamps {
			if err := r.Next(); err != nil {
				t.Fatalf("event %d: %v", i, err)
			}
			highest = max(highest, c)
			want := highest
			if back {
				want = c
			}
			if got := r.Cycles(); got != want {
				t.Errorf("steps back %t: event %d at %d, not %d", back, i, got, want)
			}
			if p := r.Packet(); p.End < highest && i == len(stamps)-1 || p.Begin > p.End {
				t.Errorf("steps back %t: event %d in a packet from %d to %d", back, i, p.Begin, p.End)
			}
		}
		if w.Packets < 2 || back != (w.Raised == 0) {
			t.Errorf("%d packets, %d raised", w.Packets, w.Raised)
		}
		tr.Close()
	}
}
