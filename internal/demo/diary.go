package demo

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"meridian/clock"
)

// diary is what one thread of a host does, in the order in which it does it: slices that nest, and the ends of messages.
// One goroutine uses it.
type diary struct {
	host    *actor
	thread  int
	name    string
	entries []entry
}

// entry is an event of Chrome's Trace Event Format. A flow ("s", "f") joins what another host's file has of its category, name and id.
type entry struct {
	Phase   string         `json:"ph"`
	Name    string         `json:"name"`
	Cat     string         `json:"cat,omitempty"`
	Process int            `json:"pid"`
	Thread  int            `json:"tid,omitempty"`
	Micros  json.Number    `json:"ts,omitempty"` // since the file's baseTimeNanoseconds, to the nanosecond
	ID      string         `json:"id,omitempty"`
	Args    map[string]any `json:"args,omitempty"`
}

// newDiary begins the diary of a thread, which writeTrace writes.
func (h *actor) newDiary(kind string, thread int) *diary {
	d := &diary{host: h, thread: thread, name: fmt.Sprintf("%s %d", kind, thread)}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.diaries = append(h.diaries, d)
	return d
}

func (d *diary) add(phase, name string, at clock.HostTime, e entry) {
	ns := int64(at - d.host.base)
	e.Phase, e.Name, e.Process, e.Thread = phase, name, os.Getpid(), d.thread
	e.Micros = json.Number(fmt.Sprintf("%d.%03d", ns/1000, ns%1000))
	d.entries = append(d.entries, e)
}

// begin begins a slice at an instant that is not before the last entry's.
func (d *diary) begin(name string, at clock.HostTime, args map[string]any) {
	d.add("B", name, at, entry{Cat: "work", Args: args})
}

// end ends the slice that was begun last.
func (d *diary) end(name string) { d.add("E", name, d.host.now(), entry{}) }

// do is a slice around what is done.
func (d *diary) do(name string, what func() error) error {
	d.begin(name, d.host.now(), nil)
	defer d.end(name)
	return what()
}

// message is one end of a message: "s" where it is sent, "f" where it is received.
func (d *diary) message(end string, kind kind, number uint64, at clock.HostTime) {
	d.add(end, kind.String(), at, entry{Cat: "message", ID: fmt.Sprintf("%#x", number)})
}

// writeTrace writes what the host's threads did.
func (h *actor) writeTrace() error {
	pid := os.Getpid()
	events := []entry{{Phase: "M", Name: "process_name", Process: pid, Args: map[string]any{"name": h.name}}}
	for _, d := range h.diaries {
		events = append(events, entry{Phase: "M", Name: "thread_name", Process: pid, Thread: d.thread, Args: map[string]any{"name": d.name}})
		events = append(events, d.entries...)
	}
	text, err := json.Marshal(struct {
		Base   clock.HostTime `json:"baseTimeNanoseconds"`
		Events []entry        `json:"traceEvents"`
	}{h.base, events})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(h.order.Dir, h.name+".json"), text, 0o666)
}
