package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"meridian/format/ctf"
	"meridian/trace"
)

// Snapshot is a copy of what was kept around an instant: a trace of its own, beside the one that is recorded.
type Snapshot struct {
	Dir    string    `json:"dir"`
	Reason string    `json:"reason"` // of the first that asked for it
	Asked  int       `json:"asked"`  // how many asked for it, while it was being taken
	At     time.Time `json:"at"`     // when the first asked
	Error  string    `json:"error,omitempty"`
}

// maxTriggered limits the snapshots of one recorder that events trigger, so that a trigger that is met all the time
// does not fill the disk. Signals and requests are not limited.
const maxTriggered = 16

// snapshots takes snapshots. Asking never waits: a goroutine waits for Options.After, and then copies. Complete chunks get a second
// name (link(2)); of the others what is whole is copied. Chunks that are dropped meanwhile are moved into the snapshot.
//
//	DIR                                   the trace that is recorded
//	DIR-snapshot-20261122T215010-123Z     .DIR-snapshot-....partial until it is whole
type snapshots struct {
	t      *hostTrace
	after  time.Duration // how long after the instant, and until what happened then is in the files
	told   func(Snapshot)
	w      *trace.Warnings
	checks *triggerChecks

	mu       sync.Mutex
	pending  *Snapshot // waits for after; nil for none
	copying  bool      // one is being copied
	next     *Snapshot // asked for while that was
	waiting  map[*Snapshot][]string
	done     []Snapshot
	events   int // that triggered a snapshot
	unmade   int // triggers beyond maxTriggered
	ending   chan struct{}
	over     sync.WaitGroup
	requests requests
	signals  <-chan os.Signal
}

func newSnapshots(t *hostTrace, o *Options) *snapshots {
	return &snapshots{t: t, after: o.SnapshotAfter + o.Flush, told: o.Snapshot, w: o.Warnings, checks: newTriggerChecks(o), waiting: map[*Snapshot][]string{},
		ending: make(chan struct{}), requests: requests{t.dir}, signals: o.SnapshotAt}
}

// ask asks for a snapshot of now, or counts in the one whose time has not passed. Request is answered when it is made; "" for none.
func (s *snapshots) ask(reason, request string, triggered bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.pending
	if s.copying {
		x = s.next
	}
	switch {
	case x != nil:
		x.Asked++
	case triggered && s.events == maxTriggered:
		s.unmade++
		return
	default:
		if triggered {
			s.events++
		}
		x = s.begin(reason)
	}
	if request != "" {
		s.waiting[x] = append(s.waiting[x], request)
	}
}

// begin begins a snapshot, or the one after that which is being copied.
func (s *snapshots) begin(reason string) *Snapshot {
	now := time.Now()
	dir, err := filepath.Abs(s.t.dir)
	if err != nil {
		dir = s.t.dir
	}
	x := &Snapshot{Dir: dir + "-snapshot-" + strings.ReplaceAll(now.UTC().Format("20060102T150405.000Z"), ".", "-"), Reason: reason, Asked: 1, At: now}
	if s.copying {
		s.next = x
		return x
	}
	s.start(x)
	return x
}

func (s *snapshots) start(x *Snapshot) {
	s.pending = x
	s.over.Add(1)
	go func() {
		defer s.over.Done()
		s.take(x)
	}()
}

// take waits, makes the snapshot and tells of it.
func (s *snapshots) take(x *Snapshot) {
	partial := filepath.Join(filepath.Dir(x.Dir), "."+filepath.Base(x.Dir)+".partial")
	err := os.Mkdir(partial, 0o777)
	if err == nil {
		s.t.keeper.save(partial)
	}
	t := time.NewTimer(time.Until(x.At.Add(s.after)))
	select {
	case <-t.C:
	case <-s.ending:
	}
	t.Stop()
	s.mu.Lock()
	s.copying = true
	s.mu.Unlock()
	if err == nil {
		err = s.copy(partial, x)
		s.t.keeper.save("")
	}
	if err == nil {
		err = os.Rename(partial, x.Dir)
	}
	if err != nil {
		os.RemoveAll(partial)
	}
	s.made(x, err)
}

// made tells of a snapshot that was made or failed, and begins the next.
func (s *snapshots) made(x *Snapshot, err error) {
	answer := "made " + x.Dir
	if err != nil {
		x.Error = full(err).Error()
		answer = "failed " + x.Error
	}
	s.mu.Lock()
	requests, told := s.waiting[x], *x
	delete(s.waiting, x)
	s.pending, s.copying, s.done = nil, false, append(s.done, told)
	if s.next != nil {
		s.start(s.next)
		s.next = nil
	}
	s.mu.Unlock()
	if err != nil {
		s.w.Add(x.Dir, "the snapshot was not made", x.Error)
	}
	for _, id := range requests {
		if err := s.requests.answer(id, answer); err != nil {
			s.w.Add(s.t.dir, "a request for a snapshot cannot be answered", err.Error())
		}
	}
	if s.told != nil {
		s.told(told)
	}
}

// poll takes the signals and the request that have come.
func (s *snapshots) poll() {
	select {
	case signal := <-s.signals:
		if s.t.keeper != nil {
			s.ask("signal "+signalName(signal), "", false)
		}
	default:
	}
	id := s.requests.poll()
	switch {
	case id == "":
	case s.t.keeper == nil:
		s.requests.answer(id, "failed the recorder keeps everything, and has no --keep to take a snapshot of")
	default:
		s.ask("meridian snapshot", id, false)
	}
}

// copy copies the files of the trace as they are now.
func (s *snapshots) copy(to string, x *Snapshot) error {
	chunks := s.t.keeper.files()
	latest := map[string]int{} // the number of each stream's last chunk
	for path := range chunks {
		base, n := chunkNumber(path)
		latest[base] = max(latest[base], n)
	}
	for path, size := range chunks {
		target := filepath.Join(to, filepath.Base(path))
		if filepath.Ext(path) == packetSuffix {
			if err := os.MkdirAll(filepath.Join(to, packetFiles), 0o777); err != nil {
				return err
			}
			target = filepath.Join(to, packetFiles, filepath.Base(path))
		}
		// A next recorder may go on in the last chunk of a stream.
		if base, n := chunkNumber(path); n < latest[base] {
			if err := os.Link(path, target); err == nil || errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrExist) {
				continue // dropped meanwhile, and moved here
			}
		}
		if err := copyFile(path, target, size); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if err := s.copyOthers(to, chunks, latest); err != nil {
		return err
	}
	return s.copyMetadata(to, x)
}

// copyOthers copies the streams of which nothing is dropped. A chunk that began meanwhile is none of them: the one before it is
// copied in part.
func (s *snapshots) copyOthers(to string, chunks map[string]int64, latest map[string]int) error {
	entries, err := os.ReadDir(s.t.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		path := filepath.Join(s.t.dir, e.Name())
		_, known := chunks[path]
		base, _ := chunkNumber(path)
		if _, chunked := latest[base]; known || chunked || !e.Type().IsRegular() || e.Name() == "metadata" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		span, err := spanOf(path)
		if err == nil {
			err = copyFile(path, filepath.Join(to, e.Name()), int64(span.Bytes))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// copyMetadata writes the metadata, which is as new as any packet that was copied.
func (s *snapshots) copyMetadata(to string, x *Snapshot) error {
	m, err := readMetadata(s.t.dir)
	if err != nil {
		return err
	}
	s.mu.Lock()
	m.Env = append(m.Env, ctf.Env{Name: "snapshot", Text: x.Reason, IsText: true}, ctf.Env{Name: "snapshot_asked", Number: int64(x.Asked)},
		ctf.Env{Name: "snapshot_at", Text: x.At.UTC().Format(time.RFC3339Nano), IsText: true})
	s.mu.Unlock()
	f, err := os.OpenFile(filepath.Join(to, "metadata"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	return errors.Join(m.WriteTSDL(f), f.Close())
}

// copyFile copies the first bytes of a file, which may grow meanwhile.
func copyFile(from, to string, size int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return nil // dropped meanwhile, and moved here
	} else if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(in, size))
	return errors.Join(err, out.Close())
}

// chunkNumber splits the path of a chunk into that of its stream and its number.
func chunkNumber(path string) (base string, number int) {
	name := strings.TrimSuffix(path, packetSuffix)
	at := strings.LastIndexByte(name, '_')
	n, err := strconv.Atoi(name[at+1:])
	if at < 0 || err != nil {
		return name, 0
	}
	return name[:at], n
}

// finish lets the snapshot that is being taken be taken at once.
func (s *snapshots) finish() {
	close(s.ending)
	s.over.Wait()
	if s.unmade > 0 {
		s.w.AddN(s.t.dir, fmt.Sprintf("events that met --trigger were not kept: %d snapshots were made of earlier ones, which is the most", maxTriggered), "", int64(s.unmade))
	}
}

// list returns the snapshots so far.
func (s *snapshots) list() []Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Snapshot(nil), s.done...)
}

// triggered asks for a snapshot because of an event.
func (s *snapshots) triggered(t *Trigger) { s.ask("trigger "+t.String(), "", true) }

// save has chunks that are dropped from now on moved to a directory; "" ends that.
func (k *keeper) save(dir string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.saved, k.listed = dir, nil
}

// files returns the sizes of all chunks by path. They are whole packets. Of chunks that are dropped later only these are moved: a
// later one would follow a chunk that is copied as far as it was now.
func (k *keeper) files() map[string]int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := map[string]int64{}
	for _, c := range k.chunks {
		if c.Bytes > 0 {
			all[c.path] = int64(c.Bytes)
		}
	}
	k.listed = all
	return all
}

// drop removes a file, or moves it into the snapshot that is being taken.
func (k *keeper) drop(path string) error {
	if _, ok := k.listed[path]; k.saved == "" || k.listed != nil && !ok {
		return os.Remove(path)
	}
	to := filepath.Join(k.saved, filepath.Base(path))
	if filepath.Ext(path) == packetSuffix {
		to = filepath.Join(k.saved, packetFiles, filepath.Base(path))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return errors.Join(err, os.Remove(path))
		}
	}
	renamed := os.Rename(path, to)
	// A file that the snapshot has by a link already stays under both names (rename(2)). One that cannot be renamed is missing there.
	if err := os.Remove(path); renamed != nil || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
