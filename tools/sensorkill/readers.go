//go:build unix

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"meridian/sensor/ring"
)

// readersKilled is what became of the readers.
type readersKilled struct {
	killed, again, torn int
	events              uint64
}

func (r readersKilled) String() string {
	return fmt.Sprintf("%d killed; %d events, all committed once; %d packets were written and not committed, so the next reader took them, and %d were half written",
		r.killed, r.events, r.again, r.torn)
}

// killReaders kills n readers of one ring, one after another, while its writer emits, and the writer in the end.
func killReaders(n int, seed uint64) (readersKilled, error) {
	var k readersKilled
	random := rand.New(rand.NewPCG(seed, 2))
	dir, err := directory()
	if err != nil {
		return k, err
	}
	defer os.RemoveAll(dir)
	page, err := newAcknowledged(filepath.Join(dir, "acknowledged"))
	if err != nil {
		return k, err
	}
	w, err := started("writer", dir, filepath.Join(dir, "acknowledged"))
	if err != nil {
		return k, err
	}
	defer func() {
		if w.ProcessState == nil {
			w.Process.Kill()
			w.Wait()
		}
	}()
	limit := time.Now().Add(time.Minute)
	for atomic.LoadUint64(page.shard(0)) == 0 {
		if time.Now().After(limit) {
			return k, errors.New("the writer wrote nothing in a minute")
		}
	}
	paths, err := ring.Find(dir)
	if err != nil {
		return k, err
	}
	output := filepath.Join(dir, "packets")
	var last [shards]uint64
	for k.killed < n {
		if err := killReader(paths[0], output, time.Duration(random.Int64N(int64(2*time.Millisecond)))); err != nil {
			return k, err
		}
		k.killed++
		r, err := ring.Open(paths[0])
		if err == nil {
			err = errors.Join(k.takeOver(r, output, &last), r.Close())
		}
		if err != nil {
			return k, fmt.Errorf("reader %d: %w", k.killed, err)
		}
	}
	w.Process.Kill()
	w.Wait()
	r, err := ring.Open(paths[0])
	if err != nil {
		return k, err
	}
	defer r.Close()
	if err := drain(r, &last); err != nil {
		return k, err
	}
	for i, n := range last {
		if ack := atomic.LoadUint64(page.shard(i)); n != ack && n != ack+1 {
			return k, fmt.Errorf("shard %d: the last event read is %d, and %d were published", i, n, ack)
		}
		k.events += n
	}
	return k, nil
}

// killReader starts a reader and kills it an instant after its first packet.
func killReader(path, output string, instant time.Duration) error {
	c, err := started("reader", path, output)
	if err != nil {
		return err
	}
	dead := make(chan error, 1)
	go func() { dead <- c.Wait() }()
	limit := time.Now().Add(time.Minute)
	var at time.Time
	for at.IsZero() || time.Now().Before(at) {
		select {
		case err := <-dead:
			return fmt.Errorf("a reader died by itself: %v", err)
		default:
		}
		if info, err := os.Stat(output); at.IsZero() && err == nil && info.Size() > 0 {
			at = time.Now().Add(instant)
		}
		if time.Now().After(limit) {
			err = errors.New("a reader wrote nothing in a minute")
			break
		}
	}
	c.Process.Kill()
	<-dead
	return err
}

// takeOver does what a recorder does that is started again: of its output it keeps what was committed. That is checked
// and put away.
func (k *readersKilled) takeOver(r *ring.Reader, output string, last *[shards]uint64) error {
	b, err := os.ReadFile(output)
	if err != nil {
		return err
	}
	for ; len(b) > 0; k.again++ {
		if len(b) < 16 || len(b)-16 < int(binary.LittleEndian.Uint32(b[4:])) {
			k.torn++
			break
		}
		shard, size := int(binary.LittleEndian.Uint32(b)), int(binary.LittleEndian.Uint32(b[4:]))
		if binary.LittleEndian.Uint64(b[8:]) < r.Position(shard) {
			if last[shard] == 0 && binary.LittleEndian.Uint64(b[16:]) != 1 {
				return fmt.Errorf("shard %d: the first event is %d", shard, binary.LittleEndian.Uint64(b[16:]))
			}
			if last[shard], err = checked(shard, b[16:16+size], last[shard]); err != nil {
				return err
			}
			k.again--
		}
		b = b[16+size:]
	}
	return os.Remove(output)
}
