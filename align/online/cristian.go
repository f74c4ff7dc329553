package online

// cristian takes one exchange as it is: the remote clock showed the middle of its two stamps in the middle of the round trip
// (Cristian 1989, "Probabilistic clock synchronization"; Poirier 2010, eq. (2.3) and (2.4)). An exchange counts if its round trip
// is at most twice the least one; after cristianPatience others one counts as it is.
//
// Its error is up to half of the round trip, plus what the clocks drift apart until the next exchange, since no rate is estimated.
type cristian struct {
	whole
	refused int
}

// cristianPatience is how many slow exchanges are refused in a row.
const cristianPatience = 8

func newCristian(e *edge) Synchroniser { return &cristian{whole: whole{edge: e}} }

func (c *cristian) Exchange(x Exchange) (stepped bool) {
	stepped, of := c.edge.exchange(x)
	if c.step(stepped, true); !of.there || !of.back {
		return stepped
	}
	if c.refused++; !c.known || x.RoundTrip() <= 2*c.edge.trips.least() || c.refused > cristianPatience {
		c.known, c.offset, c.refused = true, x.Offset(), 0
	}
	return stepped
}
