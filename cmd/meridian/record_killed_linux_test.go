package main

import (
	"encoding/binary"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"meridian/format/pcap"
	"meridian/internal/testneed"
	"meridian/trace"
)

// numbersIn returns the numbers of the datagrams of a capture to a port, and what was amiss with it.
func numbersIn(t *testing.T, path string) (numbers []uint32, warnings []string) {
	t.Helper()
	var w trace.Warnings
	r, err := pcap.Open(path, &w)
	if err != nil {
		return nil, nil // it is not there yet, or nothing is in it
	}
	var f trace.Frame
	for r.Next(&f) == nil {
		const headers = 14 + 20 + 8
		if len(f.Data) >= headers+4 {
			numbers = append(numbers, binary.BigEndian.Uint32(f.Data[headers:]))
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return numbers, w.Lines()
}

// TestPacketsOutliveARecorderThatIsKilled sends numbered datagrams, kills the recorder in the middle and starts another one.
func TestPacketsOutliveARecorderThatIsKilled(t *testing.T) {
	testneed.Root(t, "recording kernel events and packets")
	dir := everybodys(t)
	meridian := installed(t, dir, "meridian")
	socket, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	_, port, _ := net.SplitHostPort(socket.LocalAddr().String())
	next := uint32(0)
	send := func() {
		b := make([]byte, 32)
		binary.BigEndian.PutUint32(b, next)
		if _, err := socket.WriteTo(b, socket.LocalAddr()); err != nil {
			t.Fatal(err)
		}
		if _, _, err := socket.ReadFrom(b); err != nil {
			t.Fatal(err)
		}
		next++
	}
	for run, name := range []string{"web.pcapng", "web-2.pcapng"} {
		c := exec.Command(meridian, "record", "-q", "-o", "t", "--rings", dir, "--host", "web", "--packets=lo", "--filter", "udp port "+port)
		c.Dir, c.Stderr = dir, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "t", "packets", name)
		const burst = 64
		var written []uint32
		for limit := time.Now().Add(time.Minute); len(written) < 100; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(limit) {
				c.Process.Kill()
				t.Fatalf("%s: no packets come into the file", name)
			}
			for range burst {
				send()
			}
			// Whatever a busy machine lets the recorder do, what it has not read yet has room.
			if written, _ = numbersIn(t, path); len(written) > 0 {
				until(t, name+": packets do not come into the file", func() bool {
					written, _ = numbersIn(t, path)
					return written[len(written)-1] == next-1
				})
			}
		}
		for range burst { // which it may be writing when it is killed
			send()
		}
		c.Process.Kill()
		c.Wait()
		left, warnings := numbersIn(t, path)
		if len(left) < len(written) {
			t.Errorf("%s: %d packets are left of %d that were there", name, len(left), len(written))
		}
		for i, n := range left {
			if n != left[0]+uint32(i) {
				t.Fatalf("%s: behind packet %d comes %d", name, left[0]+uint32(i)-1, n)
			}
		}
		// At most the block that was being written is cut.
		t.Logf("run %d: %d packets, %q", run, len(left), warnings)
		if run == 0 { // as a kill within a write leaves it, which is rare
			info, err := os.Stat(path)
			if err == nil {
				err = os.Truncate(path, info.Size()-3)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	// The next recorder has cut off what was torn.
	if left, warnings := numbersIn(t, filepath.Join(dir, "t", "packets", "web.pcapng")); len(left) < 99 || len(warnings) > 0 {
		t.Errorf("%d packets are left of the first recorder's, %q", len(left), warnings)
	}
	o := ran(t, dir, meridian, "convert", "t", "-o", "t.csv")
	if o.code != 0 {
		t.Errorf("exit code %d: %s", o.code, o.stderr)
	}
}
