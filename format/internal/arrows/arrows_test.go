package arrows

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
		var e Ends
		for i, role := range test.roles {
			if m, _ := e.Add(7, role); m != test.want[i] {
				t.Errorf("%s: end %d is %d, not %d", test.name, i, m, test.want[i])
			}
			e.Add(8, trace.Sends) // of another message
		}
		if e.Inverted() != test.bad {
			t.Errorf("%s: %d inverted", test.name, e.Inverted())
		}
	}
}

func TestWhatIsForgottenStillEnds(t *testing.T) {
	var e Ends
	const n = 3 * generation
	for flow := uint64(1); flow <= n; flow++ {
		if m, _ := e.Add(flow, trace.Sends); m != Start {
			t.Fatalf("send of %d is %d", flow, m)
		}
	}
	if held := len(e.young) + len(e.old); held > 2*generation {
		t.Errorf("%d messages remembered", held)
	}
	for _, flow := range []uint64{1, n} {
		if m, _ := e.Add(flow, trace.Receives); m != Finish {
			t.Errorf("receive of %d is %d", flow, m)
		}
	}
	if e.Inverted() != 0 {
		t.Errorf("%d inverted", e.Inverted())
	}
}
