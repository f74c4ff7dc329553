package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/store"
	"meridian/internal/collect/wire"
	"meridian/internal/s3"
)

// At a time: puts, each with a part in memory, and parts until the index is written.
const (
	atOnce = 4
	batch  = 64
)

// session is what was archived of a session.
type session struct {
	index *s3.Index
	tag   string // of the index in the object store, "" for none
	dirty bool   // the index has changed since
	stale []string
}

// job is a part to be put.
type job struct {
	host   string
	file   *s3.IndexFile
	name   string
	number int
	size   int64
	whole  bool // a document, which is read as it is then
	part   s3.Part
	put    bool
	err    error // of the store's disk
}

func isMissing(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// passSession archives what is closed of hosts of a session.
func (a *Archive) passSession(ctx context.Context, name string, hosts []host) error {
	s, err := a.open(ctx, name)
	if err != nil {
		return err
	}
	var errs []error
	var documents, parts []*job
	var whole []host // of which everything is archived, or is to be now
	for _, h := range hosts {
		d, p, ended, err := a.plan(s, h)
		if err != nil {
			errs = append(errs, fmt.Errorf("session %s, host %s: %w", name, h.name, err))
			continue
		}
		if ended {
			whole = append(whole, h)
		}
		a.settled(h, ended && d != nil, len(p) > 0)
		if d != nil {
			documents = append(documents, d)
		}
		parts = append(parts, p...)
	}
	// What a packet means is there before the packet.
	for _, jobs := range [][]*job{documents, parts} {
		for len(jobs) > 0 {
			n := min(batch, len(jobs))
			err := a.putAll(ctx, s, jobs[:n])
			for _, j := range jobs[:n] {
				if j.err != nil {
					errs = append(errs, fmt.Errorf("session %s: %w", name, j.err))
				}
			}
			if err := errors.Join(err, a.write(ctx, name, s)); err != nil {
				return errors.Join(append(errs, err)...)
			}
			jobs = jobs[n:]
		}
	}
	if err := a.write(ctx, name, s); err != nil {
		return errors.Join(append(errs, err)...)
	}
	if len(errs) == 0 {
		a.finish(whole)
	}
	return errors.Join(errs...)
}

// finish forgets hosts that are archived to their ends, if no agent sends them.
func (a *Archive) finish(hosts []host) {
	for _, h := range hosts {
		if !a.known[h] && a.o.Keep == 0 {
			delete(a.known, h)
		}
	}
}

// plan says what of a host is to be put now. ended says that nothing will be left to put.
func (a *Archive) plan(s *session, h host) (document *job, parts []*job, ended bool, err error) {
	content, err := a.o.Store.Content(h.session, h.name)
	if err != nil || content.Trace == "" || len(content.Files) == 0 {
		return nil, nil, true, ignoreMissing(err)
	}
	x := s.index.Hosts[h.name]
	if x == nil {
		x = &s3.IndexHost{Trace: content.Trace, Files: make(map[string]*s3.IndexFile)}
	} else if x.Trace != content.Trace {
		return nil, nil, true, fmt.Errorf("%s has another trace of this host (%s, not %s): record into another session", a.address(h.session), x.Trace, content.Trace)
	}
	if x.Files == nil {
		x.Files = make(map[string]*s3.IndexFile)
	}
	ended = true
	for _, f := range content.Files {
		known := x.Files[f.Name]
		if known == nil {
			known = &s3.IndexFile{}
		}
		if f.Name == wire.Metadata {
			document = &job{host: h.name, file: known, name: f.Name, size: f.Size, whole: true}
			continue
		}
		jobs, closed, err := a.planFile(s, h, known, f)
		if err != nil {
			return nil, nil, true, err
		}
		parts = append(parts, jobs...)
		ended = ended && closed
	}
	if document == nil || document.size == 0 {
		return nil, nil, false, nil // what the packets mean has not come
	}
	s.index.Hosts[h.name] = x
	return document, parts, ended, nil
}

func ignoreMissing(err error) error {
	if isMissing(err) {
		return nil // no trace, or it has gone
	}
	return err
}

// planFile says which parts of a file are to be put. closed says that they are all that it has.
func (a *Archive) planFile(s *session, h host, known *s3.IndexFile, f store.Stored) (jobs []*job, closed bool, err error) {
	id := fileID{h, f.Name}
	at := a.seen[id]
	if at == nil {
		at = &seen{size: f.Size, since: a.o.Now()}
		a.seen[id] = at
	} else if at.size != f.Size {
		at.size, at.since = f.Size, a.o.Now()
	}
	if f.Shortest >= 0 {
		s.shorten(known, f.Shortest)
		at.since = a.o.Now()
	}
	if !at.checked {
		if err := a.check(s, h, known, f); err != nil {
			return nil, false, err
		}
		at.checked = true
	}
	have := known.Size()
	if f.Size <= have {
		return nil, true, nil
	}
	each := s.index.PartSize
	for n := have / each; n*each < f.Size; n++ {
		size := min(each, f.Size-n*each)
		if size < each && a.o.Now().Sub(at.since) < a.o.Age {
			return jobs, false, nil
		}
		jobs = append(jobs, &job{host: h.name, file: known, name: f.Name, number: int(n), size: size})
	}
	return jobs, true, nil
}

// shorten takes the parts out of the index that reach beyond a size: the file was cut there. Its index changes when they are put again.
func (s *session) shorten(f *s3.IndexFile, size int64) {
	n := int(size / s.index.PartSize)
	if n < len(f.Parts) && f.Size() > size {
		f.Parts = f.Parts[:n:n]
		s.dirty = true
	}
}

// check compares the parts in the index with the end of the file, once. An earlier process may have been killed before it could tell that
// bytes had changed; only in the end of a file they do ([wire.TailSize]).
func (a *Archive) check(s *session, h host, known *s3.IndexFile, f store.Stored) error {
	each := s.index.PartSize
	for n := max(f.Size-wire.TailSize, 0) / each; n < int64(len(known.Parts)); n++ {
		p := known.Parts[n]
		if n*each+p.Size > f.Size {
			return nil // the agent has to send it again
		}
		b := make([]byte, p.Size)
		if err := a.o.Store.ReadFile(h.session, h.name, f.Name, b, n*each); err != nil {
			return err
		}
		if sum(b) != p.SHA256 {
			s.shorten(known, n*each)
			return nil
		}
	}
	return nil
}

func sum(b []byte) string {
	x := sha256.Sum256(b)
	return hex.EncodeToString(x[:])
}

// putAll puts parts, several at a time, and enters into the index what is there without a gap.
func (a *Archive) putAll(ctx context.Context, s *session, jobs []*job) error {
	group, inGroup := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, j := range jobs {
		group.Go(func() error { return a.putOne(inGroup, s, j) })
	}
	err := group.Wait()
	for _, j := range jobs {
		if !j.put {
			continue
		}
		h := s.index.Hosts[j.host]
		switch n := len(j.file.Parts); {
		case j.number == n:
			j.file.Parts = append(j.file.Parts, j.part)
		case j.number == n-1 && j.file.Parts[n-1] != j.part:
			s.stale = append(s.stale, s3.PartKey(a.dir(s.index.Session), a.o.Server, j.host, j.name, j.number, j.file.Parts[n-1]))
			j.file.Parts[n-1] = j.part
		default:
			continue // it is there, or one before it is not
		}
		h.Files[j.name] = j.file
		s.dirty = true
		a.put += j.part.Size
	}
	return err
}

// putOne puts a part. Its error is of the object store; that of the disk concerns this part alone.
func (a *Archive) putOne(ctx context.Context, s *session, j *job) error {
	b, err := a.read(s, j)
	if err != nil {
		j.err = err
		return nil
	}
	p := s3.Part{Size: int64(len(b)), SHA256: sum(b)}
	if n := len(j.file.Parts); j.number == n-1 && j.file.Parts[n-1] == p {
		return nil // as it was
	}
	if _, err := a.o.Client.Put(ctx, a.o.Bucket, s3.PartKey(a.dir(s.index.Session), a.o.Server, j.host, j.name, j.number, p), b, s3.Any); err != nil {
		return &storeError{err}
	}
	j.part, j.put = p, true
	return nil
}

func (a *Archive) read(s *session, j *job) ([]byte, error) {
	if j.whole {
		return a.o.Store.ReadDocument(s.index.Session, j.host, j.name, s.index.PartSize)
	}
	b := make([]byte, j.size)
	return b, a.o.Store.ReadFile(s.index.Session, j.host, j.name, b, int64(j.number)*s.index.PartSize)
}

// write replaces the index if it has changed, and then removes what it does not name any more.
func (a *Archive) write(ctx context.Context, name string, s *session) error {
	if !s.dirty {
		return nil
	}
	data, err := json.Marshal(s.index)
	if err != nil {
		return err
	}
	tag, err := a.o.Client.Put(ctx, a.o.Bucket, s3.IndexKey(a.dir(name), a.o.Server), data, s.tag)
	if errors.Is(err, s3.ErrChanged) {
		// An answer was lost, or another server has the same name. What is there counts.
		delete(a.sessions, name)
		for id := range a.seen {
			if id.session == name {
				delete(a.seen, id)
			}
		}
		return &storeError{fmt.Errorf("%w: it is read again; if this goes on, another server has the name %s: give it another by --name", err, a.o.Server)}
	}
	if err != nil {
		return &storeError{err}
	}
	s.tag, s.dirty = tag, false
	for _, key := range s.stale {
		if err := a.o.Client.Delete(ctx, a.o.Bucket, key); err != nil {
			a.o.Log("archive: a part that was replaced is left: %v", err)
		}
	}
	s.stale = nil
	return nil
}
