package spans

import (
	"slices"
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

// ServiceName is the attribute that names a host where no other does. It names a service, which may have several
// processes on several hosts.
const ServiceName = trace.ServiceName

// distinguishing are further attributes by which processes of one name may differ, for advice.
var distinguishing = []string{"k8s.node.name", "k8s.pod.uid", "container.id", "process.pid", ServiceName}

// Resource is what a file says of the process that its spans are of.
type Resource struct {
	// HostAttributes are the attributes that name the host, best first; those of hostNames follow.
	HostAttributes []string

	service, instance string
	pid               int64
	names             map[string]string // those that may name the host, and distinguishing
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
	case ServiceName:
		r.service = text
	case "service.instance.id":
		r.instance = text
	case "process.pid":
		if v.Kind == trace.Int {
			r.pid = v.Int()
		}
	}
	if text != "" && (slices.Contains(hostNames, name) || slices.Contains(distinguishing, name) || slices.Contains(r.HostAttributes, name)) {
		if r.names == nil {
			r.names = make(map[string]string)
		}
		r.names[name] = text
	}
}

// Host returns the name of the host: that of the first of HostAttributes and then of [hostNames] that the resource has,
// else the service's.
func (r *Resource) Host() string {
	name, _ := r.host()
	return name
}

// host returns the name of the host and the attribute that has it.
func (r *Resource) host() (name, attribute string) {
	for _, list := range [2][]string{r.HostAttributes, hostNames} {
		for _, a := range list {
			if n := r.names[a]; n != "" {
				return n, a
			}
		}
	}
	return r.service, ServiceName
}

// ProcessOf returns the row of the process that a resource tells of. The spans that are added next with it are of this
// resource.
func (s *Set) ProcessOf(r *Resource) Row {
	host, by := r.host()
	row := s.Process(host, r.service, r.instance, r.pid)
	row.Resource = len(s.marks.Resources)
	s.marks.Resources = append(s.marks.Resources, trace.SpanResource{Host: row.Host, Service: r.service, NamedBy: by, Attributes: r.names})
	return row
}
