package plainhttp

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/fuzztest"
	"meridian/internal/testseed"
)

// piece is bytes that went one way.
type piece struct {
	direction int
	data      []byte
}

// recorded is what went over a connection in both directions, in order.
type recorded struct {
	mu     sync.Mutex
	pieces []piece
}

type tappedConn struct {
	net.Conn
	to *recorded
}

func (c tappedConn) note(direction int, b []byte) {
	c.to.mu.Lock()
	defer c.to.mu.Unlock()
	c.to.pieces = append(c.to.pieces, piece{direction, slices.Clone(b)})
}

func (c tappedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.note(1, b[:n])
	}
	return n, err
}

func (c tappedConn) Write(b []byte) (int, error) {
	c.note(0, b)
	return c.Conn.Write(b)
}

// exchange lets net/http's client and server talk over one connection, and returns what went over it and what they did.
func exchange(t *testing.T, two bool) (*recorded, []string) {
	t.Helper()
	var protocols http.Protocols
	protocols.SetHTTP1(!two)
	protocols.SetUnencryptedHTTP2(two)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Protocols: &protocols, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		var status, size int
		_, _ = fmt.Sscanf(r.URL.Path, "/%d/%d", &status, &size)
		w.Header().Set("Trailer", "grpc-status")
		if size%2 == 0 && status != 204 && status != 304 {
			w.Header().Set("Content-Length", fmt.Sprint(size))
		}
		w.WriteHeader(status)
		_, _ = w.Write(make([]byte, size))
		w.Header().Set("grpc-status", "5")
	})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() { server.Close(); <-served }()
	to := &recorded{}
	transport := &http.Transport{Protocols: &protocols, MaxConnsPerHost: 1, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := (&net.Dialer{}).DialContext(ctx, network, address)
		return tappedConn{c, to}, err
	}}
	defer transport.CloseIdleConnections()
	var truth []string
	for i, c := range []struct {
		method       string
		status, size int
	}{{"GET", 200, 10}, {"POST", 201, 7001}, {"HEAD", 200, 100}, {"DELETE", 204, 0}, {"GET", 404, 60_000}, {"GET", 304, 0}, {"PUT", 500, 33}, {"GET", 200, 0}} {
		request, err := http.NewRequest(c.method, fmt.Sprintf("http://%s/%d/%d?number=%d", listener.Addr(), c.status, c.size, i), strings.NewReader(strings.Repeat("x", i*700)))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("X-Long", strings.Repeat("y", i*100))
		response, err := transport.RoundTrip(request)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
		truth = append(truth, fmt.Sprintf("%s /%d/%d?number=%d", c.method, c.status, c.size, i), fmt.Sprint(c.status))
	}
	return to, truth
}

// segments cuts pieces into segments of any length, of which the capture holds snap bytes each.
func segments(t *rapid.T, pieces []piece, snap int, see func(direction int, s Segment)) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	longest := rapid.SampledFrom([]int{30, 300, 3000}).Draw(t, "longest")
	next := [2]uint32{^uint32(0) - random.Uint32N(5000), 77}
	for _, p := range pieces {
		for b := p.data; len(b) > 0; {
			n := min(len(b), 1+random.IntN(longest))
			see(p.direction, Segment{Seq: next[p.direction], Length: uint32(n), Data: b[:min(n, snap)]})
			next[p.direction] += uint32(n)
			b = b[n:]
		}
	}
}

func names(items []Item) (list []string) {
	for _, i := range items {
		if i.What == Request || i.What == Response {
			list = append(list, i.Text)
		}
	}
	return list
}

func TestAllRequestsAndResponsesAreNamedHoweverSegmentsFall(t *testing.T) {
	t.Parallel()
	for _, two := range []bool{false, true} {
		wire, truth := exchange(t, two)
		testseed.Check(t, func(t *rapid.T) {
			var x Connections
			var got []string
			ends := 0
			segments(t, wire.pieces, 1<<20, func(direction int, s Segment) {
				items := x.Add(3, direction, s)
				got = append(got, names(items)...)
				for _, i := range items {
					if i.What == End {
						ends++
					}
				}
				if s.Seq%2 == 0 && len(x.Add(3, direction, s)) > 0 {
					t.Fatal("what was sent again counts twice")
				}
			})
			if !slices.Equal(got, truth) {
				t.Fatalf("HTTP/2 %v: got %q, want %q", two, got, truth)
			}
			if two && ends != len(truth) {
				t.Fatalf("%d ends of streams of %d", ends, len(truth))
			}
		})
	}
}

func TestWhatWasNotCapturedIsNeverNamedWrongly(t *testing.T) {
	t.Parallel()
	for _, two := range []bool{false, true} {
		wire, truth := exchange(t, two)
		named := 0
		testseed.Check(t, func(t *rapid.T) {
			var x Connections
			left := truth
			snap := rapid.IntRange(1, 400).Draw(t, "snap length")
			segments(t, wire.pieces, snap, func(direction int, s Segment) {
				if s.Seq%11 == 0 {
					return
				}
				for _, n := range names(x.Add(3, direction, s)) {
					if strings.HasSuffix(n, Unknown) {
						continue
					}
					i := slices.Index(left, n)
					if i < 0 {
						t.Fatalf("HTTP/2 %v, snap length %d: %q was not there, of %q", two, snap, n, left)
					}
					left = left[i+1:]
					named++
				}
			})
		})
		if named == 0 {
			t.Errorf("HTTP/2 %v: nothing was named", two)
		}
	}
}

func TestItemsAreReadAsTheyAreWritten(t *testing.T) {
	t.Parallel()
	testseed.Check(t, func(t *rapid.T) {
		var items []Item
		for range rapid.IntRange(0, 5).Draw(t, "items") {
			i := Item{Stream: rapid.Uint32Range(0, 1<<31-1).Draw(t, "stream"), What: What(rapid.IntRange(0, int(Interim)).Draw(t, "what"))}
			if i.What <= GRPC || i.What == Interim {
				i.Text = printable(rapid.StringN(1, 20, -1).Draw(t, "text"))
				if i.What == Request {
					i.Text = "GET " + printable(rapid.StringN(1, 20, -1).Draw(t, "path"))
				}
			}
			items = append(items, i)
		}
		if got := Parse(string(Append(nil, items))); !slices.Equal(got, items) {
			t.Fatalf("%+v became %+v", items, got)
		}
	})
}

func FuzzConnections(f *testing.F) {
	f.Add([]byte("GET / HTTP/1.1\r\n\r\n"), []byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"), uint32(7))
	f.Add([]byte(preface+"\x00\x00\x01\x01\x05\x00\x00\x00\x01\x82"), []byte("\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88"), uint32(3))
	requests, responses := fuzztest.Real(f, "*.request"), fuzztest.Real(f, "*.response")
	for i := range requests {
		f.Add(requests[i], responses[i], uint32(11+i))
	}
	testseed.Fuzz(f, func(t *testing.T, a, b []byte, seed uint32) {
		var x Connections
		for i, data := range [][]byte{a, b, a, b} {
			seq := seed * uint32(i/2)
			for len(data) > 0 {
				n := min(len(data), int(seed%97)+1)
				x.Add(1, i%2, Segment{Seq: seq, Length: uint32(n), Data: data[:n-n*int(seed%3)/5]})
				seq, data = seq+uint32(n), data[n:]
			}
		}
	})
}
