package trust

import (
	"errors"
	"math/rand/v2"
	"time"

	"github.com/nats-io/nats.go"
)

// A broker that reads its users anew refuses everyone who is connecting at that instant, whoever it is. Only one that refuses a key as often as this, at
// this distance, does not know it.
const (
	believedAfter = 3
	askedEvery    = 250 * time.Millisecond
)

// Connect connects to a broker. One that is there must fail several times to be believed, which takes half a second.
func Connect(urls string, options ...nats.Option) (*nats.Conn, error) {
	for failed := 1; ; failed++ {
		c, err := nats.Connect(urls, options...)
		if err == nil || failed >= Believed(err) {
			return c, err
		}
		time.Sleep(askedEvery + rand.N(askedEvery/4))
	}
}

// Believed returns how often a broker must refuse a connection with an error until it is believed.
func Believed(err error) int {
	if errors.Is(err, nats.ErrAuthorization) || !Refused(err) && !errors.Is(err, nats.ErrNoServers) {
		return believedAfter // the connection may be made at once
	}
	return 1
}
