package collect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"meridian/internal/collect/wire"
)

// Limits of an answer to [wire.Open] with Look.
const (
	lookWithin = 4 * time.Second // for the archive to answer; the agent waits for 5 s
	lookNames  = 128 << 10       // bytes of names, which JSON may make twice as long
	lookFiles  = 2048
)

// look says how much of each file of a host is on the disk or in the archive. Nothing is stored.
func (s *Server) look(ctx context.Context, name string, request *wire.Open) (answer wire.Opened, err error) {
	have, err := s.o.Store.Has(request.Session, name, request.Trace)
	if err != nil {
		return answer, err
	}
	if s.o.Archived != nil {
		ctx, cancel := context.WithTimeout(ctx, lookWithin)
		defer cancel()
		archived, err := s.o.Archived(ctx, request.Session, name, request.Trace)
		if err != nil {
			return answer, fmt.Errorf("host %s: what the archive has of it is not known: %w", name, err)
		}
		for file, bytes := range archived {
			have[file] = max(have[file], bytes)
		}
	}
	size := 0
	for _, file := range slices.Sorted(maps.Keys(have)) {
		if file <= request.After {
			continue
		}
		if size > lookNames || len(answer.Files) >= lookFiles {
			answer.More = true
			break
		}
		size += len(file)
		x := wire.State{Name: file, Have: have[file]}
		if file == wire.Metadata {
			if x.Sum, err = s.o.Store.SumOf(request.Session, name, file); err != nil {
				return answer, err
			}
		}
		answer.Files = append(answer.Files, x)
	}
	return answer, nil
}

// letGoEach is after how many statuses it is looked whether directories were removed.
const letGoEach = 4

// letGo tells agents whose directories somebody has removed. They begin anew.
func (s *Server) letGo() {
	gone, err := s.o.Store.LetGo()
	if err != nil {
		s.o.Log("%v", err)
	}
	for _, h := range gone {
		s.mu.Lock()
		if x := s.stored[h.Name]; x != nil && x.host == h {
			x.end()
			delete(s.stored, h.Name)
		}
		s.mu.Unlock()
		s.complaints.about(h.Name, "%s was removed", s.o.Store.Dir(h.Session, h.Name))
		s.ack(h, wire.Ack{Error: "its directory was removed: " + s.o.Store.Dir(h.Session, h.Name)})
	}
}
