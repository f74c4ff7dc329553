package ship

import (
	"testing"
	"time"

	"meridian/internal/collect/wire"
)

// route is a server to which chunks of files go, on an instant that a test sets.
type route struct {
	plan plan
	p    *peer
	now  time.Time
}

func newRoute(names ...string) *route {
	r := &route{now: time.Unix(1e9, 0), p: &peer{name: "a", state: open, files: map[string]*progress{}}}
	r.plan = plan{d: newDirectory("", DefaultClasses), peers: []*peer{r.p}, window: 1 << 20, chunk: 1 << 10}
	for _, name := range names {
		f := &file{name: name, class: 1}
		r.plan.d.files[name] = f
		r.plan.d.order = append(r.plan.d.order, f)
	}
	return r
}

// send sends all there is to be sent, and returns what that was.
func (r *route) send() (out []piece) {
	for {
		x, ok := r.plan.next()
		if !ok {
			return out
		}
		r.plan.sentTo(x, r.now)
		out = append(out, x)
	}
}

func (r *route) grow(name string, n int64) { r.plan.d.files[name].whole += n }

func (r *route) ack(name string, have int64) {
	r.p.acked(&wire.Ack{Files: []wire.State{{Name: name, Have: have}}}, r.now)
}

func TestBytesThatWereLostAreSentAgainThoughOtherFilesGrow(t *testing.T) {
	r := newRoute("clocks_1_0", "sensor_1_0")
	r.grow("sensor_1_0", 500)
	if x := r.send(); len(x) != 1 {
		t.Fatal(x)
	}
	// This chunk is lost, and clocks are read and acknowledged twice a second.
	var again []piece
	for n := int64(1); n <= 4; n++ {
		r.now = r.now.Add(stuckAfter / 2)
		r.grow("clocks_1_0", 100)
		for _, x := range r.send() {
			if x.f.name == "sensor_1_0" {
				again = append(again, x)
			}
		}
		r.now = r.now.Add(time.Millisecond)
		r.ack("clocks_1_0", n*100)
		r.p.overtaken(r.now)
	}
	if len(again) == 0 || again[0].from != 0 || again[0].to != 500 {
		t.Errorf("sent again: %v", again)
	}
	r.ack("sensor_1_0", 500)
	if r.p.onWay != 0 {
		t.Errorf("%d bytes are on the way when all has come", r.p.onWay)
	}
}

func TestWhatIsOnASlowWayIsNotSentAgain(t *testing.T) {
	r := newRoute("a", "b", "c")
	for range 50 { // each chunk takes 5 s, and acks come in the order of chunks
		sent := map[string]int64{}
		for _, name := range []string{"a", "b", "c"} {
			r.grow(name, 3000)
		}
		for _, x := range r.send() {
			if x.from < sent[x.f.name] {
				t.Fatalf("%s is sent from %d on again", x.f.name, x.from)
			}
			sent[x.f.name] = x.to
		}
		r.now = r.now.Add(5 * time.Second)
		for name, to := range sent {
			r.p.overtaken(r.now)
			r.ack(name, to-1000)
			r.p.overtaken(r.now)
		}
		for name, to := range sent {
			r.ack(name, to)
		}
		if r.p.onWay != 0 {
			t.Fatalf("%d bytes are on the way when all has come", r.p.onWay)
		}
	}
}
