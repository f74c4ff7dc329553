//go:build unix

package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"meridian/sensor/ring"
)

// writersKilled is what became of the writers.
type writersKilled struct {
	emitting, starting, overwriting int
	events                          uint64 // in discard mode
	ahead                           int
}

func (w writersKilled) String() string {
	return fmt.Sprintf("%d killed while they emitted (%d of them in overwrite mode) and %d before; %d events of the others, all read once; in %d shards one more than was acknowledged",
		w.emitting, w.overwriting, w.starting, w.events, w.ahead)
}

// killWriters kills until n writers died while they emitted.
func killWriters(n int, seed uint64) (writersKilled, error) {
	var killed writersKilled
	random := rand.New(rand.NewPCG(seed, 1))
	top, err := directory()
	if err != nil {
		return killed, err
	}
	defer os.RemoveAll(top)
	for i := 0; killed.emitting < n; i++ {
		dir := filepath.Join(top, fmt.Sprint(i))
		if err := os.Mkdir(dir, 0o700); err != nil {
			return killed, err
		}
		role, instant := "writer", time.Duration(random.Int64N(int64(3*time.Millisecond)))
		if i%3 == 2 {
			role = "overwriter"
		}
		// One in ten dies at any instant from its start on, most of these before the first event.
		if err := killed.one(dir, role, instant, i%10 == 9); err != nil {
			return killed, fmt.Errorf("%s %d: %w", role, i, err)
		}
		if err := os.RemoveAll(dir); err != nil {
			return killed, err
		}
	}
	return killed, nil
}

// directory makes one in memory where there is such a thing.
func directory() (string, error) {
	if dir, err := os.MkdirTemp("/dev/shm", "sensorkill"); err == nil {
		return dir, nil
	}
	return os.MkdirTemp("", "sensorkill")
}

// trial is one writer that is killed, and the reader of its ring.
type trial struct {
	dir, role string
	page      acknowledged
	c         *exec.Cmd
	dead      chan error
	r         *ring.Reader // nil until there is a ring
	last      [shards]uint64
}

// one starts a writer, reads while it emits, kills it at an instant after its first event (or its start), reads the rest and
// counts.
func (k *writersKilled) one(dir, role string, instant time.Duration, early bool) error {
	path := filepath.Join(dir, "acknowledged")
	page, err := newAcknowledged(path)
	if err != nil {
		return err
	}
	c, err := started(role, dir, path)
	if err != nil {
		return err
	}
	x := &trial{dir: dir, role: role, page: page, c: c, dead: make(chan error, 1)}
	defer x.end()
	go func() { x.dead <- c.Wait() }()
	if err := x.readUntil(instant, early); err != nil {
		return err
	}
	emitting := atomic.LoadUint64(page.shard(0)) > 0
	if err := c.Process.Kill(); err != nil {
		return err
	}
	<-x.dead
	if err := x.look(); err != nil {
		return err
	}
	if x.r == nil {
		if emitting {
			return errors.New("events were acknowledged, and there is no ring")
		}
		k.starting++
		return nil
	}
	if err := x.readRest(); err != nil {
		return err
	}
	for i, n := range x.last {
		ack := atomic.LoadUint64(page.shard(i))
		if n != ack && n != ack+1 {
			return fmt.Errorf("shard %d: the last event read is %d, and %d were published", i, n, ack)
		}
		if role == "writer" {
			k.events += n
		}
		k.ahead += int(n - ack)
	}
	switch {
	case !emitting:
		k.starting++
	case role == "writer":
		k.emitting++
	default:
		k.emitting++
		k.overwriting++
	}
	return nil
}

// end ends the writer, if it still runs, and the reader.
func (x *trial) end() {
	if x.c.ProcessState == nil {
		x.c.Process.Kill()
		<-x.dead
	}
	if x.r != nil {
		x.r.Close()
	}
}

// look opens the ring, if there is one and it is not open yet.
func (x *trial) look() (err error) {
	if x.r == nil {
		x.r, err = lookFor(x.dir)
	}
	return err
}

// readUntil reads until it is time to kill: an instant after the first event, or early, after the start.
func (x *trial) readUntil(instant time.Duration, early bool) error {
	limit := time.Now().Add(time.Minute)
	var at time.Time // of the kill
	if early {
		at = time.Now().Add(2 * instant)
	}
	for at.IsZero() || time.Now().Before(at) {
		select {
		case err := <-x.dead:
			return fmt.Errorf("it died by itself: %v", err)
		default:
		}
		if time.Now().After(limit) {
			return errors.New("no event in a minute")
		}
		if err := x.look(); err != nil {
			return err
		}
		if at.IsZero() && atomic.LoadUint64(x.page.shard(0)) > 0 {
			at = time.Now().Add(instant)
		}
		if x.r != nil && x.role == "writer" {
			if err := drain(x.r, &x.last); err != nil {
				return err
			}
		}
	}
	return nil
}

// readRest reads what a dead writer left.
func (x *trial) readRest() error {
	if x.r.Alive() {
		return errors.New("it is dead, and the reader thinks it alive")
	}
	if x.role == "writer" {
		return drain(x.r, &x.last)
	}
	return x.r.Snapshot(func(p *ring.Packet) (err error) {
		x.last[p.Shard], err = checked(p.Shard, p.Events, x.last[p.Shard])
		return err
	})
}

// lookFor returns a reader of the ring in a directory, nil where none is ready.
func lookFor(dir string) (*ring.Reader, error) {
	paths, err := ring.Find(dir)
	if err != nil || len(paths) == 0 {
		return nil, err
	}
	r, err := ring.Open(paths[0])
	if errors.Is(err, ring.ErrUnready) {
		return nil, nil
	}
	return r, err
}

// drain reads all there is and commits it.
func drain(r *ring.Reader, last *[shards]uint64) error {
	for {
		var p ring.Packet
		ok, err := r.Next(&p)
		if err != nil {
			return err
		}
		if !ok {
			return nil
		}
		// Number 0 is before the first one and lets checked begin anywhere: not here.
		if last[p.Shard] == 0 && p.First != 1 {
			return fmt.Errorf("shard %d: the first event is %d", p.Shard, p.First)
		}
		if last[p.Shard], err = checked(p.Shard, p.Events, last[p.Shard]); err != nil {
			return err
		}
		if err := r.Commit(); err != nil {
			return err
		}
	}
}
