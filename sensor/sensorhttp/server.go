package sensorhttp

import (
	"net/http"

	"meridian/sensor"
)

// Handler returns a handler that records the requests which another one serves; nil stands for [http.DefaultServeMux].
func Handler(next http.Handler) http.Handler {
	if next == nil {
		next = http.DefaultServeMux
	}
	return &handler{next}
}

type handler struct{ next http.Handler }

func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !on(serves.Enabled()) {
		h.next.ServeHTTP(w, r)
		return
	}
	tag, tagged := tagOf(r.Header)
	if tagged {
		requests.Receive(tag.ID())
	}
	span := serves.Begin(r.Method, r.URL.Path)
	x := &writer{ResponseWriter: w, tagged: tagged}
	defer func() { // a handler may panic: net/http then closes the connection
		served.Emit(span.ID(), x.status)
		span.End()
	}()
	h.next.ServeHTTP(x.wrap(), r)
	x.leave(http.StatusOK) // the server writes the header of a handler that wrote nothing
}

// reply marks the reply, whose header goes next.
func (w *writer) reply() {
	if !w.tagged {
		return
	}
	tag := sensor.NewTag()
	w.value[0] = tag.String()
	w.Header()[Header] = w.value[:]
	replies.Send(tag.ID())
}
