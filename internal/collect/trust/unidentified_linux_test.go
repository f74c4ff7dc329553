package trust_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"meridian/internal/collect/broker"
)

// lurk opens a connection from an address that never says who it is. The channel gets a word when the broker closes it.
func lurk(t *testing.T, b *broker.Broker, from string) (closed chan error) {
	t.Helper()
	_, address, _ := strings.Cut(b.URL(), "://")
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}).Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Read(make([]byte, 1)); err != nil { // the broker has taken it
		t.Fatal(err)
	}
	closed = make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, c)
		closed <- err
	}()
	return closed
}

func TestConnectionsThatDoNotSayWhoTheyAreTakeNoRoomOfOthers(t *testing.T) {
	m := initialise(t)
	web := m.invite("web")
	config, err := m.TLS()
	if err != nil {
		t.Fatal(err)
	}
	said := make(chan string, 100)
	b, err := broker.Start(broker.Options{Listen: "127.0.0.1:0", Name: "test", Users: m.users(), TLS: config, Limits: broker.Limits{Connections: 16},
		Log: func(format string, _ ...any) { said <- format }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	first, err := dial(t, b, web)
	if err != nil {
		t.Fatal(err)
	}
	const lurking, permitted = 12, 4
	begun := time.Now()
	slow := lurk(t, b, "127.0.0.1") // a host that needs its time
	var closed [lurking]chan error
	for i := range closed {
		closed[i] = lurk(t, b, "127.0.0.2")
	}
	for i := range lurking - (permitted - 1) { // those that came first
		select {
		case <-closed[i]:
		case <-time.After(60 * time.Second):
			t.Fatalf("connection %d stays", i)
		}
	}
	var early []string
	for i, c := range append(closed[lurking-(permitted-1):], slow) {
		select {
		case err := <-c:
			early = append(early, fmt.Sprintf("connection %d of those that may stay is closed: %v", i, err))
		default:
		}
	}
	if time.Since(begun) < 10*time.Second && early != nil { // the broker closes all that have not said who they are after 12 s
		t.Error(early)
	}
	for told := false; !told; { // the broker has other lines to say
		select {
		case text := <-said:
			told = strings.Contains(text, "had not said who they are")
		case <-time.After(60 * time.Second):
			t.Fatal("nothing is said of connections that were closed")
		}
	}
	if _, err := dial(t, b, web); errors.Join(err, first.Flush()) != nil {
		t.Errorf("a host with a key: %v", err)
	}
}
