package broker

import (
	"maps"
	"slices"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"meridian/internal/collect/wire"
)

// Where a broker has users, a connection says who it is within identifyWithin. Anybody can open connections that never do. They take a quarter of all
// connections at most: what is more is closed at the next look. The addresses with the most connections give up theirs, the earliest first, so that
// a host with an address of its own has its time.

// unidentifiedShare is the part of all connections that those may have which have not said who they are: one in so many.
const unidentifiedShare = 4

// unidentified is how many connections may be there at a look that have not said who they are.
func (l Limits) unidentified() int { return max(l.Connections/unidentifiedShare, 1) }

// crowd is what was done to unidentified connections.
type crowd struct {
	told   time.Time
	closed int // since then
}

// closeUnidentified closes the connections beyond a limit that have not said who they are. All are in the order in which they came.
func (b *Broker) closeUnidentified(crowd *crowd, all []*server.ConnInfo, users map[string]wire.User, limit int) {
	count, most := make(map[string]int), ""
	for _, c := range all {
		if _, known := users[c.AuthorizedUser]; known {
			continue
		}
		if count[c.IP]++; count[c.IP] > count[most] {
			most = c.IP
		}
	}
	each := fairShare(count, limit)
	for _, c := range all {
		if _, known := users[c.AuthorizedUser]; known || count[c.IP] <= each {
			continue
		}
		count[c.IP]--
		if b.s.DisconnectClientByID(c.Cid) == nil { // else it has gone meanwhile
			crowd.closed++
		}
	}
	if now := time.Now(); crowd.closed > 0 && now.Sub(crowd.told) >= sayEvery {
		b.say("%d connections are closed that had not said who they are, most from %s: more than %d are not permitted at a time, a quarter of --max-connections",
			crowd.closed, most, limit)
		crowd.told, crowd.closed = now, 0
	}
}

// fairShare returns how many each may have of counts, so that all have a limit together at most: the largest number, but 1 at least.
func fairShare(counts map[string]int, limit int) int {
	left := limit
	for i, n := range slices.Sorted(maps.Values(counts)) { // those that have few leave their share to the others
		if share := left / (len(counts) - i); n > share {
			return max(share, 1)
		}
		left -= n
	}
	return limit
}
