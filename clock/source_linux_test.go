package clock

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestMonotonicIsTheKernels(t *testing.T) {
	before := int64(Monotonic.Now())
	var kernel unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &kernel); err != nil {
		t.Fatal(err)
	}
	if after := int64(Monotonic.Now()); kernel.Nano() < before || kernel.Nano() > after {
		t.Errorf("%d is not from %d to %d", kernel.Nano(), before, after)
	}
}

func TestRawAndTAIAreTheKernels(t *testing.T) {
	for s, id := range map[Source]int32{MonotonicRaw: unix.CLOCK_MONOTONIC_RAW, TAI: unix.CLOCK_TAI} {
		var before, after unix.Timespec
		var got int64
		for range 3 { // somebody may set TAI in between
			if err := unix.ClockGettime(id, &before); err != nil {
				t.Fatal(err)
			}
			got = int64(s.Now())
			if err := unix.ClockGettime(id, &after); err != nil {
				t.Fatal(err)
			}
			if got >= before.Nano() && got <= after.Nano() {
				break
			}
		}
		if got < before.Nano() || got > after.Nano() {
			t.Errorf("%v: %d is not from %d to %d", s, got, before.Nano(), after.Nano())
		}
	}
}

func TestAClockThatTheKernelLacksHasNoTime(t *testing.T) {
	if ns, ok := kernelClock(1_000); ns != 0 || ok {
		t.Errorf("%d, %v", ns, ok)
	}
	if ns, ok := kernelClock(unix.CLOCK_MONOTONIC); ns <= 0 || !ok {
		t.Errorf("%d, %v", ns, ok)
	}
}
