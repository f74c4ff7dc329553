package main_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestACopyOfAPipeTakesWhatIsStillToBeRead gives the commands that follow a capture of some 24 MiB through a pipe that stays open, and waits
// until its copy takes less than half of that.
func TestACopyOfAPipeTakesWhatIsStillToBeRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := newWorld("host a\nhost b skew=3\ntcp a b n=16000 every=1ms\ncapture a.pcap a ns\n", dir); err != nil {
		t.Fatal(err)
	}
	capture, err := os.ReadFile(filepath.Join(dir, "a.pcap"))
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range [][]string{{"tail", "a=-", "--format", "csv"}, {"view", "--follow", "a=-", "--no-browser"}} {
		t.Run(command[0], func(t *testing.T) {
			t.Parallel()
			scratch := t.TempDir()
			var stderr bytes.Buffer
			c := exec.Command("meridian", append(command, "--scratch", scratch)...)
			c.Stderr = &stderr
			in, err := c.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Process.Kill() })
			if _, err := in.Write(capture); err != nil {
				t.Fatal(err)
			}
			for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				size, room := copySize(t, scratch)
				if size == int64(len(capture)) && room < size/2 {
					break
				}
				if time.Now().After(limit) {
					t.Fatalf("the copy has %d bytes of %d and takes %d: %s", size, len(capture), room, &stderr)
				}
			}
			if err := in.Close(); err != nil {
				t.Fatal(err)
			}
			if command[0] == "view" { // tail ends with the pipe
				if err := c.Process.Signal(os.Interrupt); err != nil {
					t.Fatal(err)
				}
			}
			if err := c.Wait(); err != nil {
				t.Errorf("%v: %s", err, &stderr)
			}
		})
	}
}

// copySize returns the size of the file in a directory of temporary files, and what it takes of the disk, bytes. It is 0 before there is one.
func copySize(t *testing.T, scratch string) (size, room int64) {
	t.Helper()
	err := filepath.WalkDir(scratch, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || filepath.Ext(path) != ".pcap" {
			return err
		}
		var s syscall.Stat_t
		if err := syscall.Stat(path, &s); err != nil {
			return err
		}
		size, room = s.Size, s.Blocks*512
		return nil
	})
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return size, room
}
