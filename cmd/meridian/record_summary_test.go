package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"meridian/internal/record"
	"meridian/internal/record/kernel"
)

func TestSummaryOfARecordingCountsOneAndThousands(t *testing.T) {
	stream := record.Counts{Name: "emit", Events: 1}
	packets := record.Counts{Name: "packets lo", Interface: "lo", Events: 1234}
	for _, c := range []struct {
		streams []record.Counts
		error   time.Duration
		want    string
	}{
		{[]record.Counts{stream}, 43, "trace: 1 event of 1 stream on one clock, clock error at most 43 ns"},
		{[]record.Counts{stream, packets}, 12_341, "trace: 1 event and 1 234 packets of 2 streams on one clock, clock error at most 12.35 µs"},
		{nil, 0, "trace: 0 events of 0 streams on one clock, clock error at most 0 ns"},
	} {
		s := record.Summary{Dir: "trace", Streams: c.streams, ClockError: c.error}
		for _, n := range c.streams {
			s.Total.Events += n.Events
		}
		var out strings.Builder
		if err := recordTable(&out, s, record.Keep{}); err != nil {
			t.Fatal(err)
		}
		if lines := strings.Split(strings.TrimSpace(out.String()), "\n"); lines[len(lines)-1] != c.want {
			t.Errorf("%q, want %q", lines[len(lines)-1], c.want)
		}
	}
}

func TestWhatIsDroppedNamesTheFlagsThatSaySo(t *testing.T) {
	t.Parallel()
	keep, spool := record.Keep{Time: time.Minute}, record.Keep{Spool: 1 << 30}
	both := record.Keep{Bytes: 1 << 20, Spool: 1 << 30, Release: true}
	for k, want := range map[record.Keep]string{
		{}: "not kept: 2 packets, ", keep: "not kept, as --keep says: 2 packets, ", spool: "not kept, as --spool says: 2 packets, ",
		both: "not kept, as --keep, --spool and --release say: 2 packets, ",
	} {
		if got := droppedLine(&record.Dropped{Packets: 2}, k); !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Only what found a buffer full is said to; every other reason for lost events has a line of its own.
func TestEveryReasonForLostEventsIsSaid(t *testing.T) {
	for _, c := range []struct {
		lost   uint64
		missed uint64
		faults []kernel.Fault
		want   []string
	}{
		{0, 0, nil, nil},
		{5, 0, nil, []string{"5 events were lost: their buffers were full"}},
		{5, 5, nil, []string{"the kernel ran no program of the recorder for 5 events of this machine, counted as lost"}},
		{3, 0, []kernel.Fault{{Kind: kernel.NotFollowed, Count: 2}, {Kind: kernel.DamagedRecords, Count: 1}}, []string{
			"kernel events: " + kernel.NotFollowed + " (2), counted as lost", "kernel events: " + kernel.DamagedRecords + " (1), counted as lost"}},
		{6, 1, []kernel.Fault{{Kind: kernel.DamagedRecords, Count: 2}}, []string{"3 events were lost: their buffers were full",
			"the kernel ran no program of the recorder for 1 event of this machine, counted as lost", "kernel events: " + kernel.DamagedRecords + " (2), counted as lost"}},
	} {
		s := record.Summary{Missed: c.missed, Faults: c.faults}
		s.Total.Lost = c.lost
		if got := notKept(&s, false); !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}

func TestErrorsAreRoundedUp(t *testing.T) {
	for ns, want := range map[int64]int64{0: 0, 1: 1, 9999: 9999, 10_000: 10_000, 10_001: 10_010, 99_991: 100_000, 123_450_001: 123_500_000} {
		if got := roundedUp(ns); got != want {
			t.Errorf("%d ns is rounded to %d, want %d", ns, got, want)
		}
	}
}
