package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	rtrace "runtime/trace"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// playTraced plays with an execution trace in a file.
func playTraced(role, own, other, file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := rtrace.Start(f); err != nil {
		return err
	}
	defer rtrace.Stop()
	return play(role, own, other)
}

// play is the server or the database in Go, whose goroutines wait without the kernel. Other is the server's database, or the database's file.
func play(role, own, other string) error {
	if role == "db" {
		return playDB(own, other)
	}
	up, err := connect(net.JoinHostPort(other, "7001"))
	if err != nil {
		return err
	}
	defer up.Close()
	listener, err := net.Listen("tcp", net.JoinHostPort(own, "7000"))
	if err != nil {
		return err
	}
	c, err := listener.Accept()
	if err != nil {
		return err
	}
	var mu sync.Mutex
	want, held, over := make(chan bool), make(chan bool), make(chan bool)
	go func() {
		defer close(over)
		for range want {
			mu.Lock()
			held <- true
			time.Sleep(25 * time.Millisecond)
			mu.Unlock()
		}
	}()
	defer func() { close(want); <-over }()
	b := make([]byte, 16)
	var waits delays
	for {
		if _, err := io.ReadFull(c, b); err != nil {
			return ended(err)
		}
		if n := int64(binary.BigEndian.Uint64(b[8:])); n > 0 {
			if _, err := io.CopyN(io.Discard, c, n); err != nil {
				return err
			}
		}
		switch binary.BigEndian.Uint32(b[4:]) {
		case planted["lock"].number:
			want <- true
			<-held
		case planted["CPU"].number:
			burn(20 * time.Millisecond)
		}
		mu.Lock()
		burn(500 * time.Microsecond)
		mu.Unlock()
		if _, err := up.Write(b); err != nil {
			return err
		}
		if _, err := io.ReadFull(up, b); err != nil {
			return err
		}
		waits.tell(b, "")
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
}

func playDB(own, file string) error {
	synced, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer synced.Close()
	listener, err := net.Listen("tcp", net.JoinHostPort(own, "7001"))
	if err != nil {
		return err
	}
	c, err := listener.Accept()
	if err != nil {
		return err
	}
	b := make([]byte, 16)
	var waits delays
	for {
		if _, err := io.ReadFull(c, b); err != nil {
			return ended(err)
		}
		if binary.BigEndian.Uint32(b[4:]) == planted["sleep"].number {
			time.Sleep(30 * time.Millisecond)
		}
		syncedFor := ""
		if binary.BigEndian.Uint32(b[4:]) == planted["disk"].number {
			if syncedFor, err = syncs(synced, 25*time.Millisecond); err != nil {
				return err
			}
		}
		waits.tell(b, syncedFor)
		if _, err := c.Write(b); err != nil {
			return err
		}
	}
}

// syncs writes to a file and has it brought to the disk, again and again for so long. It says how long its thread waited for a processor and
// for anything else, ns; nothing if the goroutine changed its thread.
func syncs(f *os.File, d time.Duration) (string, error) {
	thread, from := syscall.Gettid(), time.Now()
	queued, used := queuedAndUsed()
	for time.Since(from) < d {
		if _, err := f.WriteAt(make([]byte, 4096), 0); err != nil {
			return "", err
		}
		if err := f.Sync(); err != nil {
			return "", err
		}
		if syscall.Gettid() != thread {
			thread = 0
		}
	}
	queuedNow, usedNow := queuedAndUsed()
	if syscall.Gettid() != thread {
		return "", nil
	}
	queued = queuedNow - queued
	return fmt.Sprint(queued, " ", int64(time.Since(from))-int64(usedNow-used)-queued), nil
}

// queuedAndUsed returns how long this thread has waited for a processor, ns, and had one.
func queuedAndUsed() (queued int64, used time.Duration) {
	if text, err := os.ReadFile("/proc/thread-self/schedstat"); err == nil {
		_, _ = fmt.Sscan(string(text), new(int64), &queued) // 0 where the kernel does not count it
	}
	return queued, threadTime()
}

// delays tells how long the threads waited for a processor since the request before.
type delays struct{ before int64 }

func (d *delays) tell(request []byte, more string) {
	now := delayed()
	fmt.Println(binary.BigEndian.Uint32(request), now-d.before, more)
	d.before = now
}

// delayed returns how long the threads of this process have waited for a processor, ns (schedstat).
func delayed() (total int64) {
	files, err := filepath.Glob("/proc/self/task/*/schedstat")
	if err != nil {
		return 0
	}
	for _, file := range files {
		var ran, waited int64
		if text, err := os.ReadFile(file); err == nil { // else the thread has ended
			if n, _ := fmt.Sscan(string(text), &ran, &waited); n == 2 {
				total += waited
			}
		}
	}
	return total
}

// ended is no error where the other end closed the connection between two requests.
func ended(err error) error {
	if err == io.EOF {
		return nil
	}
	return err
}

func connect(address string) (c net.Conn, err error) {
	for range 600 {
		if c, err = net.Dial("tcp", address); err == nil {
			return c, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return nil, fmt.Errorf("no connection to %s: %w", address, err)
}

// burn computes until it has had a processor for so long.
func burn(d time.Duration) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for from := threadTime(); threadTime()-from < d; {
		for x := uint32(1); x%100_003 != 0; x++ { // some 50 us, or each look at the time would be an event
			spent.Store(x)
		}
	}
}

// threadTime returns how long this thread has had a processor.
func threadTime() time.Duration {
	const ofThread = 1 // RUSAGE_THREAD
	var u syscall.Rusage
	if syscall.Getrusage(ofThread, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// spent keeps the compiler from leaving the loop out.
var spent atomic.Uint32
