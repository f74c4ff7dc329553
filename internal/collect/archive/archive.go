// Package archive puts what a store has of hosts into an object store, from which it is read as one directory (package s3).
//
//	DIR/SESSION/HOST/FILE --> parts of 8 MiB --> PREFIX/SESSION/.meridian/SERVER/data/HOST/FILE/NUMBER-SHA256
//	                                         \-> PREFIX/SESSION/.meridian/SERVER/index.json, when its parts are there
//
// A part is closed when all of its bytes are on the store's disk, or when its file has not grown for a while: then it is shorter, and is put
// again, under another name, when the file goes on. Cuts are at fixed offsets, whatever packets lie there, since readers see whole files.
// The metadata is put before what it describes.
//
// The index is replaced as a whole, and only in the place of the one that this process knows. A part has its content's checksum in its
// name, so putting it twice is harmless. What is archived and not in the index, because the process was killed in between, is put again.
// A host of which everything is archived and nothing comes for a while may be removed from the store's disk (Options.Keep): the object store is asked for
// its index and all its parts before. If an agent goes on with it, what it sends again is archived already.
//
// The archive never forgets because the local file is shorter or gone: a file that lost power gets its end again from its agent.
package archive

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"meridian/internal/collect/store"
	"meridian/internal/s3"
)

// Options say what is archived, and where.
type Options struct {
	Store  *store.Store
	Client *s3.Client
	Bucket string
	Prefix string // without slashes at its ends
	Server string // the name of this server among others

	Age time.Duration // a file that has not grown for so long is put to its end
	// Keep is how long a host stays on the store's disk when all of it is archived and nothing comes; 0 for ever. Expire is how long an archive stays of which
	// nothing is on the store's disk; 0 for ever.
	Keep, Expire time.Duration
	Every        time.Duration                    // how often files are looked at; 0 for 2 s
	Part         int64                            // bytes of a part, a multiple of 256 KiB; 0 for 8 MiB
	Now          func() time.Time                 // nil for time.Now
	Log          func(format string, args ...any) // lines for people; nil for none
}

// Pauses after errors of the object store.
const (
	leastPause = time.Second
	mostPause  = time.Minute
)

const (
	defaultEvery = 2 * time.Second
	defaultPart  = 8 << 20
)

// Archive is what this server has put. One goroutine calls its methods.
type Archive struct {
	o        Options
	sessions map[string]*session
	known    map[host]bool // that may have something to put; true for those that agents send
	looked   bool          // for what earlier processes left
	seen     map[fileID]*seen
	put      int64              // bytes, since the beginning
	whole    map[host]time.Time // since when everything is archived, with Options.Keep
	expired  time.Time          // when it was looked for old archives last
}

type host struct{ session, name string }

type fileID struct {
	host
	file string
}

// seen is what is remembered of a file.
type seen struct {
	size    int64
	since   time.Time // that it has had
	checked bool      // that the index has what the file has
}

// New returns an archive, which does nothing until it is run.
func New(o Options) *Archive {
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	if o.Part == 0 {
		o.Part = defaultPart
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = func(string, ...any) {}
	}
	return &Archive{o: o, sessions: make(map[string]*session), known: make(map[host]bool), seen: make(map[fileID]*seen), whole: make(map[host]time.Time)}
}

// Run archives until ctx ends. Errors are logged, and what failed is tried again.
func (a *Archive) Run(ctx context.Context) error {
	var pause time.Duration
	var before string
	for {
		wait := a.o.Every
		err := a.Pass(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			pause = min(max(2*pause, leastPause), mostPause)
			wait = pause
			if err.Error() != before {
				a.o.Log("archive: %v; it is tried again, at the latest after %v", err, mostPause)
			}
			before = err.Error()
		case before != "":
			a.o.Log("archive: it goes on")
			pause, before = 0, ""
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		}
	}
}

// Pass archives what is closed now.
func (a *Archive) Pass(ctx context.Context) error {
	if err := a.look(); err != nil {
		return err
	}
	a.refresh()
	hosts := slices.Collect(maps.Keys(a.known))
	slices.SortFunc(hosts, func(a, b host) int {
		return strings.Compare(a.session+"\x00"+a.name, b.session+"\x00"+b.name)
	})
	var errs []error
	for len(hosts) > 0 {
		n := 1
		for n < len(hosts) && hosts[n].session == hosts[0].session {
			n++
		}
		err := a.passSession(ctx, hosts[0].session, hosts[:n])
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			errs = append(errs, err)
		}
		var failed *storeError
		if errors.As(err, &failed) {
			break // the others would fail too
		}
		hosts = hosts[n:]
	}
	if len(errs) == 0 {
		errs = append(errs, a.forget(ctx), a.expire(ctx))
	}
	return errors.Join(errs...)
}

// look finds what earlier processes left in the store's directory.
func (a *Archive) look() error {
	if a.looked {
		return nil
	}
	sessions, err := a.o.Store.Sessions()
	if err == nil {
		err = a.o.Store.Sweep()
	}
	if err != nil {
		return err
	}
	for s, names := range sessions {
		for _, name := range names {
			a.known[host{s, name}] = false
		}
	}
	a.looked = true
	return nil
}

// refresh notes which hosts agents send. What the store has told of one that an agent has left since, to record into another session, may
// not be all: its files are compared again.
func (a *Archive) refresh() {
	active := make(map[host]bool)
	for _, h := range a.o.Store.Hosts() {
		active[host{h.Session, h.Name}] = true
	}
	for h, was := range a.known {
		if was && !active[h] {
			for id, f := range a.seen {
				f.checked = f.checked && id.host != h
			}
		}
		a.known[h] = active[h]
	}
	maps.Copy(a.known, active)
}

// dir returns the prefix of a session.
func (a *Archive) dir(session string) string { return path.Join(a.o.Prefix, session) }

// address names a session for people.
func (a *Archive) address(session string) string {
	return "s3://" + path.Join(a.o.Bucket, a.dir(session))
}

// storeError is an error of the object store, which everything else would meet as well.
type storeError struct{ error }

func (e *storeError) Unwrap() error { return e.error }

// open returns a session with what this server has archived of it before.
func (a *Archive) open(ctx context.Context, name string) (*session, error) {
	if s := a.sessions[name]; s != nil {
		return s, nil
	}
	s := &session{index: &s3.Index{Version: s3.IndexVersion, Session: name, Server: a.o.Server, PartSize: a.o.Part, Hosts: make(map[string]*s3.IndexHost)}}
	key := s3.IndexKey(a.dir(name), a.o.Server)
	data, tag, err := a.o.Client.Get(ctx, a.o.Bucket, key, s3.MaxIndex)
	switch {
	case isMissing(err):
	case err != nil:
		return nil, &storeError{err}
	default:
		x, err := s3.ParseIndex(data)
		if err == nil && (x.Server != a.o.Server || x.Session != name) {
			err = fmt.Errorf("it is of session %q and server %q", x.Session, x.Server)
		}
		if err != nil {
			return nil, fmt.Errorf("s3://%s/%s: %w: move it away, or give --archive another prefix", a.o.Bucket, key, err)
		}
		if x.Hosts == nil {
			x.Hosts = make(map[string]*s3.IndexHost)
		}
		s.index, s.tag = x, tag
	}
	a.sessions[name] = s
	return s, nil
}
