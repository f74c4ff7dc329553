package pipeline

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"meridian/internal/pipeline/input"
	"meridian/internal/testseed"
)

const (
	us = 1_000.0
	ms = 1_000_000.0
)

// spanProcess is a process whose spans a world has: a resource of the file, with a clock of its own.
type spanProcess struct {
	host       string // the name that the host has on the timeline
	attributes map[string]string
	ahead      float64 // of true time at its begin, ns
	rate       float64 // minus 1
	cut        int64   // step of the timestamps of starts; ends are made of the start and the duration, as OpenTelemetry JS does
	cutAll     int64   // step of all timestamps
	spans      []map[string]any
}

// spanWorld is calls between processes whose true times are known. True time is that of web's clock.
type spanWorld struct {
	r         *rand.Rand
	processes []*spanProcess
	truth     map[string]int64 // true time by host and timestamp
	lines     []string         // of a list of messages beside the spans
	traces    int
	by        []string // attributes that name the hosts
	now       float64
}

const spanWorldBegin = 1_767_225_600_000_000_000

func newSpanWorld(r *rand.Rand) *spanWorld { return &spanWorld{r: r, truth: make(map[string]int64)} }

// process adds a process; its attributes are NAME=VALUE.
func (w *spanWorld) process(host string, ahead float64, attributes ...string) *spanProcess {
	p := &spanProcess{host: host, ahead: ahead, attributes: make(map[string]string)}
	for _, a := range attributes {
		name, value, _ := strings.Cut(a, "=")
		p.attributes[name] = value
	}
	w.processes = append(w.processes, p)
	return p
}

func (p *spanProcess) stamp(at float64) int64 { return spanWorldBegin + int64(at*(1+p.rate)+p.ahead) }

// span adds a span; it returns its number.
func (w *spanWorld) span(p *spanProcess, trace, id int, parent string, kind int, name string, start, end float64) string {
	from, to := p.stamp(start), p.stamp(end)
	if p.cut > 0 {
		lost := from % p.cut
		from, to = from-lost, to-lost
	}
	if p.cutAll > 0 {
		from, to = from-from%p.cutAll, to-to%p.cutAll
	}
	w.truth[p.host+" "+strconv.FormatInt(from, 10)] = spanWorldBegin + int64(start)
	w.truth[p.host+" "+strconv.FormatInt(to, 10)] = spanWorldBegin + int64(end)
	x := map[string]any{"traceId": fmt.Sprintf("%032x", trace), "spanId": fmt.Sprintf("%016x", id), "name": name, "kind": kind,
		"startTimeUnixNano": strconv.FormatInt(from, 10), "endTimeUnixNano": strconv.FormatInt(to, 10)}
	if parent != "" {
		x["parentSpanId"] = parent
	}
	p.spans = append(p.spans, x)
	return fmt.Sprintf("%016x", id)
}

// call is when a call begins and ends at its client and its server, ns of true time.
type spanCall struct{ clientStart, serverStart, serverEnd, clientEnd float64 }

// wire is how long messages take.
type wire struct{ least, mean float64 }

func (w *spanWorld) delay(n wire) float64 { return n.least + n.mean*w.r.ExpFloat64() }

// call returns a call that begins now, of a server that works so long.
func (w *spanWorld) call(n wire, work float64) spanCall {
	c := spanCall{clientStart: w.now}
	c.serverStart = c.clientStart + w.delay(n)
	c.serverEnd = c.serverStart + work
	c.clientEnd = c.serverEnd + w.delay(n)
	return c
}

// add adds the spans of a call, and goes on to the next.
func (w *spanWorld) add(client, server *spanProcess, name string, c spanCall) {
	w.traces++
	parent := w.span(client, w.traces, 2*w.traces, "", 3, name, c.clientStart, c.clientEnd)
	w.span(server, w.traces, 2*w.traces+1, parent, 2, "serve", c.serverStart, c.serverEnd)
	w.now = max(c.clientEnd, c.serverEnd) + 2*ms + 40*ms*w.r.Float64()
}

func (w *spanWorld) work() float64 { return 100*us + ms*w.r.ExpFloat64() }

// network draws one.
func (w *spanWorld) network() wire {
	return wire{(80 + 120*w.r.Float64()) * us, (30 + 120*w.r.Float64()) * us}
}

func (w *spanWorld) offset() float64 { return (w.r.Float64() - 0.5) * 2000 * ms }

func (w *spanWorld) drift() float64 { return (w.r.Float64() - 0.5) * 80e-6 }

// write writes the world and returns its traces.
func (w *spanWorld) write(t *testing.T) []input.Trace {
	t.Helper()
	var resources []map[string]any
	for _, p := range w.processes {
		var attributes []map[string]any
		for name, value := range p.attributes {
			attributes = append(attributes, map[string]any{"key": name, "value": map[string]any{"stringValue": value}})
		}
		resources = append(resources, map[string]any{"resource": map[string]any{"attributes": attributes}, "scopeSpans": []any{map[string]any{"spans": p.spans}}})
	}
	data, err := json.Marshal(map[string]any{"resourceSpans": resources})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "spans.json")}
	if err := os.WriteFile(paths[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	if w.lines != nil {
		paths = append(paths, filepath.Join(dir, "messages.txt"))
		if err := os.WriteFile(paths[1], []byte(strings.Join(w.lines, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	inputs, err := input.Parse(paths)
	if err != nil {
		t.Fatal(err)
	}
	return inputs
}

// message adds a message to the list.
func (w *spanWorld) message(from, to *spanProcess, sent, received float64) {
	a, b := from.stamp(sent), to.stamp(received)
	w.truth[from.host+" "+strconv.FormatInt(a, 10)] = spanWorldBegin + int64(sent)
	w.truth[to.host+" "+strconv.FormatInt(b, 10)] = spanWorldBegin + int64(received)
	w.lines = append(w.lines, fmt.Sprintf("%s %s %d.%09d %d.%09d", from.host, to.host, a/1e9, a%1e9, b/1e9, b%1e9))
}

// outside aligns a world and counts the events whose true time lies outside of their bounds, of those that have bounds.
func (w *spanWorld) outside(t *testing.T) (outside, bounded int, outcome *Outcome) {
	t.Helper()
	o := Options{}
	o.Align.Reference, o.Match.HostAttributes = "web", w.by
	rows, outcome := csvRows(t, w.write(t), o)
	for _, row := range rows {
		if row["low_ns"] == "" || row["event"] == "clock bound" {
			continue
		}
		truth, known := w.truth[row["host"]+" "+row["recorded_ns"]]
		if !known {
			t.Fatalf("an event at %s of %s is no span's: %v", row["recorded_ns"], row["host"], row)
		}
		bounded++
		if truth < number(t, row["low_ns"])-3 || truth > number(t, row["high_ns"])+3 {
			outside++
		}
	}
	return outside, bounded, outcome
}

// twoHosts adds web, whose clock is the true time, and db.
func (w *spanWorld) twoHosts() (web, db *spanProcess) {
	web = w.process("web", 0, "host.name=web", "service.name=front")
	db = w.process("db", w.offset(), "host.name=db", "service.name=back")
	db.rate = w.drift()
	return web, db
}

// spanKinds are the kinds of worlds of spans. Of sound ones no promise may be broken.
var spanKinds = []struct {
	name   string
	sound  bool
	broken bool // a promise must be broken
	make   func(w *spanWorld)
}{
	{name: "healthy", sound: true, make: func(w *spanWorld) {
		web, db := w.twoHosts()
		n := w.network()
		for range 20 + w.r.IntN(280) {
			w.add(web, db, "call", w.call(n, w.work()))
		}
	}},
	{name: "healthy, few", sound: true, make: func(w *spanWorld) {
		web, db := w.twoHosts()
		n := w.network()
		for range 4 + w.r.IntN(16) {
			w.add(web, db, "call", w.call(n, w.work()))
		}
	}},
	{name: "healthy, both ways", sound: true, make: func(w *spanWorld) {
		web, db := w.twoHosts()
		n := w.network()
		for range 30 + w.r.IntN(150) {
			w.add(web, db, "call", w.call(n, w.work()))
			w.add(db, web, "notify", w.call(n, w.work()))
		}
	}},
	{name: "healthy, services in batches", sound: true, make: func(w *spanWorld) {
		web := w.process("web", 0, "service.name=web")
		ahead, rate, n := w.offset(), w.drift(), w.network()
		for range 4 + w.r.IntN(6) {
			db := w.process("db", ahead, "service.name=db")
			db.rate = rate
			for range 20 + w.r.IntN(20) {
				w.add(web, db, "call", w.call(n, w.work()))
			}
		}
	}},
	{name: "healthy, a resource for each scope", sound: true, make: func(w *spanWorld) {
		web := w.process("web", 0, "service.name=web")
		ahead, n := w.offset(), w.network()
		scopes := []*spanProcess{w.process("db", ahead, "service.name=db"), w.process("db", ahead, "service.name=db")}
		for range 60 + w.r.IntN(100) {
			k := w.r.IntN(2)
			c := w.call(n, w.work())
			if k == 1 { // begins its span later
				c.serverStart += min(80*us, (c.serverEnd-c.serverStart)/2)
			}
			w.add(web, scopes[k], []string{"http", "rpc"}[k], c)
		}
	}},
	{name: "starts in ms", sound: true, make: func(w *spanWorld) {
		web, db := w.twoHosts()
		web.cut = 1_000_000
		if w.r.IntN(2) == 0 {
			db.cut = 1_000_000
		}
		n := w.network()
		for range 40 + w.r.IntN(160) {
			w.add(web, db, "call", w.call(n, 10*ms+10*w.work()))
		}
	}},
	{name: "starts of some processes in ms", sound: true, make: func(w *spanWorld) {
		web, db := w.twoHosts()
		other := w.process("db", db.ahead, "host.name=db", "service.name=js")
		other.rate, other.cut = db.rate, 1_000_000
		n := w.network()
		for range 40 + w.r.IntN(100) {
			w.add(web, db, "call", w.call(n, w.work()))
			w.add(web, other, "js", w.call(n, w.work()))
		}
	}},
	{name: "two sources, two steps", sound: true, make: func(w *spanWorld) {
		web, db := w.twoHosts()
		n := w.network()
		for range 100 + w.r.IntN(300) {
			c := w.call(n, 50*us)
			w.message(web, db, c.clientStart, c.serverStart)
			w.message(db, web, c.serverEnd, c.clientEnd)
			w.now = c.clientEnd + 20*ms*w.r.Float64()
		}
		coarse := *db
		coarse.cutAll, coarse.spans = []int64{1_000_000, 1_000, 10_000_000}[w.r.IntN(3)], nil
		w.processes = []*spanProcess{&coarse}
		for range 10 + w.r.IntN(60) {
			at := w.now * w.r.Float64()
			w.traces++
			w.span(&coarse, w.traces, w.traces, "", 1, "work", at, at+20*ms*w.r.Float64())
		}
	}},
	{name: "one host name, two clocks", broken: true, make: func(w *spanWorld) {
		w.oneName()
	}},
	{name: "one host name, two clocks, told apart", sound: true, make: func(w *spanWorld) {
		w.oneName()
		w.by = []string{"k8s.pod.name"}
	}},
	{name: "one host name, one clock", sound: true, make: func(w *spanWorld) {
		web := w.process("web", 0, "host.name=web", "service.name=front")
		local := w.process("web", 0, "host.name=web", "service.name=cache")
		db := w.process("db", w.offset(), "host.name=db", "service.name=back")
		n := w.network()
		for range 60 + w.r.IntN(100) {
			w.add(web, db, "call", w.call(n, w.work()))
			w.add(web, local, "lookup", w.call(wire{5 * us, 5 * us}, w.work()))
		}
	}},
	{name: "replicas of a service", make: func(w *spanWorld) {
		web := w.process("web", 0, "service.name=web")
		ahead := w.offset()
		apart := (50 + 500*w.r.Float64()) * us
		if w.r.IntN(5) == 0 {
			apart *= 20
		}
		replicas := []*spanProcess{w.process("db", ahead, "service.name=db"), w.process("db", ahead+apart, "service.name=db")}
		n := w.network()
		for range 60 + w.r.IntN(300) {
			w.add(web, replicas[w.r.IntN(2)], "call", w.call(n, w.work()))
		}
	}},
	{name: "servers end late", sound: true, make: func(w *spanWorld) {
		web, db := w.twoHosts()
		least, spread := (20+400*w.r.Float64())*us, (50+400*w.r.Float64())*us
		n := wire{least + spread + 400*us*w.r.Float64(), 100*us + 300*us*w.r.Float64()} // so that no duration tells
		for range 20 + w.r.IntN(180) {
			c := w.call(n, w.work())
			c.serverEnd = c.clientEnd + least + spread*w.r.Float64()
			w.add(web, db, "call", c)
		}
	}},
	{name: "servers end late, both ways", make: func(w *spanWorld) {
		web, db := w.twoHosts()
		n := wire{1 * ms, 300 * us}
		for i := range 40 + w.r.IntN(200) {
			c := w.call(n, w.work())
			c.serverEnd = c.clientEnd + 300*us + 200*us*w.r.Float64()
			if i%2 == 0 {
				w.add(web, db, "call", c)
			} else {
				w.add(db, web, "call", c)
			}
		}
	}},
	{name: "some servers run on", sound: true, make: func(w *spanWorld) {
		web, db := w.twoHosts()
		n, share, by := w.network(), 0.02+0.3*w.r.Float64(), (5+60*w.r.Float64())*ms
		for range 60 + w.r.IntN(200) {
			c := w.call(n, w.work())
			if w.r.Float64() < share {
				c.serverEnd += by
			}
			w.add(web, db, "call", c)
		}
	}},
	{name: "some clients do not wait", sound: true, make: func(w *spanWorld) {
		web, db := w.twoHosts()
		n, share := w.network(), 0.02+0.2*w.r.Float64()
		ownName := w.r.IntN(2) == 0
		for i := range 60 + w.r.IntN(240) {
			c, name := w.call(n, w.work()), "call"
			if w.r.Float64() < share {
				c.clientEnd = c.clientStart + 40*us
				if ownName {
					name = fmt.Sprintf("fire#%d", i)
				}
			}
			w.add(web, db, name, c)
		}
	}},
	{name: "consumers begin when they poll", sound: true, make: func(w *spanWorld) {
		web := w.process("web", 0, "host.name=web")
		worker := w.process("worker", w.offset(), "host.name=worker")
		worker.rate = w.drift()
		n := w.network()
		for range 40 + w.r.IntN(100) {
			w.traces++
			sent := w.now
			got := sent + w.delay(n)
			parent := w.span(web, w.traces, 2*w.traces, "", 4, "send", sent, sent+2*ms)
			w.span(worker, w.traces, 2*w.traces+1, parent, 5, "receive", got-90*ms*w.r.Float64(), got+ms*w.r.ExpFloat64())
			w.now = sent + 100*ms + 10*ms*w.r.Float64()
			w.add(worker, web, "call", w.call(n, w.work()))
			w.now += 100 * ms
		}
	}},
}

// oneName makes two pods with clocks of their own, to which a collector gave its own name.
func (w *spanWorld) oneName() {
	apart := (2 + 100*w.r.Float64()) * ms
	if w.r.IntN(2) == 0 {
		apart = -apart
	}
	front := w.process("web", 0, "host.name=collector", "k8s.pod.name=web", "service.name=front")
	back := w.process("back", apart, "host.name=collector", "k8s.pod.name=back", "service.name=back")
	n := wire{100 * us, 60 * us}
	for range 20 + w.r.IntN(100) {
		w.add(front, back, "call", w.call(n, min(w.work(), ms)))
	}
}

// Whatever spans are like: no event lies outside of its bounds unless a promise is broken, and nothing is broken where
// the evidence is sound.
func TestSpansMakeNoBoundSilentlyWrong(t *testing.T) {
	worlds := 60
	if n, err := strconv.Atoi(os.Getenv("MERIDIAN_SPAN_WORLDS")); err == nil {
		worlds = n
	}
	if testing.Short() {
		worlds = 5
	}
	for _, kind := range spanKinds {
		t.Run(kind.name, func(t *testing.T) {
			t.Parallel()
			r := testseed.New(t)
			wrong, broken := 0, 0
			for range worlds {
				w := newSpanWorld(r)
				kind.make(w)
				if kind.broken {
					o := Options{}
					o.Match.HostAttributes = w.by
					if _, outcome := csvRows(t, w.write(t), o); len(outcome.Broken) == 0 {
						t.Errorf("nothing is broken; warnings %q", outcome.Warnings)
					}
					continue
				}
				outside, bounded, outcome := w.outside(t)
				if len(outcome.Broken) > 0 {
					if broken++; kind.sound {
						t.Errorf("%q; warnings %q", outcome.Broken, outcome.Warnings)
					}
				} else if outside > 0 || bounded == 0 {
					wrong++
					t.Errorf("%d of %d events outside of their bounds, and nothing is broken; warnings %q", outside, bounded, outcome.Warnings)
				}
			}
			t.Logf("%d worlds: %d silently wrong, %d with a broken promise", worlds, wrong, broken)
		})
	}
}
