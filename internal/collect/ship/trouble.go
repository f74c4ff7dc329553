package ship

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Times of troubles.
const (
	troubleStays = 10 * time.Second // after a server failed last: a server that is full is asked each second, agrees, and fails with the next chunk
	shortAfter   = 10 * time.Second // with fewer servers than are wanted: servers that begin or are replaced take less
)

// troubles say for how long servers have failed to store this host, and why.
type troubles struct {
	servers map[string]trouble
	short   time.Time // since when fewer servers than are wanted store it; zero: as many do
}

type trouble struct {
	why         string
	since, last time.Time
}

// maxWhy bounds what is told of a server's words, bytes.
const maxWhy = 1024

// add notes that a server failed. It reports whether that is news.
func (t *troubles) add(server, why string, now time.Time) bool {
	why = strings.ToValidUTF8(why[:min(len(why), maxWhy)], "")
	x, known := t.servers[server]
	known = known && now.Sub(x.last) < troubleStays
	if !known {
		x.since = now
	}
	news := !known || x.why != why
	x.why, x.last = why, now
	if t.servers == nil {
		t.servers = make(map[string]trouble)
	}
	t.servers[server] = x
	return news
}

// count notes how many servers store the host.
func (t *troubles) count(open, wanted int, now time.Time) {
	switch {
	case open >= wanted:
		t.short = time.Time{}
	case t.short.IsZero():
		t.short = now
	}
}

// text says what is wrong, since when, and what mends it; "" for nothing. Instants are by this host's clock.
func (t *troubles) text(open, wanted int, now time.Time) string {
	var parts []string
	for _, server := range slices.Sorted(maps.Keys(t.servers)) {
		x := t.servers[server]
		if now.Sub(x.last) >= troubleStays {
			delete(t.servers, server)
			continue
		}
		parts = append(parts, fmt.Sprintf("server %s, since %s: %s", server, at(x.since), x.why))
	}
	if len(parts) == 0 && !t.short.IsZero() && now.Sub(t.short) >= shortAfter {
		parts = append(parts, fmt.Sprintf("since %s %d of %d servers store it: start another 'meridian server', or the agent with fewer --replicas", at(t.short), open, wanted))
	}
	return strings.Join(parts, "; ")
}

func at(t time.Time) string { return t.UTC().Format(time.RFC3339) }
