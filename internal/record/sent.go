package record

import (
	"cmp"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"meridian/internal/spool"
)

// sent is what servers have of a trace that an agent sends, as that says once a second (package spool). Without an agent it is nothing.
type sent struct {
	dir   string
	read  uint64 // MONOTONIC, when it was read
	files map[string]spool.Part
}

// sentAge is how old what was read may be, ns.
const sentAge = uint64(time.Second)

// order returns chunks in the order in which they go where the disk is short: those that servers have, packets, events, probes; of each
// the oldest first, as they are given.
func (s *sent) order(chunks []*chunk, now uint64) []*chunk {
	if s.files == nil || now-s.read >= sentAge {
		s.read = now
		// Without an account nothing was sent. One that cannot be read is a matter of the agent, which says so.
		account, _ := spool.Read(s.dir)
		s.files = account.Files
	}
	out := slices.Clone(chunks)
	slices.SortStableFunc(out, func(a, b *chunk) int { return cmp.Compare(s.rank(a), s.rank(b)) })
	return out
}

func (s *sent) rank(c *chunk) int {
	switch {
	case s.has(c):
		return 0
	case c.row == packetFiles:
		return 1
	case strings.HasPrefix(filepath.Base(c.path), "probes_"):
		return 3
	}
	return 2
}

// has reports whether servers have all of a chunk, to which nothing is added any more.
func (s *sent) has(c *chunk) bool {
	if c.owner != nil {
		return false
	}
	name := filepath.Base(c.path)
	if c.row == packetFiles {
		name = packetFiles + "/" + name
	}
	return c.Bytes > 0 && s.files[name].Acknowledged >= int64(c.Bytes)
}
