// Packets is an example: a program that keeps a live timeline as a trace, which babeltrace2, Trace Compass and Meridian read at any time.
//
//	meridian server --timeline on --> NATS --> this program --> DIR/TIMELINE/{metadata,stream}
//
//	go run ./examples/subscribe/packets [-server URL] SESSION DIR
//
// prints the directory of each timeline, and on stderr how many events it was too slow for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

func main() {
	server := flag.String("server", nats.DefaultURL, "the broker")
	flag.Parse()
	if flag.NArg() != 2 {
		fmt.Fprintln(os.Stderr, "usage: packets [-server URL] SESSION DIR")
		os.Exit(2)
	}
	if err := follow(*server, flag.Arg(0), flag.Arg(1)); err != nil {
		fmt.Fprintln(os.Stderr, "packets:", err)
		os.Exit(1)
	}
}

// follow keeps what a session publishes until the connection is closed.
func follow(server, session, dir string) error {
	c, err := nats.Connect(server, nats.MaxReconnects(-1))
	if err != nil {
		return err
	}
	defer c.Close()
	sub, err := c.SubscribeSync("meridian.v1.session." + session + ".events.ctf")
	timeline, next := "", 0
	for err == nil {
		var m *nats.Msg
		if m, err = sub.NextMsgWithContext(context.Background()); errors.Is(err, nats.ErrSlowConsumer) {
			err = nil // the numbers tell what is missing
			continue
		} else if err != nil || m.Header.Get("Meridian-First") == "" {
			continue // events are not encoded yet
		}
		first, _ := strconv.Atoi(m.Header.Get("Meridian-First"))
		events, _ := strconv.Atoi(m.Header.Get("Meridian-Events"))
		id := m.Header.Get("Meridian-Timeline")
		if id == "" || id != filepath.Base(id) || id[0] == '.' {
			return fmt.Errorf("%q is not the identity of a timeline", id)
		}
		if id == timeline && first > next {
			fmt.Fprintf(os.Stderr, "%d events missed\n", first-next)
		}
		if next = first + events; events == 0 {
			continue
		}
		if id != timeline { // numbers begin anew
			timeline = id
			fmt.Println(filepath.Join(dir, id))
		}
		err = keep(c, filepath.Join(dir, id), m)
	}
	return err
}

// keep appends a packet to its trace, after the metadata that describes it. Metadata grows at its end alone.
func keep(c *nats.Conn, dir string, m *nats.Msg) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	name := filepath.Join(dir, "metadata")
	need, _ := strconv.Atoi(m.Header.Get("Meridian-Metadata"))
	have, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		err = nil
	}
	for n := len(have); err == nil && n < need; {
		var more *nats.Msg
		if more, err = c.Request("meridian.v1.control.metadata."+filepath.Base(dir), []byte(strconv.Itoa(n)), 10*time.Second); err != nil {
			return err
		}
		if text := more.Header.Get("Nats-Service-Error"); text != "" || len(more.Data) == 0 {
			return fmt.Errorf("metadata: %s", text)
		}
		n += len(more.Data)
		err = extend(name, more.Data)
	}
	if err != nil {
		return err
	}
	return extend(filepath.Join(dir, "stream"), m.Data)
}

func extend(name string, data []byte) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}
