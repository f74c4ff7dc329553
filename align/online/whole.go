package online

import "meridian/clock"

// whole is what methods share that need whole exchanges: of a message by itself they take the bound, and forget their estimate where
// it shows that a clock was set.
type whole struct {
	edge   *edge
	known  bool
	offset int64
}

func (w *whole) Forward(x Exchange) (stepped bool) { return w.step(w.edge.forward(x)) }

func (w *whole) Back(x Exchange) (stepped bool) { return w.step(w.edge.back(x)) }

func (w *whole) step(stepped, _ bool) bool {
	w.known = w.known && !stepped
	return stepped
}

func (w *whole) At(local clock.HostTime) Reading { return w.edge.read(local, w.offset, 0, w.known) }
