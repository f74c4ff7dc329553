package timeline

import (
	"slices"
	"strings"
	"testing"

	"meridian/trace"
)

func TestRowsAreOrderedByKindThenNumber(t *testing.T) {
	streams := []trace.Stream{
		{Kind: trace.Thread, ID: 7}, {Kind: 99, ID: 1}, {Kind: trace.CPU, ID: 2}, {Kind: trace.CPU, ID: 1 << 40}, {Kind: trace.CPU, ID: 0},
		{Kind: trace.Thread, ID: 3}, {Kind: trace.Messages, Name: "messages"}, {Kind: trace.Bounds}, {Kind: trace.Device, Name: "eth0"},
		{Kind: trace.CPU, ID: -1}, {Kind: trace.Process, ID: 1}, {Kind: trace.Interrupt, ID: 5},
	}
	index := make([]int, len(streams))
	for i := range index {
		index[i] = i
	}
	slices.SortStableFunc(index, func(a, b int) int { return int(RowRank(&streams[a], a) - RowRank(&streams[b], b)) })
	var got []string
	for _, i := range index {
		got = append(got, RowName(&streams[i]))
	}
	want := "bounds 0, messages, cpu 0, cpu 2, cpu -1, cpu 1099511627776, interrupt 5, eth0, process 1, thread 7, thread 3, unknown 1"
	if strings.Join(got, ", ") != want {
		t.Errorf("rows are %s", strings.Join(got, ", "))
	}
	for i := range streams {
		if p := RowRank(&streams[i], 1<<40); p < 0 || p >= 8*RanksPerKind {
			t.Errorf("rank %d", p)
		}
	}
}
