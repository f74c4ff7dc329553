// Package online estimates the offset of two clocks while messages come, exchange by exchange: a strict bound and an estimate
// within it, in bounded memory, for some ten microseconds an exchange.
//
//	s, err := online.New(online.Default, online.Options{})
//	stepped := s.Exchange(online.Exchange{Sent: t1, Received: t2, Replied: t3, Returned: t4})
//	r := s.At(now) // r.Low <= remote - local <= r.High, r.Offset within
//
// [Strict] keeps the bound of [meridian/align/bound] at the leading edge, exactly, at every message. The default method
// ("posterior") takes the mean over all lines between two hulls for five wanders at once, and averages these by how well each
// foretold the messages. "cristian" and "ntp" are there under their names for comparison.
//
// # What it assumes
//
// The bound holds while the offset departs from a line by no more than the assumption allows ([bound.Assumption]). A clock that
// is set contradicts it, and then a new piece begins: no bound spans a step that was found. A step of less than about two least
// round trips may stay unseen for seconds, since no message contradicts it; until one does, the bound may be wrong by the
// step. At low rates what the clocks may wander between exchanges comes on top: at 30 ppb/s twice 6 us in 20 s. No method can see how the least delays of the two ways differ: half of the difference is error of the estimate, and within
// the bound.
package online
