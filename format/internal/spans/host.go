package spans

import (
	"strconv"

	"meridian/trace"
)

// hostNames are the attributes of a process that name the host whose clock stamped, best first: the machine, then what
// has one clock with it, then what is at least always on one machine.
var hostNames = []string{
	"host.name",           // OpenTelemetry
	"hostname",            // Jaeger's own clients
	"k8s.pod.name",        // where nothing tells the node
	"host.id",             //
	"ip",                  // Jaeger's own clients
	"service.instance.id", // one process
}

// Resource is what a file says of the process that its spans are of.
type Resource struct {
	service, instance string
	names             [6]string // by hostNames
	pid               int64
}

// Set takes note of an attribute.
func (r *Resource) Set(name string, v trace.Value) {
	text := ""
	switch v.Kind {
	case trace.Text:
		text = string(v.Data)
	case trace.Int:
		text = strconv.FormatInt(v.Int(), 10)
	}
	switch name {
	case "service.name":
		r.service = text
	case "service.instance.id":
		r.instance = text
	case "process.pid":
		if v.Kind == trace.Int {
			r.pid = v.Int()
		}
	}
	for i, n := range hostNames {
		if n == name {
			r.names[i] = text
		}
	}
}

// Host returns the name of the host: the first that [hostNames] finds, else the service's.
func (r *Resource) Host() string {
	for _, n := range r.names {
		if n != "" {
			return n
		}
	}
	return r.service
}

// ProcessOf returns the row of the process that a resource tells of.
func (s *Set) ProcessOf(r *Resource) Row { return s.Process(r.Host(), r.service, r.instance, r.pid) }
