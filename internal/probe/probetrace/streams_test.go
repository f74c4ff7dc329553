package probetrace

import (
	"context"
	"net/netip"
	"slices"
	"testing"
	"time"

	"meridian/internal/probe"
	"meridian/internal/record"
)

// written is a writer and the streams of the events that it has passed on.
func written(t *testing.T) (w *Writer, streams func() []string) {
	t.Helper()
	w = NewSource()
	var got []int
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- w.Read(ctx, func(e *record.Event) error {
			got = append(got, e.Stream)
			return nil
		})
	}()
	<-w.Ready()
	return w, func() (names []string) {
		cancel()
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		for _, s := range got {
			names = append(names, w.Streams()[s].Name)
		}
		return names
	}
}

// sent is the stamp of a datagram to a peer.
func sent(peer string, at int64) probe.Event {
	return probe.Event{Send: true, Peer: netip.MustParseAddrPort(peer), Stamp: probe.Stamp{Monotonic: at}}
}

func lost(w *Writer) (n uint64) {
	for _, x := range w.Lost() {
		n += x
	}
	return n
}

// Several hosts behind one address are several sockets here, whose stamps come in any order.
func TestHostsBehindOneAddressLoseNoProbes(t *testing.T) {
	w, streams := written(t)
	for at := int64(1000); at < 2000; at += 10 {
		w.Record(sent("10.0.0.2:4123", at+5))
		w.Record(sent("10.0.0.2:4124", at))
		w.Record(sent("[fd00::2]:4123", at-5))
	}
	names := streams()
	if n := lost(w); n > 0 || len(names) != 300 {
		t.Errorf("%d probes are written, %d lost, of 300", len(names), n)
	}
	if want := []string{"probes to 10.0.0.2", "probes to 10.0.0.2 (2)", "probes to fd00::2"}; !slices.Equal(names[:3], want) {
		t.Errorf("streams %q", names[:3])
	}
}

// A client that begins anew has another port. It gets the streams of the old one when that has been silent for a minute.
func TestClientsThatBeginAnewAddNoStreamsWithoutEnd(t *testing.T) {
	w, streams := written(t)
	at := int64(time.Hour)
	for port := range uint16(100) {
		peer := netip.AddrPortFrom(netip.MustParseAddr("10.0.0.2"), 5000+port).String()
		w.Record(sent(peer, at))
		w.Record(sent(peer, at+1))
		if at += int64(time.Minute) / 2; port%4 == 3 {
			at += int64(2 * time.Minute)
		}
	}
	names := streams()
	if n := len(w.Streams()); n > 2*4 || n < 2*2 {
		t.Errorf("%d streams: %v", n, w.Streams())
	}
	if n := lost(w); n > 0 || len(names) != 200 {
		t.Errorf("%d probes are written, %d lost, of 200", len(names), n)
	}
}

func TestStreamsOfProbesAreBounded(t *testing.T) {
	w, streams := written(t)
	const peers = 3 * maxPeers
	for i := range peers {
		at := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 4123)
		w.Record(sent(at.String(), int64(1000+i)))
	}
	names := streams()
	if n := len(w.Streams()); n != 2*maxPeers+2 {
		t.Errorf("%d streams", n)
	}
	if last := names[len(names)-1]; len(names) != peers || last != "probes to others" {
		t.Errorf("%d of %d probes are written, the last to %q", len(names), peers, last)
	}
}
