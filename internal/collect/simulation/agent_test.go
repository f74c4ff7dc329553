package simulation

import (
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"meridian/internal/collect/ship"
	"meridian/internal/collect/wire"
	"meridian/internal/live/watch"
	"meridian/internal/spool"
)

// agent is a process that sends the directory of the recorder.
type agent struct {
	w       *world
	conn    *conn
	watcher *watch.Watcher
	cancel  context.CancelFunc
	end     chan struct{} // of the recording
	ended   chan error
	sum     ship.Summary
}

func (w *world) startAgent() {
	a := &agent{w: w, conn: w.net.connect("web", wire.OfHost("web", "inbox")), watcher: watch.NewPolling(), end: make(chan struct{}), ended: make(chan error, 1)}
	w.agent = a
	if w.plant == noResend {
		a.conn.tamper = sendOnce()
	}
	o := ship.Options{Conn: a.conn, Host: "web", Session: "s", Dir: w.dir, Replicas: w.replicas, Chunk: 4 << 10, Window: 16 << 10, Every: w.batch,
		Held: 32 << 10, Watcher: a.watcher, Ended: a.end, Boot: w.boot(), Log: w.say("web")}
	s, err := ship.New(o)
	if err != nil {
		w.violate("agent: %v", err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	a.cancel = cancel
	go func() {
		var err error
		a.sum, err = s.Run(ctx)
		a.ended <- err
	}()
}

// kill ends the process at this instant: what it would write as it ends in order is taken back.
func (a *agent) kill() {
	a.conn.kill()
	before := make(map[string][]byte)
	for _, name := range []string{spool.File, spool.ReleasedFile} {
		b, err := os.ReadFile(filepath.Join(a.w.dir, name))
		if err == nil {
			before[name] = b
		} else if !errors.Is(err, fs.ErrNotExist) {
			a.w.must(err)
		}
	}
	a.cancel()
	<-a.ended
	for _, name := range []string{spool.File, spool.ReleasedFile} {
		path := filepath.Join(a.w.dir, name)
		if b, was := before[name]; was {
			a.w.must(os.WriteFile(path, b, 0o666))
		} else if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			a.w.must(err)
		}
	}
}

// plant is a bug that the schedules must find.
type plant int

const (
	none           plant = iota
	beforeSync           // servers acknowledge what they have not synced
	offByOne             // a server that fills up another sends what lies a byte further on
	noResend             // the agent sends no range of a file a second time
	unawareOfPower       // an agent takes what a power cut took from its host for what the recorder has cut off
)

// shiftFills moves what a server sends another by a byte.
func shiftFills(subject string, data []byte) []byte {
	c, _, err := wire.Parse(data, nil, nil)
	if err != nil || c.Kind != wire.Data || c.Offset == 0 {
		return data
	}
	c.Offset--
	return c.Append(nil, nil)
}

// sendOnce has each range of a file sent one time.
func sendOnce() func(string, []byte) []byte {
	type place struct {
		subject, file string
		offset        uint64
	}
	sent := make(map[place]bool)
	return func(subject string, data []byte) []byte {
		c, _, err := wire.Parse(data, nil, nil)
		if err != nil || c.Kind != wire.Data {
			return data
		}
		x := place{subject, c.File, binary.LittleEndian.Uint64(data[16:])}
		if sent[x] {
			return nil
		}
		sent[x] = true
		return data
	}
}
