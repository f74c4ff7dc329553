package kernel

import (
	"context"
	"errors"
	"os/exec"
	"testing"

	"meridian/internal/testneed"
)

func TestProcessesThatAreNotFollowedCountAsLost(t *testing.T) {
	var refused *Unavailable
	r, err := Open(Options{Groups: Sched, OnlyFollowed: true, maxFollowed: 1}, nil)
	if errors.As(err, &refused) {
		testneed.Missing(t, "%v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	read := make(chan error, 1)
	go func() { read <- r.Read(context.Background(), func(*Event) error { return nil }) }()
	c := exec.Command("sh", "-c", "read line; for i in 1 2 3; do (exec true); done; :")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if err := r.Follow(c.Process.Pid); err != nil { // there is no room for its children
		t.Fatal(err)
	}
	in.Close()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Stop(), <-read); err != nil {
		t.Fatal(err)
	}
	faults, err1 := r.Faults()
	lost, err2 := r.Lost()
	missed, err3 := r.Missed()
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	sum := uint64(0)
	for _, n := range lost {
		sum += n
	}
	if want := (Fault{NotFollowed, 3}); len(faults) != 1 || faults[0] != want || sum-missed != 3 {
		t.Errorf("%v, %d lost, %d missed: want %v", faults, sum, missed, want)
	}
}
