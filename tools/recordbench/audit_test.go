//go:build linux

package main

import (
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/internal/netlab"
	"meridian/internal/record/kernel"
	"meridian/internal/testneed"
)

func TestMain(m *testing.M) { netlab.Main(m) }

func TestASessionThatLacksWhatNobodyCountsHasFaults(t *testing.T) {
	for _, test := range []struct {
		s    session
		want string
	}{
		{session{sent: 9, device: 9, perf: 9, captured: 9, traced: 9}, ""},
		{session{sent: 9, device: 9, perf: 9, captured: 9, traced: 8, missed: 1, discarded: 1, lost: 1}, ""},
		{session{sent: 9, device: 9, perf: 9, captured: 9, traced: 5, discarded: 4, lost: 4}, ""},            // that found no room
		{session{sent: 9, device: 9, perf: 9, captured: 9, traced: 9, missed: 1, discarded: 1, lost: 1}, ""}, // of another namespace
		{session{sent: 9, device: 9, perf: 9, captured: 9, traced: 8}, "1 events lack, 0 are counted as lost"},
		{session{sent: 9, device: 9, perf: 9, captured: 9, traced: 7, missed: 1, discarded: 1, lost: 1}, "2 events lack, 1 are counted as lost"},
		{session{sent: 9, device: 9, perf: 9, captured: 9, traced: 8, missed: 1, lost: 1}, "0 events are discarded by the trace, 1 lost by the summary"},
		{session{sent: 9, device: 9, perf: 9, captured: 9, traced: 10}, "10 events of 9 datagrams"},
		{session{sent: 9, device: 9, perf: 8, captured: 9, traced: 9}, "perf's count is 8, 9 were sent"},
		{session{sent: 9, device: 9, perf: 9, captured: 8, traced: 9}, "the capture's count is 8, 9 were sent"},
		{session{sent: 9, device: 8, perf: 9, captured: 9, traced: 9}, "the interface's count is 8, 9 were sent"},
	} {
		if got := strings.Join(test.s.faults(), "; "); got != test.want {
			t.Errorf("%+v: %q, want %q", test.s, got, test.want)
		}
	}
}

// TestEveryPacketIsRecordedOrCountedAsLost is the short run of make audit.
func TestEveryPacketIsRecordedOrCountedAsLost(t *testing.T) {
	testneed.Root(t, "the audit of recorded packets")
	r, err := kernel.Open(kernel.Options{Groups: kernel.Net}, nil)
	var u *kernel.Unavailable
	if errors.As(err, &u) {
		testneed.Missing(t, "%v", u)
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	b := &bench{meridian: filepath.Join(t.TempDir(), "meridian")}
	// go run keeps what it links.
	if out, err := exec.Command("go", "run", "-exec", "cp", "meridian/cmd/meridian", b.meridian).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var said strings.Builder
	err = b.audit(&said, 3, 20_000)
	t.Log(said.String())
	if err != nil {
		t.Error(err)
	}
}
