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
	"meridian/internal/collect/wire"
	"meridian/internal/s3"
)

// maxExpireEvery is how often it is looked for old archives, at least.
const maxExpireEvery = time.Hour

// settled notes since when everything of a host is archived and nothing has come.
func (a *Archive) settled(h host, ended, new bool) {
	switch {
	case a.o.Keep == 0:
	case !ended:
		delete(a.whole, h)
	case new || a.whole[h].IsZero():
		a.whole[h] = a.o.Now()
	}
}

// forget removes from the store's disk the hosts that have been archived for long enough.
func (a *Archive) forget(ctx context.Context) error {
	var errs []error
	for _, h := range slices.Collect(maps.Keys(a.whole)) {
		if a.o.Now().Sub(a.whole[h]) < a.o.Keep {
			continue
		}
		there, err := a.archived(ctx, h)
		if err != nil {
			errs = append(errs, err)
			var failed *storeError
			if errors.As(err, &failed) {
				break
			}
			continue
		}
		removed, err := a.o.Store.Remove(h.session, h.name, func(c store.Content) bool { return there(c) })
		if err != nil {
			errs = append(errs, fmt.Errorf("session %s, host %s: %w", h.session, h.name, err))
		}
		delete(a.whole, h) // it is looked at anew
		if !removed {
			continue
		}
		a.o.Log("archive: session %s of %s is removed from this disk: %s has it", h.session, h.name, a.address(h.session))
		delete(a.known, h)
		for id := range a.seen {
			if id.host == h {
				delete(a.seen, id)
			}
		}
	}
	return errors.Join(errs...)
}

// archived returns what says whether all of a host's content is in the object store, which is asked for its index and for each part.
func (a *Archive) archived(ctx context.Context, h host) (func(store.Content) bool, error) {
	dir := a.dir(h.session)
	data, _, err := a.o.Client.Get(ctx, a.o.Bucket, s3.IndexKey(dir, a.o.Server), s3.MaxIndex)
	if err != nil {
		return nil, &storeError{err}
	}
	index, err := s3.ParseIndex(data)
	if err != nil {
		return nil, err
	}
	x := index.Hosts[h.name]
	if x == nil {
		return func(store.Content) bool { return false }, nil
	}
	sizes := make(map[string]int64)
	err = a.o.Client.ListAll(ctx, a.o.Bucket, path.Join(s3.DataPrefix(dir, a.o.Server), h.name)+"/", func(o s3.Object) error {
		sizes[o.Key] = o.Size
		return nil
	})
	if err != nil {
		return nil, &storeError{err}
	}
	return func(c store.Content) bool {
		if c.Trace != x.Trace {
			return false
		}
		for _, f := range c.Files {
			known := x.Files[f.Name]
			if f.Size == 0 {
				continue
			}
			if known == nil || known.Size() < f.Size || f.Shortest >= 0 || f.Name == wire.Metadata && known.Size() != f.Size {
				return false
			}
			for n, p := range known.Parts {
				if size, is := sizes[s3.PartKey(dir, a.o.Server, h.name, f.Name, n, p)]; !is || size != p.Size {
					a.o.Log("archive: session %s of %s stays on this disk: a part of %s is missing in %s", h.session, h.name, f.Name, a.address(h.session))
					return false
				}
			}
		}
		return len(c.Files) > 0
	}, nil
}

// expire removes archives of this server to which nothing was added for long, and of which nothing is on the store's disk.
func (a *Archive) expire(ctx context.Context) error {
	now := a.o.Now()
	if a.o.Expire == 0 || now.Sub(a.expired) < min(a.o.Expire/4, maxExpireEvery) {
		return nil
	}
	local, err := a.o.Store.Sessions()
	if err != nil {
		return err
	}
	prefix := a.o.Prefix
	if prefix != "" {
		prefix += "/"
	}
	var names []string
	err = a.o.Client.List(ctx, a.o.Bucket, prefix, func(o s3.Object) error {
		if name, is := strings.CutSuffix(strings.TrimPrefix(o.Key, prefix), "/"); is && wire.CheckSession(name) == nil {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return &storeError{err}
	}
	for _, name := range names {
		if _, here := local[name]; here {
			continue
		}
		if err := a.expireSession(ctx, name, now); err != nil {
			return &storeError{err}
		}
	}
	a.expired = now
	return nil
}

// expireSession removes the archive of a session if it is old: the index first, so that readers find all of it or nothing.
func (a *Archive) expireSession(ctx context.Context, name string, now time.Time) error {
	dir := a.dir(name)
	key := s3.IndexKey(dir, a.o.Server)
	index, err := a.o.Client.Head(ctx, a.o.Bucket, key)
	if err != nil && !isMissing(err) {
		return err
	}
	if err == nil {
		if now.Sub(time.Unix(index.Modified, 0)) < a.o.Expire {
			return nil
		}
		if err := a.o.Client.Delete(ctx, a.o.Bucket, key); err != nil {
			return err
		}
		a.o.Log("archive: %s has expired and is removed", a.address(name))
		delete(a.sessions, name)
	}
	// Parts without an index are those of a process that was killed while it removed them, or of one that has only begun.
	return a.o.Client.ListAll(ctx, a.o.Bucket, s3.DataPrefix(dir, a.o.Server), func(o s3.Object) error {
		if now.Sub(time.Unix(o.Modified, 0)) < a.o.Expire {
			return nil
		}
		return a.o.Client.Delete(ctx, a.o.Bucket, o.Key)
	})
}
