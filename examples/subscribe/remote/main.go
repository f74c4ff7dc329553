// Remote is an example: a program that reads a live timeline from a broker, on any machine.
//
//	meridian server --timeline on --> NATS --> this program
//	                         --http ADDRESS --> subscribe.py
//
//	go run ./examples/subscribe/remote [-server URL] SESSION
//
// prints a JSON object for each event, and on stderr how many it was too slow for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/nats-io/nats.go"
)

func main() {
	server := flag.String("server", nats.DefaultURL, "the broker")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: remote [-server URL] SESSION")
		os.Exit(2)
	}
	if err := follow(*server, flag.Arg(0), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "remote:", err)
		os.Exit(1)
	}
}

// follow prints the events of a session until the connection is closed. Numbers of events begin anew with each timeline.
func follow(server, session string, events, missed io.Writer) error {
	c, err := nats.Connect(server, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer c.Close()
	sub, err := c.SubscribeSync("meridian.v1.session." + session + ".events.json")
	timeline, next := "", uint64(0)
	for err == nil {
		var m *nats.Msg
		if m, err = sub.NextMsgWithContext(context.Background()); errors.Is(err, nats.ErrSlowConsumer) {
			err = nil // the numbers tell what is missing
			continue
		} else if err != nil || m.Header.Get("Meridian-First") == "" {
			continue // of a session of which events are not encoded yet
		}
		first, _ := strconv.ParseUint(m.Header.Get("Meridian-First"), 10, 64)
		count, _ := strconv.ParseUint(m.Header.Get("Meridian-Events"), 10, 64)
		if id := m.Header.Get("Meridian-Timeline"); id == timeline && first > next {
			fmt.Fprintf(missed, "%d events missed\n", first-next)
		} else {
			timeline = id
		}
		next = first + count
		_, err = events.Write(m.Data)
	}
	return err
}
