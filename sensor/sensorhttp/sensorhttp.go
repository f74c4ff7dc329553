// Package sensorhttp makes messages of HTTP requests and replies: a client and a server that are wrapped in it say in their
// traces when each was sent and received, so that alignment puts both on one time base, and mark every request as a slice.
//
//	http.Handle("/", sensorhttp.Handler(mux))                         server
//	client := &http.Client{Transport: &sensorhttp.Transport{}}        client
//
// In goes what net/http hands on; out come events of package sensor, if they are switched on. A request carries a tag in
// the header Meridian-Tag, and its reply one of its own in the same header:
//
//	client                                                server
//	  http:request sends T    --- Meridian-Tag: T --->     http:request receives T     slice http:serve begins
//	  http:reply receives U   <--- Meridian-Tag: U ---     http:reply sends U          as the header is written
//
// A stamp lies on the safe side of what it tells of: before the first byte of the request can leave, once there is a
// connection for it, and after the header of the reply has come. A server answers with a tag only where there was one,
// so that browsers see nothing of it. All other headers, as W3C's traceparent, go through as they are. Who forwards
// requests wraps his transport too: else the tag of his client goes on to the server behind him, as if his client had
// sent it there. A reply tells nothing of its body: the slice at the client ends when the header is there.
//
// The cost with events off is a few loads. With events on it is four marks, two slices and two events of some ten
// nanoseconds each, and what a header costs: the server allocates its writer and the tag's text, the client also the copy
// of the request that http.RoundTripper asks for, and of its headers.
//
// The marks are those of BRISK (reason and consequence), with Dinkel's tags of process and count.
package sensorhttp

import (
	"net/http"

	"meridian/sensor"
)

// Header is the header that carries a tag.
const Header = "Meridian-Tag"

var (
	requests = sensor.NewMark("http", "request")
	replies  = sensor.NewMark("http", "reply")

	calls  = sensor.NewSlice3[string, string, string]("http", "call", "method", "host", "path")
	serves = sensor.NewSlice2[string, string]("http", "serve", "method", "path")

	// How a slice ended: its number, and the status; 0 where there was none, since the connection broke or was taken over.
	called = sensor.NewEvent2[uint64, int]("http", "called", "slice_id", "status")
	served = sensor.NewEvent2[uint64, int]("http", "served", "slice_id", "status")
)

// on says whether any of it is wanted: slices of one side, or marks.
func on(slices bool) bool { return slices || requests.Enabled() || replies.Enabled() }

// tagOf returns the tag in a header; none where there is no tag, no valid one, or several.
func tagOf(h http.Header) (sensor.Tag, bool) {
	v := h[Header]
	if len(v) != 1 {
		return sensor.Tag{}, false
	}
	t, err := sensor.ParseTag(v[0])
	return t, err == nil
}
