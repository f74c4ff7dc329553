package view

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"time"
)

// Server serves one timeline to the browser of one person.
type Server struct {
	listener net.Listener
	guard    *guard
	server   http.Server
}

// Listen prepares to serve a timeline on HOST:PORT; port 0 stands for any that is free. Its notes are kept in a file, unless that is nil.
// Nothing is answered before Serve.
func Listen(address string, data Data, notes *NoteFile) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w; want HOST:PORT, such as 127.0.0.1:8080", address, err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another with --listen", address, err)
	}
	s := &Server{listener: l, guard: newGuard(host, HandlerWithNotes(data, notes))}
	s.guard.writes = notes != nil
	s.server = http.Server{
		Handler:           s.guard,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      2 * time.Minute, // a slow link, and whatever the search takes
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, peerOf(c))
		},
	}
	return s, nil
}

// peer is who is at the other end of a connection, as far as that is known.
type peer struct {
	stranger bool // another user of this machine
	here     bool // this machine
}

// peerKey is under which a connection's context has its peer.
type peerKey struct{}

func peerOf(c net.Conn) peer {
	local, ok1 := addressOf(c.LocalAddr())
	remote, ok2 := addressOf(c.RemoteAddr())
	return peer{foreign(c), ok1 && ok2 && (remote.Addr().IsLoopback() || local.Addr() == remote.Addr())}
}

func addressOf(a net.Addr) (netip.AddrPort, bool) {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}, false
	}
	p := t.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap().WithZone(""), p.Port()), true
}

// ofPeer returns the peer of a request's connection; of one without, nothing is known.
func ofPeer(ctx context.Context) peer {
	p, _ := ctx.Value(peerKey{}).(peer)
	return p
}

// URL is the address of the page, secret included. For a server that listens everywhere it is that on this machine.
func (s *Server) URL() string {
	addr := s.listener.Addr().(*net.TCPAddr)
	host := addr.IP.String()
	switch {
	case addr.IP.IsUnspecified() && addr.IP.To4() != nil:
		host = "127.0.0.1"
	case addr.IP.IsUnspecified():
		host = "::1"
	}
	return "http://" + net.JoinHostPort(host, fmt.Sprint(addr.Port)) + s.guard.path()
}

// Close gives the address back; Serve does so itself.
func (s *Server) Close() error { return s.listener.Close() }

// Serve answers until ctx ends, which is no error; then it lets answers under way be finished, for a second.
func (s *Server) Serve(ctx context.Context) error {
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		patience, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if s.server.Shutdown(patience) != nil {
			s.server.Close()
		}
	})
	err := s.server.Serve(s.listener)
	if stop() { // ctx has not ended: serving failed by itself
		s.server.Close()
		return fmt.Errorf("serving the timeline: %w", err)
	}
	<-stopped
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
