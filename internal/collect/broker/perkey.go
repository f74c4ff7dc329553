package broker

import (
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"meridian/internal/collect/wire"
)

// A NATS server limits connections in all and of an account, not of a key. So the connections are looked at while there are more than one key may have,
// and of a key that has too many the latest are closed: whoever has got hold of it does not take the room of other keys.

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

// watchKeys closes connections that a key has too many of, until the broker is closed.
func (b *Broker) watchKeys() {
	defer close(b.ended)
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	limit := b.o.withDefaults().PerKey
	for {
		select {
		case <-b.stop:
			return
		case <-tick.C:
		}
		if b.s.NumClients() > limit {
			b.closeExcess(limit)
		}
	}
}

// closeExcess closes the latest connections of each key beyond a limit.
func (b *Broker) closeExcess(limit int) {
	// Unless a limit is given, 1024 connections are told.
	all, err := b.s.Connz(&server.ConnzOptions{Sort: server.ByCid, Username: true, Limit: b.o.withDefaults().Connections})
	if err != nil {
		return // the broker ends
	}
	b.mu.Lock()
	users := b.users
	b.mu.Unlock()
	count, closed := make(map[string]int), make(map[string]int)
	for _, c := range all.Conns { // in the order in which they came
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
		if b.o.Log != nil {
			b.o.Log("%s %s: its key has more than %d connections; the latest %d are closed", users[key].Role, users[key].Name, limit, n)
		}
	}
}
