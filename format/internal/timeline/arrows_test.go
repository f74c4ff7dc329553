package timeline

import (
	"testing"

	"meridian/trace"
)

func TestAnArrowStartsAtTheFirstEndAndFinishesAtTheOther(t *testing.T) {
	const s, r = trace.Sends, trace.Receives
	for _, test := range []struct {
		name  string
		roles []trace.Role
		want  []Mark
		bad   int64
	}{
		{"sent and received", []trace.Role{s, r}, []Mark{Start, Finish}, 0},
		{"received before it was sent", []trace.Role{r, s}, []Mark{Start, Finish}, 1},
		{"sent twice", []trace.Role{s, s, r}, []Mark{Start, Nothing, Finish}, 0},
		{"received twice", []trace.Role{s, r, r, r}, []Mark{Start, Finish, Start, Nothing}, 0},
		{"never received", []trace.Role{s}, []Mark{Start}, 0},
	} {
		var a Arrows
		for i, role := range test.roles {
			if m, _ := a.add(7, role); m != test.want[i] {
				t.Errorf("%s: end %d is %d, not %d", test.name, i, m, test.want[i])
			}
			a.add(8, trace.Sends) // of another message
		}
		if a.Inverted() != test.bad {
			t.Errorf("%s: %d inverted", test.name, a.Inverted())
		}
	}
}

func TestWhatIsForgottenStillEnds(t *testing.T) {
	var a Arrows
	const n = 3 * generation
	for flow := uint64(1); flow <= n; flow++ {
		if m, _ := a.add(flow, trace.Sends); m != Start {
			t.Fatalf("send of %d is %d", flow, m)
		}
	}
	if held := len(a.young) + len(a.old); held > 2*generation {
		t.Errorf("%d messages remembered", held)
	}
	for _, flow := range []uint64{1, n} {
		if m, _ := a.add(flow, trace.Receives); m != Finish {
			t.Errorf("receive of %d is %d", flow, m)
		}
	}
	if a.Inverted() != 0 {
		t.Errorf("%d inverted", a.Inverted())
	}
}
