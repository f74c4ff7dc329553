package order

import (
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestChunksGiveNoPlaceTwiceAndTakeAtMostHalfMore(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		const size = 4
		p := newChunks(size)
		var held []int32
		used, pieces, most := map[int32]bool{}, 0, 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			if len(held) > 0 && rapid.IntRange(0, 2).Draw(t, "free") == 0 {
				i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
				p.free(held[i])
				delete(used, held[i])
				held[i] = held[len(held)-1]
				held = held[:len(held)-1]
				continue
			}
			place, grown := p.take()
			if grown {
				pieces++
			}
			if used[place] || place < 0 || int(place) >= pieces*size {
				t.Fatalf("place %d of %d pieces; used: %v", place, pieces, used[place])
			}
			used[place] = true
			held = append(held, place)
			most = max(most, len(held))
			if p.used != len(held) || pieces*size > most+most/2+2*size {
				t.Fatalf("%d places, %d used of %d held, %d at most", pieces*size, p.used, len(held), most)
			}
		}
	})
}

func TestChunksOfAQueueLieInItsOrder(t *testing.T) {
	const size, held, steps = 64, 1000, 100_000
	p := newChunks(size)
	var queue []int32
	apart := 0
	for i := range steps {
		place, _ := p.take()
		if n := len(queue); n > 0 && place != queue[n-1]+1 {
			apart++
		}
		queue = append(queue, place)
		if i >= held {
			p.free(queue[0])
			queue = queue[1:]
		}
	}
	if apart > steps/size+1 {
		t.Errorf("%d of %d places are not behind the one before", apart, steps)
	}
}
