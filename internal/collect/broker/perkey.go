package broker

import (
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"meridian/internal/collect/wire"
)

// A NATS server limits connections in all and of an account: not of a key, and not of those that have not said yet who they are. So the connections are
// looked at while there are more than one key may have. Of a key that has too many the latest are closed: whoever has got hold of it does not take the
// room of other keys. unidentified.go has the others.

// lookEvery is how often connections are counted.
const lookEvery = 500 * time.Millisecond

func (b *Broker) setKeys(users []wire.User) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users = make(map[string]wire.User, len(users))
	for _, u := range users {
		b.users[u.Key] = u
	}
}

// watchConnections closes connections that there are too many of, until the broker is closed.
func (b *Broker) watchConnections() {
	defer close(b.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	limits := b.o.withDefaults()
	var crowd crowd
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
		}
		if b.s.NumClients() <= min(limits.PerKey, limits.unidentified()) {
			continue
		}
		// Unless a limit is given, 1024 connections are told.
		all, err := b.s.Connz(&server.ConnzOptions{Sort: server.ByCid, Username: true, Limit: limits.Connections})
		if err != nil {
			return // the broker ends
		}
		b.mu.Lock()
		users := b.users
		b.mu.Unlock()
		b.closeExcess(all.Conns, users, limits.PerKey)
		if len(users) > 0 {
			b.closeUnidentified(&crowd, all.Conns, users, limits.unidentified())
		}
	}
}

// closeExcess closes the latest connections of each key beyond a limit. All are in the order in which they came.
func (b *Broker) closeExcess(all []*server.ConnInfo, users map[string]wire.User, limit int) {
	count, closed := make(map[string]int), make(map[string]int)
	for _, c := range all {
		u, known := users[c.AuthorizedUser]
		if !known || u.Role == wire.ServerRole {
			continue
		}
		if count[u.Key]++; count[u.Key] <= limit {
			continue
		}
		if b.s.DisconnectClientByID(c.Cid) == nil { // else it has gone meanwhile
			closed[u.Key]++
		}
	}
	for key, n := range closed {
		b.say("%s %s: its key has more than %d connections; the latest %d are closed", users[key].Role, users[key].Name, limit, n)
	}
}

// say tells people something.
func (b *Broker) say(format string, args ...any) {
	if b.o.Log != nil {
		b.o.Log(format, args...)
	}
}
