package tracefs

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"golang.org/x/sys/unix"

	"meridian/internal/record/internal/proc"
	"meridian/internal/record/internal/tracing"
	"meridian/internal/record/kernel"
	"meridian/trace"
)

// session is ftrace set up for one recording: its instances, the events enabled in them, and the rings of the processors.
type session struct {
	mount *tracing.Mount
	all   *instance // records all processes
	some  *instance // records those that are followed; nil if all are
	cpus  int       // that the kernel can have, online or not
	rings []*ring
	late  atomic.Int64 // processors that came online after the rings were opened
}

// newSession makes the instances, which do not record yet. On an error the caller closes what is returned.
func newSession(bufferSize int, filtered bool) (s *session, err error) {
	s = &session{}
	if s.mount, err = tracing.Find(); err != nil {
		return s, unavailable("finding tracefs", err)
	}
	if bufferSize <= 0 {
		bufferSize = 4 << 20
	}
	if s.all, err = newInstance(s.mount, bufferSize); err != nil {
		return s, err
	}
	if filtered {
		if s.some, err = newInstance(s.mount, bufferSize); err != nil {
			return s, err
		}
	}
	s.cpus, err = s.all.processors()
	return s, err
}

// processors returns how many processors ftrace is prepared for.
func (in *instance) processors() (int, error) {
	entries, err := os.ReadDir(filepath.Join(in.dir, "per_cpu"))
	if err != nil {
		return 0, unavailable("listing the ring buffers", err)
	}
	cpus := 0
	for _, e := range entries {
		if n, err := strconv.Atoi(strings.TrimPrefix(e.Name(), "cpu")); err == nil && n >= 0 && n < 1<<16 {
			cpus = max(cpus, n+1)
		}
	}
	return cpus, nil
}

// enable enables the events of the groups, and those that tell of threads, and returns their layouts. Command says that
// programs are to be found by their name.
func (s *session) enable(groups kernel.Groups, command bool, w *trace.Warnings) (*layouts, error) {
	var l layouts
	page, err1 := s.all.read("events/header_page")
	event, err2 := s.all.read("events/header_event")
	err := errors.Join(err1, err2)
	if err == nil {
		l.page, err = parsePageLayout(page, event)
	}
	if err != nil {
		return nil, unavailable("layout of the ring buffer", err)
	}
	enabled := 0
	for k := kernel.Kind(1); k < kinds; k++ {
		name := known[k].event
		if name == "" || !s.needs(k, groups) {
			continue
		}
		text, err := s.all.read("events/" + name + "/format")
		if errors.Is(err, fs.ErrNotExist) {
			w.Add(subject, "this kernel does not have the event "+name, "")
			continue
		}
		if err != nil {
			return nil, unavailable("event "+name, err)
		}
		f, err := parseFormat(text)
		if err == nil {
			err = l.add(k, f)
		}
		if err != nil {
			return nil, unavailable("format of "+name, err)
		}
		if err := s.enableKind(k, command); err != nil {
			return nil, unavailable("event "+name, err)
		}
		enabled++
	}
	if enabled == 0 && groups != 0 {
		return nil, notSupported("this kernel has none of the requested events")
	}
	return &l, nil
}

// needs reports whether a kind is recorded, or tells of threads whose events are.
func (s *session) needs(k kernel.Kind, groups kernel.Groups) bool {
	if k.Group()&groups != 0 {
		return true
	}
	if groups&(kernel.Sched|kernel.Syscalls) == 0 {
		return false
	}
	return k >= kernel.Kinds || k == kernel.ProcessFree || s.some != nil && (k == kernel.ProcessFork || k == kernel.ProcessExec)
}

// enableKind enables a kind in the instances where it belongs.
func (s *session) enableKind(k kernel.Kind, command bool) error {
	in, event := s.all, known[k].event
	if s.some != nil && k.Group()&(kernel.Net|kernel.IRQ|kernel.Disk) == 0 && k != kernel.ProcessFree {
		in = s.some
		switch {
		case k == kernel.SchedSwitch: // the kernel does not follow a thread any more at its last switch
			if err := s.all.enable(event, fmt.Sprintf("prev_state & %d", ended)); err != nil {
				return err
			}
		case k == kernel.ProcessExec && command:
			if err := s.all.enable(event, ""); err != nil {
				return err
			}
		}
	}
	return in.enable(event, known[k].filter)
}

// instances returns those that there are.
func (s *session) instances() []*instance {
	switch {
	case s.all == nil:
		return nil
	case s.some == nil:
		return []*instance{s.all}
	}
	return []*instance{s.all, s.some}
}

// openRings opens the rings of the processors that are online. One that comes online later is not recorded.
func (s *session) openRings(l *pageLayout) error {
	online, err := proc.OnlineCPUs()
	if err != nil {
		return err
	}
	for _, in := range s.instances() {
		for _, cpu := range online {
			if cpu >= s.cpus {
				continue
			}
			g, err := openRing(in, cpu, in == s.all, l)
			if err != nil {
				return err
			}
			s.rings = append(s.rings, g)
		}
	}
	return nil
}

// end stops the recording in all instances.
func (s *session) end() (err error) {
	for _, in := range s.instances() {
		err = errors.Join(err, in.end())
	}
	return err
}

// findLate counts the processors that are online and have no ring.
func (s *session) findLate() {
	online, _ := proc.OnlineCPUs()
	late := int64(0)
	for _, cpu := range online {
		if len(s.rings) > 0 && !slices.ContainsFunc(s.rings, func(g *ring) bool { return g.cpu == cpu }) {
			late++
		}
	}
	s.late.Store(late)
}

// lost returns how many events each processor has lost, by its number. Those of processors without a ring are of the first one.
func (s *session) lost() ([]uint64, error) {
	lost := make([]uint64, s.cpus)
	for _, g := range s.rings {
		n, err := g.lost()
		if err != nil {
			return nil, err
		}
		lost[g.cpu] += n + g.damaged.Load() + g.gaps.Load()
	}
	if len(s.rings) > 0 {
		lost[s.rings[0].cpu] += uint64(s.late.Load())
	}
	return lost, nil
}

// close releases the rings, and removes the instances.
func (s *session) close() (err error) {
	for _, g := range s.rings {
		err = errors.Join(err, g.close())
	}
	for _, in := range s.instances() {
		err = errors.Join(err, in.remove())
	}
	if s.mount != nil {
		err = errors.Join(err, s.mount.Close())
	}
	s.mount, s.all, s.some, s.rings = nil, nil, nil, nil
	s.late.Store(0)
	return err
}

// unavailable explains why this machine's tracefs cannot be used.
func unavailable(doing string, err error) error {
	u := &Unavailable{Reason: kernel.NotSupported, Err: fmt.Errorf("%s: %w", doing, err)}
	switch {
	case errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		u.Reason = kernel.NotPermitted
		u.Missing = "not permitted: run as root; containers and kernel lockdown may forbid it even then"
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENOSYS):
		u.Missing = "this kernel has no tracefs: Linux 5.2 with CONFIG_FTRACE and CONFIG_EVENT_TRACING is needed"
	default:
		u.Missing = "this kernel's tracefs has an unknown layout"
	}
	return u
}
