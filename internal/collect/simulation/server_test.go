package simulation

import (
	"context"
	"errors"
	"io/fs"
	"sync"

	"meridian/internal/collect"
	"meridian/internal/collect/disktest"
	"meridian/internal/collect/store"
)

// server is a server and its disk, which outlives its processes.
type server struct {
	w    *world
	name string
	disk *disktest.Disk

	conn   *conn
	view   *view
	cancel context.CancelFunc
	ended  chan error
}

// storeDir is where servers store.
const storeDir = "servers"

// hostDir is where they have the host of a schedule.
const hostDir = storeDir + "/s/web"

func (s *server) start() {
	s.conn = s.w.net.connect(s.name, "_INBOX")
	s.view = &view{disk: s.disk, conn: s.conn, lies: s.w.plant == beforeSync, lost: func() { s.w.serverPower = true }}
	if s.w.plant == offByOne {
		s.conn.tamper = shiftFills
	}
	kept, err := store.New(storeDir, s.view, store.Limits{Open: 3})
	if err != nil {
		s.w.violate("server %s: %v", s.name, err)
		return
	}
	x, err := collect.NewServer(collect.ServerOptions{Conn: s.conn, Name: s.name, Store: kept, Log: s.w.say(s.name)})
	if err != nil {
		s.w.violate("server %s: %v", s.name, err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel, s.ended = cancel, make(chan error, 1)
	go func() { s.ended <- x.Run(ctx) }()
}

// kill ends the process at this instant; with power the disk loses what was not synced.
func (s *server) kill(power bool) {
	s.view.die(power)
	s.cancel()
	<-s.ended // what it says of a dead connection is not of interest
	s.disk = s.view.left()
}

// view is the disk as one process has it: none when the process is dead. It can die at one of its own operations.
type view struct {
	conn *conn
	lies bool   // Sync does nothing: a planted bug
	lost func() // is called when it loses power

	mu    sync.Mutex
	disk  *disktest.Disk
	dead  bool
	after int // operations until the process dies; 0 for any
	power bool
	next  *disktest.Disk // after a power cut
}

var errDead = errors.New("the process was killed")

// dieAfter has the process die at one of its next operations.
func (v *view) dieAfter(operations int, power bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.after, v.power = operations, power
}

func (v *view) die(power bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.end(power)
}

// end ends the process. v.mu is held.
func (v *view) end(power bool) {
	if v.dead {
		return
	}
	v.dead = true
	v.conn.kill()
	if power {
		v.lost()
		v.next = v.disk.Cut()
	}
}

// left is the disk that the next process finds.
func (v *view) left() *disktest.Disk {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.next != nil {
		return v.next
	}
	return v.disk
}

// operate is called before each operation.
func (v *view) operate() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.after > 0 && !v.dead {
		if v.after--; v.after == 0 {
			v.end(v.power)
		}
	}
	if v.dead {
		return errDead
	}
	return nil
}

func (v *view) MkdirAll(dir string) error {
	if err := v.operate(); err != nil {
		return err
	}
	return v.disk.MkdirAll(dir)
}

func (v *view) Open(path string) (store.File, error) {
	if err := v.operate(); err != nil {
		return nil, err
	}
	f, err := v.disk.Open(path)
	if err != nil {
		return nil, err
	}
	return &viewFile{File: f, v: v}, nil
}

func (v *view) ReadDir(dir string) ([]fs.DirEntry, error) {
	if err := v.operate(); err != nil {
		return nil, err
	}
	return v.disk.ReadDir(dir)
}

func (v *view) Rename(from, to string) error {
	if err := v.operate(); err != nil {
		return err
	}
	return v.disk.Rename(from, to)
}

func (v *view) Remove(path string) error {
	if err := v.operate(); err != nil {
		return err
	}
	return v.disk.Remove(path)
}

func (v *view) Sync(files []store.File, dirs []string) error {
	if err := v.operate(); err != nil {
		return err
	}
	if v.lies {
		return nil
	}
	own := make([]store.File, len(files))
	for i, f := range files {
		own[i] = f.(*viewFile).File
	}
	return v.disk.Sync(own, dirs)
}

func (v *view) Boot() string { return v.disk.Boot() }

type viewFile struct {
	store.File
	v *view
}

func (f *viewFile) WriteAt(b []byte, at int64) (int, error) {
	if err := f.v.operate(); err != nil {
		return 0, err
	}
	return f.File.WriteAt(b, at)
}

func (f *viewFile) Truncate(size int64) error {
	if err := f.v.operate(); err != nil {
		return err
	}
	return f.File.Truncate(size)
}
