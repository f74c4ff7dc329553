package sensorhttp

import (
	"net/http"
	"net/http/httptrace"
	"sync/atomic"

	"meridian/sensor"
)

// Transport is an http.RoundTripper that tags requests and sends them by another one. The zero value is ready. It is safe for
// concurrent use if Base is.
type Transport struct {
	Base http.RoundTripper // what sends the requests; nil stands for http.DefaultTransport
}

// call is one request on its way.
type call struct {
	tag   sensor.Tag
	value [1]string // of the header
	sent  atomic.Bool
	trace httptrace.ClientTrace
}

// RoundTrip sends a request and returns its reply. The request itself is not changed: a copy carries the tag.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	base := t.Base
	if base == nil {
		base = http.DefaultTransport
	}
	if !on(calls.Enabled()) {
		return base.RoundTrip(r)
	}
	c := &call{tag: sensor.NewTag()}
	c.value[0] = c.tag.String()
	ctx := r.Context()
	own, direct := base.(*http.Transport)
	if direct = direct && own != nil; direct {
		c.trace.GotConn = func(httptrace.GotConnInfo) { c.send() }
		ctx = httptrace.WithClientTrace(ctx, &c.trace)
	}
	out := r.WithContext(ctx) // a RoundTripper must leave the request that it was given alone
	out.Header = r.Header.Clone()
	if out.Header == nil {
		out.Header = http.Header{}
	}
	out.Header[Header] = c.value[:]

	span := calls.Begin(r.Method, r.URL.Host, r.URL.Path)
	if !direct { // other transports may not report when they have a connection
		c.send()
	}
	reply, err := base.RoundTrip(out)
	status := 0
	if err == nil {
		status = reply.StatusCode
		if u, ok := tagOf(reply.Header); ok {
			replies.Receive(u.ID())
		}
	}
	called.Emit(span.ID(), status)
	span.End()
	return reply, err
}

// send marks the request. A transport whose connection turns out to be closed takes another and sends the request again: only
// the first send is marked, since a tag has one sender.
func (c *call) send() {
	if !c.sent.Swap(true) {
		requests.Send(c.tag.ID())
	}
}
