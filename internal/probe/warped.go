package probe

import "meridian/clock"

// Warped is a test double: the clocks of a host whose oscillator runs as a function says. The function leads from the free clock
// of the machine to that of the double and must ascend but where it steps; it is the truth against which estimates are judged.
type Warped struct {
	base  Clock
	show  func(clock.HostTime) clock.HostTime
	start Reading
}

// NewWarped returns clocks that show what show says when base's free clock shows its argument.
func NewWarped(base Clock, show func(clock.HostTime) clock.HostTime) *Warped {
	return &Warped{base, show, base.Read()}
}

// Read reads the clocks. Its error is that of the base: rates of a double differ from 1 by too little to show in it.
func (w *Warped) Read() Reading {
	r := w.base.Read()
	return Reading{
		Free: w.show(r.Free), Wall: hostTime(w.Stamp(int64(r.Wall))), Error: r.Error + 1,
		Monotonic: int64(w.show(hostTime(r.Monotonic-w.start.Monotonic)+w.start.Free)) - int64(w.start.Free) + w.start.Monotonic,
	}
}

// Steering is the machine's: the double's clocks run off together.
func (w *Warped) Steering() uint8 { return w.base.Steering() }

// Stamp returns what the double's REALTIME shows when the machine's shows the stamp. REALTIME of the machine is taken as running
// beside its free clock; where it is steered, the double's is steered by as much.
func (w *Warped) Stamp(realtime int64) int64 {
	from := int64(w.start.Wall) - int64(w.start.Free)
	return int64(w.show(hostTime(realtime-from))) + from
}
