package record

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"meridian/clock"
	"meridian/format/ctf"
	"meridian/internal/dirlock"
	"meridian/trace"
)

// hostTrace is the directory of a trace: its metadata, and the lock on it.
type hostTrace struct {
	dir  string
	lock *os.File // of the directory

	continued bool        // it is an earlier recorder's
	keeper    *keeper     // nil: all is kept
	packets   pagePackets // of rings, as the recorder's goroutine makes and writes them

	mu      sync.Mutex // streams come from several goroutines
	m       *ctf.Metadata
	sharing ctf.Sharing      // of the classes of rings
	tails   map[tailKey]tail // where earlier recorders, here or in Options.After, ended
	old     map[[16]byte]int // stream classes of rings that earlier recorders here read, as an index into the metadata's
}

// openTrace begins a trace, or goes on with one.
func openTrace(o *Options, now clock.Snapshot) (_ *hostTrace, err error) {
	if o.Dir == "" {
		return nil, errors.New("record: Options.Dir is empty")
	}
	if info, err := os.Stat(o.Dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("record: %s is not a directory, which a trace is; name another", o.Dir)
	}
	if err := os.MkdirAll(o.Dir, 0o777); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	t := &hostTrace{dir: o.Dir, tails: map[tailKey]tail{}, old: map[[16]byte]int{}}
	if t.lock, err = lockTrace(o.Dir); err != nil {
		return nil, fmt.Errorf("record: %s: %w", o.Dir, err)
	}
	defer func() {
		if err != nil {
			t.close()
		}
	}()
	for _, dir := range o.After {
		earlier, err := readMetadata(dir)
		if err == nil {
			err = t.takeTails(dir, earlier, false, o.Warnings)
		}
		if err != nil {
			return nil, fmt.Errorf("record: the trace to continue after: %w", err)
		}
	}
	m, err := readMetadata(o.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if err := vacant(o.Dir); err != nil {
			return nil, err
		}
		t.m, err = newMetadata(o, now)
		return t, err
	case err != nil:
		return nil, fmt.Errorf("record: the trace to continue: %w; name another directory or remove it", err)
	}
	t.m, t.continued = m, true
	for i := range m.Env {
		if e := &m.Env[i]; e.Name == "domain" {
			e.Text = domain // recorders of earlier versions said otherwise
		}
	}
	if err := sameBoot(o.Dir, m); err != nil {
		return nil, err
	}
	if err := t.takeTails(o.Dir, m, true, o.Warnings); err != nil {
		return nil, fmt.Errorf("record: the trace to continue: %w", err)
	}
	return t, nil
}

// ErrOtherRecorder is wrapped by the error of [New] for a directory that another recorder writes to.
var ErrOtherRecorder = errors.New("another recorder writes to it: end that one first, or name another directory")

// lockWithin is how long a directory may be locked by those that only look whether a recorder has it: agents, for an instant.
const lockWithin = 200 * time.Millisecond

// lockTrace makes the caller the one recorder of a trace.
func lockTrace(dir string) (*os.File, error) {
	for until := time.Now().Add(lockWithin); ; time.Sleep(lockWithin / 20) {
		lock, err := dirlock.Lock(dir)
		if !errors.Is(err, dirlock.ErrLocked) {
			return lock, err
		}
		if time.Now().After(until) {
			return nil, ErrOtherRecorder
		}
	}
}

// text returns a text of the environment, "" for none.
func (t *hostTrace) text(name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, e := range t.m.Env {
		if e.Name == name && e.IsText {
			return e.Text
		}
	}
	return ""
}

// sameHost refuses to continue a trace under another name of its host. Options without a name continue it under its own.
func (t *hostTrace) sameHost(named string, o *Options) error {
	if !t.continued {
		return nil
	}
	host := t.text("hostname")
	if named != "" && named != host {
		return fmt.Errorf("record: %s is a trace of host %s, which cannot be continued as %s; name another directory", t.dir, host, named)
	}
	if host != "" {
		o.Host = host
	}
	if o.Title != "" && o.Title != t.text("title") {
		o.Warnings.Add(t.dir, "the trace that is continued keeps its own title", "")
	}
	return nil
}

// vacant refuses a directory with other files in it, except those whose names begin with a dot.
func vacant(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			return fmt.Errorf("record: %s is not a trace, it has %s; name a new or empty directory", dir, e.Name())
		}
	}
	return nil
}

// readMetadata reads what a recorder has written.
func readMetadata(dir string) (*ctf.Metadata, error) {
	path := filepath.Join(dir, "metadata")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var w trace.Warnings
	m, err := ctf.ParseMetadata(text, path, &w)
	if err != nil {
		return nil, err
	}
	ours := len(w.Lines()) == 0 && m.HasUUID && len(m.Clocks) == 1 && m.PacketHeader != nil
	for _, e := range m.Env {
		if e.Name == "tracer_name" {
			ours = ours && e.Text == "meridian"
		}
	}
	if !ours || m.Clocks[0].Name != clockName {
		return nil, fmt.Errorf("%s: not a trace of this recorder", path)
	}
	return m, nil
}

// sameBoot refuses a trace from before this machine was booted: MONOTONIC began anew then.
func sameBoot(dir string, m *ctf.Metadata) error {
	if boot := bootID(); m.Clocks[0].UUID != boot {
		return fmt.Errorf("record: %s: the trace is from before this machine was booted, or from another one, so its clock cannot be continued; name another directory", dir)
	}
	return nil
}

// takeTails finds out where the rings' events in a trace end. In the trace that is to be gone on with, packets that were
// cut short are cut off.
func (t *hostTrace) takeTails(dir string, m *ctf.Metadata, own bool, w *trace.Warnings) error {
	names, err := filepath.Glob(filepath.Join(escaped(dir), sensorFiles+"*"))
	if err != nil {
		return err
	}
	for _, name := range names {
		got, cut, err := readTail(name, m.UUID, own)
		if err != nil {
			return err
		}
		if cut > 0 {
			w.Add(name, cutShort, fmt.Sprintf("%d bytes", cut))
		}
		if got.packets == 0 {
			continue
		}
		key := tailKey{got.ring, got.shard}
		if class := classWith(m, uint64(got.stream)); own && class >= 0 {
			got.path = name
			t.old[got.ring] = class
		} else {
			got = tail{position: got.position, last: got.last}
		}
		if before, ok := t.tails[key]; ok {
			if before.path != "" && before.sequence > got.sequence {
				got, before = before, got // a later chunk of the same file
			}
			got.position = max(got.position, before.position)
		}
		t.tails[key] = got
	}
	if !own {
		return nil
	}
	torn, err := cutTorn(dir, m.UUID)
	if err != nil {
		return err
	}
	packets, err := cutTornPackets(dir, originOf(m))
	if err != nil {
		return err
	}
	maps.Copy(torn, packets)
	for name, cut := range torn {
		w.Add(name, cutShort, fmt.Sprintf("%d bytes", cut))
	}
	return nil
}

const cutShort = "the end of a packet that was being written when its recorder was killed"

// escaped makes a pattern of a directory's name that matches just it.
func escaped(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

func classWith(m *ctf.Metadata, id uint64) int {
	for i := range m.Streams {
		if m.Streams[i].ID == id {
			return i
		}
	}
	return -1
}

// add enters a stream class, whose number it gives, and which counts its slots from 0. The metadata must be written
// before its first packet.
func (t *hostTrace) add(c ctf.StreamClass, slots int) (class int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.ID = uint64(len(t.m.Streams))
	for classWith(t.m, c.ID) >= 0 {
		c.ID++
	}
	c = t.shifted(c, slots)
	t.sharing.Share(&c)
	t.m.Streams = append(t.m.Streams, c)
	return len(t.m.Streams) - 1
}

// replace enters a stream class again, which has got more events.
func (t *hostTrace) replace(class int, c ctf.StreamClass, slots int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c.ID = t.m.Streams[class].ID
	c = t.shifted(c, slots)
	t.sharing.Share(&c)
	t.m.Streams[class] = c
}

// shifted gives a class slots that no other one has.
func (t *hostTrace) shifted(c ctf.StreamClass, slots int) ctf.StreamClass {
	s := shifter{by: t.m.Slots, done: map[*ctf.Type]*ctf.Type{}}
	t.m.Slots += slots
	c.PacketContext, c.EventHeader, c.EventContext = s.of(c.PacketContext), s.of(c.EventHeader), s.of(c.EventContext)
	events := make([]ctf.EventClass, len(c.Events))
	for i, e := range c.Events {
		e.Context, e.Payload = s.of(e.Context), s.of(e.Payload)
		events[i] = e
	}
	c.Events = events
	return c
}

// id returns the number of a stream class.
func (t *hostTrace) id(class int) uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.m.Streams[class].ID
}

// writeMetadata replaces the metadata atomically.
func (t *hostTrace) writeMetadata() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Readers skip files whose names begin with a dot.
	path := filepath.Join(t.dir, ".metadata.new")
	f, err := os.Create(path)
	if err == nil {
		if err = t.m.WriteTSDL(f); err != nil {
			err = fmt.Errorf("%s: %w", t.dir, err)
		}
		err = errors.Join(err, f.Close())
	}
	if err == nil {
		err = os.Rename(path, filepath.Join(t.dir, "metadata"))
	}
	if err != nil {
		os.Remove(path)
		return &outputError{fmt.Errorf("record: %w", full(err))}
	}
	return nil
}

// note enters a text into the environment, under a name with the first number that is free behind it. The metadata is then to be
// written.
func (t *hostTrace) note(name, text string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	taken := map[string]bool{}
	for _, e := range t.m.Env {
		taken[e.Name] = true
	}
	n := 1
	for taken[fmt.Sprint(name, "_", n)] {
		n++
	}
	t.m.Env = append(t.m.Env, ctf.Env{Name: fmt.Sprint(name, "_", n), Text: text, IsText: true})
}

func (t *hostTrace) close() error {
	if t.lock == nil {
		return nil
	}
	err := t.lock.Close()
	t.lock = nil
	return err
}

// newUUID returns a random UUID.
func newUUID() (u [16]byte) {
	rand.Read(u[:])
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u
}

// bootID names the time since the machine was started, and so its clock MONOTONIC; "" where the system does not say.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if id := strings.TrimSpace(string(text)); err == nil && len(id) == 36 {
		return id
	}
	return ""
}
