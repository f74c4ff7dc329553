package online

import "meridian/clock"

// cristian takes one exchange as it is: the remote clock showed the middle of its two stamps in the middle of the round trip
// (Cristian 1989, "Probabilistic clock synchronization"; Poirier 2010, eq. (2.3) and (2.4)). An exchange counts if its round trip
// is at most twice the least one; after cristianPatience others one counts as it is.
//
// Its error is up to half of the round trip, plus what the clocks drift apart until the next exchange, since no rate is estimated.
type cristian struct {
	edge    *edge
	known   bool
	offset  int64
	refused int
}

// cristianPatience is how many slow exchanges are refused in a row.
const cristianPatience = 8

func newCristian(e *edge) Synchroniser { return &cristian{edge: e} }

func (c *cristian) Exchange(x Exchange) (stepped bool) {
	stepped, ok := c.edge.exchange(x)
	if !ok {
		return false
	}
	if c.refused++; stepped || !c.known || x.RoundTrip() <= 2*c.edge.trips.least() || c.refused > cristianPatience {
		c.known, c.offset, c.refused = true, x.Offset(), 0
	}
	return stepped
}

func (c *cristian) Forward(sent, received clock.HostTime) (stepped bool) {
	return c.step(c.edge.forward(sent, received))
}

func (c *cristian) Back(sent, received clock.HostTime) (stepped bool) {
	return c.step(c.edge.back(sent, received))
}

// step forgets the estimate where the clock was set.
func (c *cristian) step(stepped, _ bool) bool {
	if stepped {
		c.known = false
	}
	return stepped
}

func (c *cristian) At(local clock.HostTime) Reading { return c.edge.read(local, c.offset, 0, c.known) }
