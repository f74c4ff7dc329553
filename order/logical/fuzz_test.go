package logical

import (
	"reflect"
	"testing"

	"meridian/internal/fuzztest"
)

// FuzzOrders takes any events. Lamport, Vector and Tree must refuse the same ones: clocks out of range, messages sent twice,
// circles. Of others, Vector and Tree must say what the transitive closure says, and each event's Lamport number must be one
// more than the greatest of those before it.
func FuzzOrders(f *testing.F) {
	f.Add([]byte{0, 1, 1, 1, 2, 1, 1, 0, 0})
	f.Add([]byte{0, 2, 1, 0, 1, 2, 1, 2, 2, 1, 1, 1})
	f.Add([]byte{250, 0, 0})
	fuzztest.Run(f, func(t *testing.T, in *fuzztest.Input) {
		var events []Event
		for in.More() && len(events) < 48 {
			e := Event{Clock: in.N(256), Kind: Kind(in.N(3)), Message: in.N(16)}
			switch {
			case e.Clock == 255:
				e.Clock = -1
			case e.Clock == 254:
				e.Clock = maxClocks - in.N(2)
			default:
				e.Clock %= 6
			}
			events = append(events, e)
		}
		before := closure(events)
		wrong := false
		sent := make(map[int]bool)
		for i, e := range events {
			wrong = wrong || before[i][i] || e.Clock < 0 || e.Clock >= maxClocks || e.Kind == Send && sent[e.Message]
			sent[e.Message] = sent[e.Message] || e.Kind == Send
		}
		numbers, failed := Lamport(events)
		vector, vectorFailed := Vector(events)
		tree, treeFailed := Tree(events)
		if (failed != nil) != wrong || (vectorFailed != nil) != wrong || (treeFailed != nil) != wrong {
			t.Fatalf("%v: wrong is %v, but %v, %v, %v", events, wrong, failed, vectorFailed, treeFailed)
		}
		if wrong {
			return
		}
		for b := range events {
			longest := int64(0)
			for a := range events {
				if before[a][b] {
					longest = max(longest, numbers[a])
				}
				if v, w := vector.HappenedBefore(a, b), tree.HappenedBefore(a, b); v != before[a][b] || w != before[a][b] {
					t.Fatalf("%v: %d before %d is %v, by vectors %v, by trees %v", events, a, b, before[a][b], v, w)
				}
			}
			if numbers[b] != longest+1 {
				t.Fatalf("%v: event %d is %d after %d", events, b, numbers[b], longest)
			}
			if events[b].Clock < 6 && !reflect.DeepEqual(vector.At(b), tree.At(b)) {
				t.Fatalf("%v: at %d: %v by vectors, %v by trees", events, b, vector.At(b), tree.At(b))
			}
		}
	})
}
