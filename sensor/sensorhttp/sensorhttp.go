// Package sensorhttp records HTTP requests and replies as messages. A client and a server that are wrapped in it record in their
// traces when each was sent and received, so that alignment puts both on one time base, and every request as a slice.
//
//	http.Handle("/", sensorhttp.Handler(mux))                         server
//	client := &http.Client{Transport: &sensorhttp.Transport{}}        client
//
// The events are those of package sensor, written if they are switched on. A request carries a tag in the header Meridian-Tag,
// and its reply a tag of its own in the same header:
//
//	client                                                server
//	  http:request sends T    --- Meridian-Tag: T --->     http:request receives T     slice http:serve begins
//	  http:reply receives U   <--- Meridian-Tag: U ---     http:reply sends U          as the header is written
//
// The stamp of a send is before the first byte can leave (but after a connection was found), and the stamp of a receive is after
// the header has come: so the delay is never recorded too short by the middleware. A server replies with a tag only to a
// tagged request, so that browsers see none. All other headers, such as W3C's traceparent, are left alone. A proxy must wrap
// its own transport too: otherwise the tag of its client goes on to the next server, as if that client had sent it there. The
// slice at the client ends when the header of the reply has come, not its body.
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

// on reports whether any of the events is switched on: the slices of one side, or marks.
func on(slices bool) bool { return slices || requests.Enabled() || replies.Enabled() }

// tagOf returns the tag in a header, and false if there is none, no valid one, or several.
func tagOf(h http.Header) (sensor.Tag, bool) {
	v := h[Header]
	if len(v) != 1 {
		return sensor.Tag{}, false
	}
	t, err := sensor.ParseTag(v[0])
	return t, err == nil
}
