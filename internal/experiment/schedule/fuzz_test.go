package schedule

import (
	"bytes"
	"testing"

	"meridian/internal/experiment/place"
	"meridian/internal/testseed"
)

// FuzzRead reads what a host says to its controller. Each line is a report, or the error that ends the host; the last is always an error.
func FuzzRead(f *testing.F) {
	f.Add([]byte("{\"hello\":{\"version\":1}}\n{\"failed\":\"x\"}\n"))
	f.Add([]byte("{\"hello\":7}\n{}\n"))
	f.Add([]byte("null\n"))
	f.Add([]byte{})
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		c := &controller{events: make(chan event, len(data)+2), done: make(chan struct{})}
		s := &seat{Seat: &place.Seat{Host: "a", Out: bytes.NewReader(data)}}
		c.read(s)
		close(c.events)
		ended := false
		for e := range c.events {
			if ended || e.from != s || (e.report == nil) != (e.err != nil) {
				t.Fatalf("%+v, ended %t", e, ended)
			}
			ended = e.err != nil
		}
		if !ended {
			t.Error("no end")
		}
	})
}
