package simulation

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"meridian/internal/collect/disktest"
	"meridian/internal/collect/ship"
	"meridian/internal/collect/wire"
	"meridian/internal/spool"
)

// world is all that a schedule happens to.
type world struct {
	seed     uint64
	r        *rand.Rand
	plant    plant
	replicas int
	batch    time.Duration // for how long bytes wait for others at the agent
	dir      string        // of the recorder
	net      *network
	recorder *recorder
	servers  []*server
	agent    *agent // nil while it is dead
	disks    int    // that were destroyed

	serverPower bool // a server lost power

	sum        ship.Summary
	violations []string
}

// Times of a schedule, virtual.
const (
	settlesWithin = time.Minute // after the last fault
	actions       = 24
)

// play plays the schedule of a seed in directories below root.
func play(t *testing.T, root string, seed uint64, p plant, keep bool) *world {
	dir, err := os.MkdirTemp(root, "schedule")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	}()
	w := &world{seed: seed, r: rand.New(rand.NewPCG(seed, 23)), plant: p, dir: dir, net: newNetwork(seed)}
	w.net.keep = keep
	synctest.Test(t, func(*testing.T) { w.play() })
	return w
}

func (w *world) violate(format string, args ...any) {
	w.net.mu.Lock()
	defer w.net.mu.Unlock()
	w.violations = append(w.violations, fmt.Sprintf(format, args...))
}

// say returns what takes a process's lines for people.
func (w *world) say(who string) func(format string, args ...any) {
	return func(format string, args ...any) {
		w.net.note("%s says: %s", who, strings.ReplaceAll(fmt.Sprintf(format, args...), w.dir, "DIR"))
	}
}

func (w *world) must(err error) {
	if err != nil {
		panic(err) // of the machine that the test runs on
	}
}

// pick returns one of some values.
func pick[T any](w *world, of ...T) T { return of[w.r.IntN(len(of))] }

// pause lets virtual time go on.
func (w *world) pause(most time.Duration) { time.Sleep(1 + time.Duration(w.r.Int64N(int64(most)))) }

func (w *world) play() {
	w.net.slow = pick(w, time.Millisecond, 20*time.Millisecond, 200*time.Millisecond)
	w.net.loss, w.net.twice = pick(w, 0, 0, 0.005, 0.03), pick(w, 0, 0, 0.02)
	w.batch = pick(w, 2*time.Millisecond, 50*time.Millisecond)
	w.net.observe = w.heard
	w.recorder = newRecorder(w, w.dir)
	w.recorder.describe(0)
	for i := range pick(w, 1, 2, 2, 3) {
		s := &server{w: w, name: fmt.Sprint("server", i), disk: disktest.New(w.seed + uint64(i))}
		w.servers = append(w.servers, s)
		w.pause(time.Millisecond) // tickers of two processes never tick at one instant
		s.start()
	}
	w.replicas = 1 + w.r.IntN(len(w.servers))
	w.pause(time.Millisecond)
	w.startAgent()
	for range actions {
		w.pause(pick(w, 20*time.Millisecond, 100*time.Millisecond, 600*time.Millisecond, 600*time.Millisecond))
		w.act()
	}
	w.settle()
	w.audit()
	for _, s := range w.servers {
		s.kill(false)
	}
	w.recorder, w.agent, w.net.subs = nil, nil, nil // messages that are still on the way keep the network
	for _, s := range w.servers {
		s.disk, s.view = nil, nil
	}
}

// act does one thing of those that happen.
func (w *world) act() {
	s := w.servers[w.r.IntN(len(w.servers))]
	x := w.r.IntN(100)
	w.net.note("act %d %s", x, s.name)
	switch {
	case x < 51:
		w.recorder.record()
		w.wake()
	case x < 52:
		w.powerCut()
	case x < 62:
		w.recorder.drop(true)
		w.wake()
	case x < 64:
		w.recorder.drop(false)
		w.wake()
	case x < 69:
		w.restartAgent()
	case x < 74:
		s.restart(w.r.IntN(2) == 0)
	case x < 82:
		s.view.dieAfter(1+w.r.IntN(40), w.r.IntN(2) == 0)
		w.recorder.record()
		w.wake()
		w.pause(time.Second)
		s.restart(false)
	case x < 85:
		w.destroy(s)
	case x < 88:
		s.view.left().Fill(true)
		w.recorder.record()
		w.wake()
		w.pause(time.Second)
		s.view.left().Fill(false)
	case x < 93:
		w.part(pick(w, w.agent.conn, s.conn))
	case x < 96: // the broker is killed
		conns := []*conn{w.agent.conn}
		for _, s := range w.servers {
			conns = append(conns, s.conn)
		}
		w.part(conns...)
	default:
		w.pause(5 * time.Second)
	}
}

// wake tells the agent that the directory has grown, mostly: a system's notices get lost.
func (w *world) wake() {
	if w.r.IntN(4) != 0 {
		w.agent.watcher.Wake()
	}
}

func (w *world) restartAgent() {
	w.agent.kill()
	w.pause(pick(w, time.Millisecond, 5*time.Second))
	if w.r.IntN(2) == 0 {
		w.recorder.drop(true)
		w.recorder.record()
	}
	w.startAgent()
}

// powerCut is that the agent's host loses power and is started again: nothing more is recorded, and the agent sends what is there.
func (w *world) powerCut() {
	if w.recorder.cut {
		return
	}
	w.agent.kill()
	w.recorder.powerCut()
	w.pause(5 * time.Second)
	w.startAgent()
}

// boot names the time since the host was started.
func (w *world) boot() string {
	if w.recorder.cut && w.plant != unawareOfPower {
		return boots[1]
	}
	return boots[0]
}

func (s *server) restart(power bool) {
	s.kill(power)
	s.w.pause(pick(s.w, time.Millisecond, 5*time.Second))
	s.start()
}

// destroy puts a new disk into a server. That takes longer than it takes agents to notice that the server is silent.
func (w *world) destroy(s *server) {
	w.disks++
	s.kill(false)
	s.disk = disktest.New(w.seed + uint64(1000*w.disks))
	time.Sleep(4 * time.Second)
	w.pause(time.Second)
	s.start()
}

// part takes connections away for a while.
func (w *world) part(conns ...*conn) {
	hold := w.r.IntN(2) == 0
	for _, c := range conns {
		c.part(hold)
	}
	w.recorder.record()
	w.wake()
	w.pause(pick(w, 50*time.Millisecond, 4*time.Second))
	for _, c := range conns {
		c.join()
		w.pause(time.Millisecond)
	}
}

// heard looks at what servers acknowledge: it is on their disks.
func (w *world) heard(from *conn, subject string, data []byte) {
	if subject != wire.OfHost("web", "ack") {
		return
	}
	ack, err := wire.Decode[wire.Ack](data)
	if err != nil {
		w.violate("an ack that cannot be read: %v", err)
		return
	}
	for _, s := range w.servers {
		if s.conn != from {
			continue
		}
		for _, f := range ack.Files {
			if n := s.view.disk.Synced(filepath.Join(hostDir, f.Name)); f.Name != wire.Metadata && n < f.Have {
				w.violate("%s acknowledges %d bytes of %s, of which %d are on its disk", s.name, f.Have, f.Name, n)
			}
		}
	}
}

// settle ends the faults and the recording, and waits for the agent's end.
func (w *world) settle() {
	w.net.mu.Lock()
	w.net.calm = true
	w.net.mu.Unlock()
	w.pause(time.Second)
	close(w.agent.end)
	select {
	case err := <-w.agent.ended:
		if err != nil {
			w.violate("the agent ends with: %v", err)
		}
		w.sum = w.agent.sum
	case <-time.After(settlesWithin):
		w.agent.cancel()
		<-w.agent.ended
		w.sum = w.agent.sum
		if w.sum.Away == 0 || w.disks == 0 && w.replicas == len(w.servers) {
			w.unsettled()
		}
	}
	w.net.note("end %+v", w.sum)
}

// unsettled tells of a schedule that does not come to an end. One may: where disks were destroyed or the agent went on with other servers, files that are gone
// may be on servers alone that are not asked to store the host any more, which is counted as away.
func (w *world) unsettled() {
	w.violate("%v after the last fault not all is acknowledged or lost: %+v", settlesWithin, w.sum)
	for _, name := range []string{spool.File, spool.ReleasedFile} {
		b, err := os.ReadFile(filepath.Join(w.dir, name))
		w.violate("%s: %s %v", name, b, err)
	}
	for _, s := range w.servers {
		w.violate("%s has %v", s.name, s.view.left().Sizes(hostDir))
	}
}
