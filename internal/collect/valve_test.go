package collect_test

import (
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"
)

// valve carries connections to another address. While it is shut nothing passes, and no connection ends.
type valve struct {
	listener net.Listener
	open     sync.RWMutex // held to shut it

	all   sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
}

func newValve(t *testing.T, to func() string) *valve {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	v := &valve{listener: l}
	v.all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", to())
			if err != nil {
				_ = from.Close() // whoever connects tries again
				continue
			}
			v.mu.Lock()
			v.conns = append(v.conns, from, there)
			v.mu.Unlock()
			v.all.Go(func() { v.carry(from, there) })
			v.all.Go(func() { v.carry(there, from) })
		}
	})
	t.Cleanup(func() {
		err := l.Close()
		v.mu.Lock()
		for _, c := range v.conns {
			_ = c.Close() // most are closed
		}
		v.mu.Unlock()
		v.all.Wait()
		if err != nil && !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	return v
}

func (v *valve) carry(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	_, _ = io.Copy(writer{v, to}, from) // both ends go with their programs
}

// writer waits while the valve is shut.
type writer struct {
	v  *valve
	to net.Conn
}

func (w writer) Write(b []byte) (int, error) {
	w.v.open.RLock()
	defer w.v.open.RUnlock()
	return w.to.Write(b)
}

func (v *valve) url() string { return "nats://" + v.listener.Addr().String() }

func (v *valve) shut(d time.Duration) {
	v.open.Lock()
	defer v.open.Unlock()
	time.Sleep(d)
}
