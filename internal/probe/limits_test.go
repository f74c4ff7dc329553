package probe

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Whoever opens many sessions would otherwise end those of others.
func TestRoomForASessionIsTakenFromTheIdleAlone(t *testing.T) {
	t.Parallel()
	now := time.Now()
	s := &Server{sessions: map[uint32]*session{
		1: {id: 1, used: now.Add(-minIdle + time.Second)},
		2: {id: 2, used: now.Add(-minIdle - time.Second)},
		3: {id: 3, used: now.Add(-minIdle - 2*time.Second)},
	}}
	for _, want := range []uint32{3, 2} {
		if !s.evict(now) || s.sessions[want] != nil {
			t.Errorf("session %d is still there", want)
		}
	}
	if s.evict(now) || len(s.sessions) != 1 {
		t.Error("a session that is in use was ended")
	}
}

func TestRatesOutsideTheirLimitsAreRefusedAndOthersTaken(t *testing.T) {
	t.Parallel()
	key := NewKey()
	c, err := Dial(context.Background(), Options{Key: key, Rate: 10}, "127.0.0.1:9")
	if err != nil {
		t.Fatal(err)
	}
	defer c.socket.close()
	for _, r := range [][2]float64{{0, 0}, {-1, -1}, {10, 0}, {1, 2}, {greatestRate * 2, 1}} {
		if err := c.SetRate(0, r[0], r[1]); err == nil || !strings.Contains(err.Error(), "not within 0 to") {
			t.Errorf("%g to %g: %v", r[1], r[0], err)
		}
	}
	before := c.Rate(0)
	if err := c.SetRate(0, 100, 50); err != nil {
		t.Fatal(err)
	}
	if after := c.Rate(0); after < 2*before || after > 101 {
		t.Errorf("asked %g times a second, %g before", after, before)
	}
}

// What cannot be asked is said before anything is sent.
func TestHostsThatCannotBeAskedAreNamed(t *testing.T) {
	t.Parallel()
	for says, addresses := range map[string][]string{
		"no host":            nil,
		"cannot resolve":     {"127.0.0.1"},
		"resolve 127.0.0.1:": {"127.0.0.1:no-such-service"},
		"are one address":    {"127.0.0.1:9", "127.0.0.1:9"},
	} {
		if c, err := Dial(context.Background(), Options{Key: NewKey()}, addresses...); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: %v, %v", addresses, c, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Dial(ctx, Options{Key: NewKey()}, "no.such.host.invalid:9"); err == nil {
		t.Error("a name was resolved after the end")
	}
	if _, err := Listen(context.Background(), "127.0.0.1", Options{Key: NewKey()}); err == nil {
		t.Error("an address without a port is listened at")
	}
	other, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if _, err := Listen(context.Background(), other.LocalAddr().String(), Options{Key: NewKey()}); err == nil {
		t.Error("another's address is listened at")
	}
}

// An interface without a clock of its own is refused by name, before a probe is stamped by anything else.
func TestAnInterfaceWithoutAClockIsRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"lo", "no-such-one"} {
		o := Options{Key: NewKey(), Interface: name}
		if _, err := Listen(context.Background(), "127.0.0.1:0", o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a server: %v", err)
		}
		if _, err := Dial(context.Background(), o, "127.0.0.1:9"); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("a client: %v", err)
		}
	}
}

// While others measure, a server that was told to be quiet answers nothing, and counts what it did not answer.
func TestAQuietServerAnswersNothing(t *testing.T) {
	t.Parallel()
	key := NewKey()
	s := serve(t, "127.0.0.1:0", Options{Key: key})
	s.Quiet(true)
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	c, err := Dial(ctx, Options{Key: key, Rate: 50}, s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		for s.Stats().Dropped[Quiet] == 0 && ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		if n := s.Stats().Exchanges; n != 0 {
			t.Errorf("%d answers of a quiet server", n)
		}
		s.Quiet(false)
	}()
	if err := c.Run(ctx, func(Sample) { cancel() }); err != nil || context.Cause(ctx) != context.Canceled {
		t.Errorf("no answer when it was over: %v, %v", err, context.Cause(ctx))
	}
	<-asked
}

func TestAFileThatIsNoKeyIsNoKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "key")
	k := NewKey()
	if err := WriteKey(file, k); err != nil {
		t.Fatal(err)
	}
	if again, err := ReadKey(file); err != nil || again != k {
		t.Errorf("%x, %v", again, err)
	}
	if err := WriteKey(file, NewKey()); !errors.Is(err, os.ErrExist) {
		t.Errorf("a key was replaced: %v", err)
	}
	if err := WriteKey(filepath.Join(file, "below"), k); err == nil {
		t.Error("a key below a file")
	}
	for path, says := range map[string]string{dir: "not a regular file", filepath.Join(dir, "none"): "no such file"} {
		if _, err := ReadKey(path); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
