package view

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestAServerAnswersUntilItIsToldToStop(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0", "0.0.0.0:0"} {
		t.Run(address, func(t *testing.T) {
			s, err := Listen(address, &fake{title: "T", hosts: 1, top: 10, tileBytes: 4}, nil)
			if err != nil && strings.Contains(address, "::1") {
				t.Skip("no IPv6 here: ", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(ctx) }()
			get := func(url string) (int, string) {
				r, err := http.Get(url)
				if err != nil {
					t.Fatal(err)
				}
				defer r.Body.Close()
				b, err := io.ReadAll(r.Body)
				if err != nil {
					t.Fatal(err)
				}
				return r.StatusCode, string(b)
			}
			if status, page := get(s.URL()); status != 200 || !strings.Contains(page, "Meridian") {
				t.Errorf("%d %s", status, page)
			}
			if status, about := get(s.URL() + "api/about"); status != 200 || !strings.Contains(about, `"title":"T"`) {
				t.Errorf("%d %s", status, about)
			}
			stop()
			if err := <-ended; err != nil {
				t.Errorf("it ended with %v", err)
			}
			if r, err := http.Get(s.URL()); err == nil { // another program may have got the port
				r.Body.Close()
				if r.StatusCode == http.StatusOK {
					t.Error("it still answers")
				}
			}
		})
	}
}

func TestAnAddressThatIsTakenIsNamed(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, address := range []string{l.Addr().String(), "nowhere", "127.0.0.1:99999", "192.0.2.1:0"} {
		if _, err := Listen(address, &fake{}, nil); err == nil || !strings.Contains(err.Error(), address) {
			t.Errorf("%s: %v", address, err)
		}
	}
}

// connection is one that says its ends are others.
type connection struct {
	net.Conn
	local, remote net.Addr
}

func (p connection) LocalAddr() net.Addr  { return p.local }
func (p connection) RemoteAddr() net.Addr { return p.remote }

func TestOurOwnConnectionsAreNoStrangers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err := net.DialTimeout("tcp", l.Addr().String(), time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	if foreign(server) {
		t.Error("our own connection is another user's")
	}
	elsewhere := &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 5}
	if foreign(connection{server, server.LocalAddr(), elsewhere}) {
		t.Error("of a connection from another machine nothing is known")
	}
}

// TestNoPageOfAnotherSiteReadsATimelineWhereverItListens has a browser's requests made by pages that know the secret: what they lack is
// the site. The addresses are all that view --listen takes.
func TestNoPageOfAnotherSiteReadsATimelineWhereverItListens(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"127.0.0.1:0", "localhost:0", "[::1]:0", "0.0.0.0:0", "[::]:0", ":0"} {
		t.Run(address, func(t *testing.T) {
			t.Parallel()
			s, err := Listen(address, &fake{title: "secret words", hosts: 1, top: 10, tileBytes: 4}, nil)
			if err != nil && strings.Contains(address, "::") {
				t.Skip("no IPv6 here: ", err)
			}
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- s.Serve(ctx) }()
			defer func() {
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			}()
			for _, path := range []string{"", "api/about", "api/events", "api/tiles", "api/find", "api/live", "favicon.ico"} {
				for name, change := range map[string]func(r *http.Request){
					"a name that turns (DNS rebinding)": func(r *http.Request) { r.Host = "evil.example:" + r.URL.Port() },
					"a name that turns, with its origin": func(r *http.Request) {
						r.Host = "evil.example:" + r.URL.Port()
						r.Header.Set("Origin", "http://"+r.Host)
						r.Header.Set("Sec-Fetch-Site", "same-origin")
					},
					"a name that looks like the address": func(r *http.Request) { r.Host = "127.0.0.1.evil.example" },
					"fetch across sites":                 func(r *http.Request) { r.Header.Set("Origin", "https://evil.example") },
					"a script or an image":               func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "cross-site") },
					"another port's page":                func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", "same-site") },
					"a sandboxed frame":                  func(r *http.Request) { r.Header.Set("Origin", "null") },
					"a web socket": func(r *http.Request) {
						r.Header.Set("Origin", "https://evil.example")
						r.Header.Set("Connection", "Upgrade")
						r.Header.Set("Upgrade", "websocket")
					},
					"an event source": func(r *http.Request) {
						r.Header.Set("Accept", "text/event-stream")
						r.Header.Set("Sec-Fetch-Site", "cross-site")
						r.Header.Set("Sec-Fetch-Mode", "cors")
					},
					"a form":           func(r *http.Request) { r.Method = http.MethodPost },
					"without the path": func(r *http.Request) { r.URL.Path = "/" + path },
				} {
					r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL()+path, nil)
					if err != nil {
						t.Fatal(err)
					}
					change(r)
					answer, err := http.DefaultTransport.RoundTrip(r)
					if err != nil {
						t.Fatalf("%s of %q: %v", name, path, err)
					}
					b, err := io.ReadAll(answer.Body)
					answer.Body.Close()
					if err != nil || answer.StatusCode < 400 || strings.Contains(string(b), "secret words") || answer.Header.Get("Access-Control-Allow-Origin") != "" {
						t.Errorf("%s of %q: %s %.100q, %v", name, path, answer.Status, b, err)
					}
				}
			}
		})
	}
}
