package probe

import (
	"context"
	"testing"
	"time"
)

func TestExchangesOverLoopbackCarryStampsOfTheKernel(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		t.Run(address, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
			defer cancel()
			key, base := NewKey(), System()
			s, err := Listen(ctx, address, Options{Key: key, Clock: base})
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(ctx) }()
			c, err := Dial(ctx, Options{Key: key, Clock: base, Rate: 200}, s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			var late, exact int
			if err := c.Run(ctx, func(x Sample) {
				low := int64(x.T3.Time-x.T4.Time) - x.T3.Error - x.T4.Error
				high := int64(x.T2.Time-x.T1.Time) + x.T1.Error + x.T2.Error
				if low > 0 || high < 0 { // both ends have one clock
					t.Errorf("offset in [%d, %d]: %+v", low, high, x)
				}
				// REALTIME is one: stamps of it keep their order to the nanosecond.
				if t3 := x.T3.Wall; x.Late && t3 != 0 {
					if exact++; t3 < x.T2.Wall || t3 > x.T4.Wall {
						t.Errorf("answered at %d on REALTIME, between %d and %d", t3, x.T2.Wall, x.T4.Wall)
					}
				}
				if x.Late {
					late++
				}
				// The kernel's stamps come with a busy machine's delay, some too late.
				if stats := c.Stats(); late >= 20 && exact >= late/2 && stats.Kernel >= stats.User {
					cancel()
				}
			}); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			t.Logf("%+v\n%+v", c.Stats(), s.Stats())
			if context.Cause(ctx) != context.Canceled {
				t.Errorf("%d late samples, %d sendings have a stamp on REALTIME, %+v", late, exact, c.Stats())
			}
		})
	}
}
