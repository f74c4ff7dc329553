package view

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// Server serves one timeline to the browser of one person.
type Server struct {
	listener net.Listener
	guard    *guard
	server   http.Server
}

// Listen prepares to serve a timeline on HOST:PORT; port 0 stands for any that is free. Nothing is answered before Serve.
func Listen(address string, data Data) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %q: %w; want HOST:PORT, such as 127.0.0.1:8080", address, err)
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("cannot listen on %s: %w; choose another with --listen", address, err)
	}
	s := &Server{listener: l, guard: newGuard(host, Handler(data))}
	s.server = http.Server{
		Handler:           s.guard,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      2 * time.Minute, // a slow link, and whatever the search takes
		IdleTimeout:       5 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			return context.WithValue(ctx, peerKey{}, foreign(c))
		},
	}
	return s, nil
}

// peerKey is under which a connection's context says whether it is another user's.
type peerKey struct{}

func stranger(ctx context.Context) bool {
	is, _ := ctx.Value(peerKey{}).(bool)
	return is
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
