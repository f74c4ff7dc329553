package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"meridian/internal/netlab"
	"meridian/internal/testneed"
)

func TestMain(m *testing.M) {
	if played() {
		return
	}
	netlab.Main(m)
}

// Whatever else runs on the machine, the database's sleep and the server's computing are on the path, as long as they were.
func TestPlantedSleepAndComputingAreOnThePathOfARequest(t *testing.T) {
	testneed.Root(t, "kernel events")
	testneed.Program(t, "python3")
	if _, err := os.Stat("/sys/kernel/btf/vmlinux"); err != nil {
		testneed.Missing(t, "this kernel does not describe its types")
	}
	meridian := filepath.Join(t.TempDir(), "meridian")
	// go run keeps what it links.
	if out, err := exec.Command("go", "run", "-exec", "cp", "meridian/cmd/meridian", meridian).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, language := range []string{"python", "go"} {
		b := bar{meridian: meridian, goroutines: true, kernel: "net,sched,syscalls,sockets,disk", disk: t.TempDir()}
		dir := t.TempDir()
		order := []string{"", "sleep", "", "CPU", "lock", "", "delayed ACK", "", "disk"}
		if err := b.record(threeHosts(t), dir, language, order); err != nil {
			t.Fatal(err)
		}
		requests, err := b.requests(dir)
		if err != nil || len(requests) != len(order) {
			t.Fatalf("%s: %d requests of %d, %v", language, len(requests), len(order), err)
		}
		for i := range requests {
			r := &requests[i]
			if r.sum() != r.Path.Request.Total {
				t.Errorf("%s: pieces of request %d, %s, sum to %d of %d", language, i, order[i], r.sum(), r.Path.Request.Total)
			}
			if kind := order[i]; kind == "sleep" || kind == "CPU" {
				if got := r.spent(planted[kind].right); got < planted[kind].least*9/10 {
					t.Errorf("%s: of request %d, %s, it took %d ns by its path: %+v", language, i, kind, got, r.Path.Items)
				}
			}
		}
	}
}
