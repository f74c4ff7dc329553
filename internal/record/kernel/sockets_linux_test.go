package kernel_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"meridian/internal/record/internal/kerneltest"
	"meridian/internal/record/kernel"
	"meridian/internal/testneed"
)

// talk is two threads that write 300 bytes each to one connection, one after the other, and a third that looks at and reads them.
const talk = `
import socket, threading
def serve(l):
    c, _ = l.accept()
    c.recv(10, socket.MSG_PEEK)
    n = 0
    while n < 600:
        n += len(c.recv(1000))
    c.sendall(b'a' * 40)
    c.close()
for family, host in (socket.AF_INET, '127.0.0.1'), (socket.AF_INET6, '::'):
    l = socket.create_server((host, 0), family=family, dualstack_ipv6=family == socket.AF_INET6)
    server = threading.Thread(target=serve, args=(l,)); server.start()
    c = socket.create_connection(('127.0.0.1', l.getsockname()[1]))
    for _ in range(2):
        writer = threading.Thread(target=c.sendall, args=(b'x' * 300,)); writer.start(); writer.join()
    server.join()
    while c.recv(100): pass
`

type connection struct{ local, peer string }

func TestTheBytesThatThreadsWriteAreThoseThatOthersRead(t *testing.T) {
	transfers(t, func(*kernel.Options) {})
}

func TestKernelsWithoutTheTracepointsTellTheSameBytes(t *testing.T) {
	transfers(t, (*kernel.Options).ByFunctions)
}

func transfers(t *testing.T, change func(*kernel.Options)) {
	t.Helper()
	testneed.Program(t, "python3")
	program := filepath.Join(t.TempDir(), "talk.py")
	if err := os.WriteFile(program, []byte(talk), 0o600); err != nil {
		t.Fatal(err)
	}
	pid, pass := kerneltest.Gate(t, "talking", "python3 "+program)
	o := kernel.Options{Groups: kernel.Sockets, Pids: []int{pid}}
	change(&o)
	r, err := kernel.Open(o, nil)
	if err != nil {
		testneed.Missing(t, "%v", err)
	}
	rec := kerneltest.New(t, r)
	if lacks, why := r.Lacks(); lacks != 0 {
		if errors.Is(why, fs.ErrPermission) && os.Geteuid() == 0 {
			t.Log("not tested: this kernel refuses root programs at functions:", why)
			return
		}
		testneed.Missing(t, "%v", why)
	}
	rec.Read(t.Context())
	pass()
	type stream struct {
		first, next uint32
		bytes       int
		threads     map[int64]bool
	}
	sent, read := map[connection]*stream{}, map[connection]*stream{}
	looked := 0
	for _, e := range rec.Stop() {
		c := connection{string(e.Value(t, "local").Data), string(e.Value(t, "peer").Data)}
		by := sent
		if e.Name() == "tcp_recvmsg" {
			by, c = read, connection{c.peer, c.local}
		}
		seq, length := uint32(e.Value(t, "seq").Uint()), uint32(e.Value(t, "length").Uint())
		s := by[c]
		if s == nil {
			s = &stream{first: seq, next: seq, threads: map[int64]bool{}}
			by[c] = s
		}
		if seq != s.next {
			t.Errorf("%s of %v begins at %d, not at %d", e.Name(), c, seq, s.next)
		}
		if e.Name() == "tcp_recvmsg" && e.Value(t, "peeked").Bool() {
			looked++
			continue
		}
		s.next, s.bytes = seq+length, s.bytes+int(length)
		s.threads[e.Value(t, "tid").Int()] = true
	}
	threads := 0
	for c, s := range sent {
		r := read[c]
		if r == nil || r.first != s.first || r.bytes != s.bytes || r.next != s.next {
			t.Errorf("%v: written %+v, read %+v", c, s, r)
			continue
		}
		threads += len(s.threads)
		for tid := range r.threads {
			if s.threads[tid] {
				t.Errorf("%v: thread %d wrote and read it", c, tid)
			}
		}
	}
	if len(sent) != 4 || len(read) != 4 || threads != 6 || looked != 2 {
		t.Errorf("%d streams written by %d threads, %d read, %d looked at; want 4, 6, 4, 2", len(sent), threads, len(read), looked)
	}
}
