package sensor

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"meridian/clock"
	"meridian/sensor/ring"
)

// Options say how events are recorded. The zero value records all events into /dev/shm.
type Options struct {
	Program string // its name in the trace; "" stands for the executable's
	Events  string // what is switched on, as by MERIDIAN_EVENTS, which has the last word; "" stands for all

	Dir        string // where the ring's file lies; "" stands for /dev/shm, or the directory for temporary files
	Buffers    int    // sub-buffers for each processor, a power of two; 0 stands for 16
	BufferSize int    // bytes of each, a power of two; 0 stands for 64 KiB
	Overwrite  bool   // a flight recorder: without a reader new events overwrite the oldest

	Interval time.Duration // between histograms, and between snapshots of the clocks; 0 stands for a second
	Host     string        // Record: the host's name in the trace; "" stands for the host's own
	Title    string        // Record: what the trace says of itself
}

// recorder is a ring that events go to, and what goes with it.
type recorder struct {
	o      Options
	ring   *ring.Ring
	reader *ring.Reader // Record's; nil where reading is left to others
	first  clock.Snapshot
	last   clock.Snapshot // beat's, until it has ended
	full   error          // why classes could not be entered; guarded by classes' mutex
	stop   chan struct{}
	beats  sync.WaitGroup

	opening sync.Mutex // one shard at a time is made
	closed  bool
}

// running is the recorder that events go to, nil for none.
var running atomic.Pointer[recorder]

// starting lets one Start or Stop after the other.
var starting sync.Mutex

// unclaimed says that the environment started the recording, and that the program has not called Start since. Starting guards it.
var unclaimed bool

// spareShards are for processors whose own shard is full while there is a reader: up to 32 MiB more at the default size, mapped
// only when needed. Two processors with half a million events a second can thus wait a second for their reader.
const spareShards = 32

// ErrStarted says that events are being recorded already.
var ErrStarted = errors.New("sensor: events are being recorded already; Stop ends that")

// Start makes a ring and switches events on. Without a reader (meridian record, or [Record]) the ring keeps the events that fit.
// If the program dies, the ring's file stays, and [Recover] reads it. It returns [ErrStarted] if the program has started recording.
//
// Under meridian record, or with MERIDIAN=1, the environment has started recording before main. Start then returns nil. Its ring
// stays: of the options only Events has an effect, unless MERIDIAN_EVENTS is set, and a line on stderr names the others that ask
// for something else.
func Start(o Options) error {
	starting.Lock()
	defer starting.Unlock()
	if r := running.Load(); unclaimed && r != nil {
		unclaimed = false
		r.join(o)
		return nil
	}
	return start(o, false)
}

// join applies the options of a program to the recording that the environment started.
func (r *recorder) join(o Options) {
	if o.Events != "" && os.Getenv("MERIDIAN_EVENTS") == "" {
		classes.Lock()
		startRules = environmentRules(o.Events)
		for _, c := range classes.all {
			c.set(initially(c))
		}
		classes.Unlock()
	}
	runs := r.o
	runs.Dir, runs.Buffers, runs.BufferSize = filepath.Dir(r.ring.Path()), cmp.Or(runs.Buffers, 16), cmp.Or(runs.BufferSize, 64<<10)
	if other := runs.otherThan(o); len(other) > 0 {
		complain(fmt.Errorf("sensor: MERIDIAN=%s in the environment started recording before main: these options of Start have no effect: %s",
			os.Getenv("MERIDIAN"), strings.Join(other, ", ")))
	}
}

// otherThan returns the names of the options that ask for something else than what runs with the options o. Zero values ask for
// nothing.
func (o Options) otherThan(asked Options) (names []string) {
	for _, x := range []struct {
		name  string
		other bool
	}{
		{"Program", asked.Program != "" && asked.Program != o.Program},
		{"Dir", asked.Dir != "" && filepath.Clean(asked.Dir) != filepath.Clean(o.Dir)},
		{"Buffers", asked.Buffers != 0 && asked.Buffers != o.Buffers},
		{"BufferSize", asked.BufferSize != 0 && asked.BufferSize != o.BufferSize},
		{"Overwrite", asked.Overwrite && !o.Overwrite},
		{"Interval", asked.Interval > 0 && asked.Interval != o.Interval},
	} {
		if x.other {
			names = append(names, x.name)
		}
	}
	return names
}

// start starts recording. With read the ring has this program as its reader before any other can find it.
func start(o Options, read bool) error {
	if running.Load() != nil {
		return ErrStarted
	}
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.Program == "" {
		o.Program = filepath.Base(os.Args[0])
	}
	slow = !stampSource().CountsCycles()
	r := &recorder{o: o, stop: make(chan struct{})}
	hz := clock.Frequency{Hz: 1e9, Low: 1e9, High: 1e9}
	var err error
	if !slow {
		if hz, err = clock.CalibrateQuick(); err != nil {
			return fmt.Errorf("sensor: %w", err)
		}
	}
	r.first = clock.Take(stampSource())
	frequency, uncertain := hz.Rounded()
	create := func(o ring.Options) (*ring.Ring, *ring.Reader, error) {
		w, err := ring.Create(o)
		return w, nil, err
	}
	if read {
		create = ring.CreateRead
	}
	r.ring, r.reader, err = create(ring.Options{
		Dir: o.Dir, Program: o.Program, Spare: spareShards, Buffers: o.Buffers, BufferSize: o.BufferSize, Overwrite: o.Overwrite,
		Clock: ring.Clock{Kind: uint32(stampSource()), Frequency: frequency, Origin: r.first.Realtime.Origin(frequency), FrequencyError: uncertain},
	})
	if err != nil {
		return fmt.Errorf("sensor: %w", err)
	}

	classes.Lock()
	startRules = environmentRules(o.Events)
	if e := os.Getenv("MERIDIAN_EVENTS"); e != "" {
		startRules = environmentRules(e)
	}
	running.Store(r)
	shardCount.Store(uint32(min(r.ring.Shards(), 2*runtime.GOMAXPROCS(0))))
	for _, c := range classes.all {
		r.enter(c)
	}
	full := r.full != nil
	classes.Unlock()
	if full {
		failed := errors.Join(halt(), r.ring.Remove())
		if r.reader != nil {
			failed = errors.Join(failed, r.reader.Close())
		}
		return failed
	}
	r.beats.Add(1)
	go r.beat()
	return nil
}

// enter enters a class into the ring and gives it its switch. The mutex of classes is held.
func (r *recorder) enter(c *class) {
	if r.full != nil {
		return
	}
	h, err := r.ring.Register(ring.Class{Name: c.name + c.ending, Category: c.category, Context: declaration(c.context), Fields: declaration(c.fields), Off: !initially(c)})
	if err == nil && uint32(h.ID) != c.number {
		err = fmt.Errorf("class %d was entered as %d", c.number, h.ID)
	}
	if err != nil {
		r.full = fmt.Errorf("sensor: event %s:%s and all that were declared later: %w", c.category, c.name, err)
		return
	}
	c.lead(h.Switch)
}

// beat writes what is written at intervals.
func (r *recorder) beat() {
	defer r.beats.Done()
	emitSnapshot(r.first)
	t := time.NewTicker(r.o.Interval)
	defer t.Stop()
	for {
		select {
		case <-r.stop:
			return
		case <-t.C:
			r.flush()
		}
	}
}

// flush writes what was counted, and how the clocks stand.
func (r *recorder) flush() {
	histograms.flush()
	tellLost()
	r.last = clock.Take(stampSource())
	emitSnapshot(r.last)
}

// toldLost is how many lost events the trace knows of. Only flush, of the one recording there is, touches it.
var toldLost int64

// tellLost writes how many events were lost on processors beyond the ring's shards. What says so may be lost on such a
// processor too, which shows in the count; then it is tried again, after the scheduler had a chance to move this goroutine.
func tellLost() {
	for range 1 << 14 {
		n := int64(lost.Load())
		if n == toldLost {
			return
		}
		lostEvents.Set(n)
		if int64(lost.Load()) == n {
			toldLost = n
			return
		}
		runtime.Gosched()
	}
}

// Stop ends recording. Every event whose Emit returned before is in the ring, and no event comes after. The ring's file stays for
// its reader, and its memory stays mapped, since an Emit may still be about to read its switch. Types of events that were
// declared meanwhile and found no room in the ring are an error. Without a recording Stop does nothing.
func Stop() error {
	starting.Lock()
	defer starting.Unlock()
	return halt()
}

func halt() error {
	r := running.Load()
	if r == nil {
		return nil
	}
	close(r.stop)
	r.beats.Wait()
	r.flush()
	classes.Lock()
	for _, c := range classes.all {
		c.lead(&off)
	}
	running.Store(nil)
	unclaimed = false
	full := r.full
	classes.Unlock()
	var untold error
	if n := int64(lost.Load()) - toldLost; n > 0 {
		untold = fmt.Errorf("sensor: %d events were lost on processors beyond the ring's %d shards, and the trace does not say so", n, r.ring.Shards())
	}
	return errors.Join(full, untold, r.close())
}

// Ring returns the path of the ring's file, "" if nothing is being recorded.
func Ring() string {
	if r := running.Load(); r != nil {
		return r.ring.Path()
	}
	return ""
}

// stampSource is what events are stamped by: the cycle counter where it is good. Else it is MONOTONIC, although MONOTONIC_RAW
// has the steadier rate: that one costs a system call, which must not be where a shard is held.
func stampSource() clock.Source {
	if best := clock.Best().Source; best.CountsCycles() && !withoutCounter {
		return best
	}
	return clock.Monotonic
}

// withoutCounter is for tests of machines that have no good counter.
var withoutCounter bool

// slow says that events are stamped by [clock.Monotonic]. It is set before events are switched on.
var slow bool

// init starts recording where the environment asks for it: MERIDIAN=1, or MERIDIAN=DIR for a ring in that directory.
func init() {
	switch dir := os.Getenv("MERIDIAN"); {
	case dir == "" || dir == "0":
	case strings.ContainsRune(dir, filepath.Separator):
		startUnclaimed(Options{Dir: dir})
	case dir == "1":
		startUnclaimed(Options{})
	default:
		complain(fmt.Errorf("sensor: MERIDIAN=%s is neither 0, 1 nor a directory with a %c in its name", dir, filepath.Separator))
	}
}

// startUnclaimed starts recording for the environment.
func startUnclaimed(o Options) {
	starting.Lock()
	defer starting.Unlock()
	err := start(o, false)
	unclaimed = err == nil
	complain(err)
}

// complain says on stderr what is wrong with the environment: no caller could.
func complain(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}
