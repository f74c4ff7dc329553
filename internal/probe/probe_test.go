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
			key := NewKey()
			s, err := Listen(ctx, address, Options{Key: key})
			if err != nil {
				t.Fatal(err)
			}
			served := make(chan error, 1)
			go func() { served <- s.Serve(ctx) }()
			c, err := Dial(ctx, Options{Key: key, Rate: 200}, s.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			var late, exact int
			if err := c.Run(ctx, func(x Sample) {
				low, high := x.T3.Time-x.T4.Time, x.T2.Time-x.T1.Time
				// One machine, two origins of the free clock, which differ by less than 10 ms.
				if low > high || high > 10e6 || low < -10e6 {
					t.Errorf("offset in [%d, %d]: %+v", low, high, x)
				}
				// REALTIME is one: stamps of it keep their order to the nanosecond.
				if t3 := x.T3.Wall; x.Late && t3 != 0 {
					if exact++; t3 < x.T2.Wall || t3 > x.T4.Wall {
						t.Errorf("answered at %d on REALTIME, between %d and %d", t3, x.T2.Wall, x.T4.Wall)
					}
				}
				if x.Late {
					if late++; late == 20 {
						cancel()
					}
				}
			}); err != nil {
				t.Error(err)
			}
			if err := <-served; err != nil {
				t.Error(err)
			}
			t.Logf("%+v\n%+v", c.Stats(), s.Stats())
			if exact < late/2 {
				t.Errorf("%d of %d sendings have a stamp on REALTIME", exact, late)
			}
			if late < 20 || c.Stats().Kernel < c.Stats().User {
				t.Errorf("%d late samples, %+v", late, c.Stats())
			}
		})
	}
}
