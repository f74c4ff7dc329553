package main

import "meridian/clock"

// host is one machine: its clock and its capture.
type host struct {
	out    output
	count  int
	id     uint16 // of its next IP packet
	offset int64  // of its clock from the truth at the beginning
	ppm    float64
	knots  []float64 // what skew and wander add to the clock, each second
}

// newHost draws the wander: the frequency makes a random walk of some 0.02 ppm a second around the skew.
func newHost(w *world, side int, out output, offset int64, ppm float64) host {
	h := host{out: out, id: uint16(w.random.Uint32()), offset: offset, ppm: ppm}
	frequency, total := ppm, 0.0
	for range int(w.seconds) + 60 {
		h.knots = append(h.knots, total)
		total += frequency * 1000 // ns in a second
		frequency += (ppm-frequency)*0.01 + w.random.NormFloat64()*0.02
	}
	return h
}

// clock returns what the host's clock shows at a true time.
func (h *host) clock(t clock.HostTime) clock.HostTime {
	since := int64(t - start)
	i := min(int(since/1_000_000_000), len(h.knots)-2)
	rest := float64(since - int64(i)*1_000_000_000)
	return t + clock.HostTime(h.offset) + clock.HostTime(h.knots[i]+(h.knots[i+1]-h.knots[i])*rest/1e9)
}
