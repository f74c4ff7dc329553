package match

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

func TestEveryMemberOfACollectiveSendsToEveryOther(t *testing.T) {
	got := Collectives([]trace.Collective{
		{Name: "barrier", Members: []trace.Member{{Clock: 2, Entered: 5, Left: 9}, {Clock: 0, Entered: 3, Left: 8}, {Clock: 1, Entered: 7, Left: 11}}},
		{Name: "reduce", Members: []trace.Member{{Clock: 0, Entered: 20, Left: 30}, {Clock: 2, Entered: 21, Left: 31}}},
		{Name: "alone", Members: []trace.Member{{Clock: 1, Entered: 40, Left: 50}}},
	})
	want := []trace.Channel{
		{From: 0, To: 1, Messages: []trace.Message{{Sent: 3, Received: 11}}},
		{From: 0, To: 2, Messages: []trace.Message{{Sent: 3, Received: 9}, {Sent: 20, Received: 31}}},
		{From: 1, To: 0, Messages: []trace.Message{{Sent: 7, Received: 8}}},
		{From: 1, To: 2, Messages: []trace.Message{{Sent: 7, Received: 9}}},
		{From: 2, To: 0, Messages: []trace.Message{{Sent: 5, Received: 8}, {Sent: 21, Received: 30}}},
		{From: 2, To: 1, Messages: []trace.Message{{Sent: 5, Received: 11}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAMemberThatLeftBeforeItEnteredIsLeftOut(t *testing.T) {
	got := Collectives([]trace.Collective{{Members: []trace.Member{{Clock: 0, Entered: 3, Left: 2}, {Clock: 1, Entered: 0, Left: 9}}}})
	if len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// The truth is the rule itself, member by member: no offset that the messages allow lets anybody leave early, and none
// that is right is forbidden.
func TestMessagesOfACollectiveSayNeitherMoreNorLessThanItsRule(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var c trace.Collective
		for range rapid.IntRange(0, 6).Draw(t, "members") {
			entered := clock.HostTime(rapid.Int64Range(0, 20).Draw(t, "entered"))
			c.Members = append(c.Members, trace.Member{Clock: rapid.IntRange(0, 3).Draw(t, "clock"),
				Entered: entered, Left: entered + clock.HostTime(rapid.Int64Range(0, 20).Draw(t, "stay"))})
		}
		var offset [4]int64
		for i := range offset {
			offset[i] = rapid.Int64Range(-20, 20).Draw(t, "offset")
		}
		rule := true
		for _, a := range c.Members {
			for _, b := range c.Members {
				if a.Clock != b.Clock && a.Entered+clock.HostTime(offset[a.Clock]) > b.Left+clock.HostTime(offset[b.Clock]) {
					rule = false
				}
			}
		}
		kept := true
		last := [2]int{-1, -1}
		for _, ch := range Collectives([]trace.Collective{c}) {
			if key := [2]int{ch.From, ch.To}; key[0] < last[0] || key[0] == last[0] && key[1] <= last[1] {
				t.Fatalf("channel %v after %v", key, last)
			} else {
				last = key
			}
			for _, m := range ch.Messages {
				if m.Sent+clock.HostTime(offset[ch.From]) > m.Received+clock.HostTime(offset[ch.To]) {
					kept = false
				}
			}
		}
		if rule != kept {
			t.Fatalf("the rule says %v, the messages %v: %v at %v", rule, kept, c, offset)
		}
	})
}

func TestMembersThatShareAClockSendOneMessage(t *testing.T) {
	for _, shared := range []int{0, 1, 2} {
		members := []trace.Member{{Clock: shared, Entered: 3, Left: 8}, {Clock: shared, Entered: 5, Left: 7}, {Clock: shared, Entered: 4, Left: 9}}
		for c := range 3 {
			if c != shared {
				members = append(members, trace.Member{Clock: c, Entered: 1, Left: 10})
			}
		}
		channels := Collectives([]trace.Collective{{Members: members}})
		if len(channels) != 6 {
			t.Fatalf("%d channels between 3 clocks", len(channels))
		}
		for _, c := range channels {
			want := trace.Message{Sent: 1, Received: 10}
			if c.From == shared {
				want.Sent = 5 // the last to enter
			}
			if c.To == shared {
				want.Received = 7 // the first to leave
			}
			if len(c.Messages) != 1 || c.Messages[0] != want {
				t.Errorf("clock %d to %d: %v, want %v", c.From, c.To, c.Messages, want)
			}
		}
	}
}

func TestAMemberThatNoClockStampedIsLeftOut(t *testing.T) {
	for _, m := range []trace.Member{{Clock: -1, Left: 9}, {Clock: 1, Entered: -clock.Limit}, {Clock: 1, Left: clock.Limit}} {
		got := Collectives([]trace.Collective{{Members: []trace.Member{{Clock: 0, Entered: 3, Left: 8}, m}}})
		if len(got) != 0 {
			t.Errorf("%+v: %v", m, got)
		}
	}
}
