package sensorhttp

import (
	"bufio"
	"io"
	"net"
	"net/http"
)

// writer notes when the header of a reply is written.
type writer struct {
	http.ResponseWriter
	tagged  bool // so was the request, and so will the reply be
	replied bool
	status  int       // 0 until the header is written
	value   [1]string // of the reply's header
}

// Unwrap is what http.ResponseController asks for.
func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) WriteHeader(status int) {
	w.leave(status)
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) Write(p []byte) (int, error) {
	w.leave(http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// leave marks the reply if its header goes now. Those with status 1xx are only announcements, all but the switch to
// another protocol, after which no other comes.
func (w *writer) leave(status int) {
	if w.replied || status < http.StatusOK && status != http.StatusSwitchingProtocols {
		return
	}
	w.replied, w.status = true, status
	w.reply()
}

// wrap returns w with those of the other writer's abilities that handlers ask for by a type assertion. The combinations
// are those of net/http: HTTP/1 flushes, hijacks and copies files, HTTP/2 flushes and pushes. Any other writer's abilities
// are found by http.ResponseController.
func (w *writer) wrap() http.ResponseWriter {
	_, flushes := w.ResponseWriter.(http.Flusher)
	_, hijacks := w.ResponseWriter.(http.Hijacker)
	_, copies := w.ResponseWriter.(io.ReaderFrom)
	_, pushes := w.ResponseWriter.(http.Pusher)
	switch {
	case flushes && hijacks && copies:
		return http1Writer{w}
	case flushes && pushes:
		return http2Writer{w}
	case flushes:
		return flusher{w}
	}
	return w
}

// flusher is a writer that flushes.
type flusher struct{ *writer }

func (w flusher) Flush() { w.flush() }

func (w *writer) flush() {
	w.leave(http.StatusOK) // if nothing was written so far, the header goes now
	w.ResponseWriter.(http.Flusher).Flush()
}

// http1Writer is a writer of HTTP/1.
type http1Writer struct{ *writer }

func (w http1Writer) Flush() { w.flush() }

func (w http1Writer) ReadFrom(r io.Reader) (int64, error) {
	w.leave(http.StatusOK)
	return w.ResponseWriter.(io.ReaderFrom).ReadFrom(r)
}

// Hijack takes over the connection. What the handler then writes to it is not marked as a reply.
func (w http1Writer) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, b, err := w.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil {
		w.replied = true
	}
	return c, b, err
}

// http2Writer is a writer of HTTP/2.
type http2Writer struct{ *writer }

func (w http2Writer) Flush() { w.flush() }

func (w http2Writer) Push(target string, o *http.PushOptions) error {
	return w.ResponseWriter.(http.Pusher).Push(target, o)
}
