package wire

import (
	"fmt"
	"strings"
)

// Subjects. An agent publishes below the subject of its own host and nowhere else, so permissions of the broker say who is who.
//
//	meridian.v1.host.HOST.data             chunks, for all servers that store the host
//	meridian.v1.host.HOST.fill.SERVER      chunks for one server that has less than the others
//	meridian.v1.host.HOST.open.SERVER      request: store this host; answered with what the server has
//	meridian.v1.host.HOST.ack              acks of the servers
//	meridian.v1.host.HOST.plan             which hosts exchange clock probes with this one, and the key of the session
//	meridian.v1.host.HOST.alive            status of the agent, each second
//	meridian.v1.host.HOST.inbox.*          answers to the agent's requests
//	meridian.v1.host.HOST.command          request: what a server asks of the agent
//	meridian.v1.host.HOST.run.open         an operator wants a host process for an experiment
//	meridian.v1.host.HOST.run.in.RUN       frames of its stream to the agent
//	meridian.v1.host.HOST.run.out.RUN      frames of its stream to the operator
//	meridian.v1.host.HOST.captures.open    an operator wants to align captures that stay on the host
//	meridian.v1.host.HOST.captures.in.RUN  frames of its stream to the agent
//	meridian.v1.host.HOST.captures.out.RUN frames of its stream to the operator
//	meridian.v1.server.SERVER.alive        status of a server, twice a second
//	meridian.v1.server.SERVER.session      a session that an operator started or stopped, for the other servers
//
// Operators ask servers:
//
//	meridian.v1.control.start              start a session; one server answers when its hosts have
//	meridian.v1.control.stop               stop it
//	meridian.v1.control.around             have hosts send what they recorded in a span; one server answers how far they are
//	meridian.v1.control.sessions           how sessions stand; each server answers
//	meridian.v1.control.files              the files of a host in a session; each server answers
//	meridian.v1.control.read.SERVER        a range of one of them
//	meridian.v1.control.metadata.TIMELINE  what describes the CTF packets of a timeline, from an offset on
//
// Operators read what servers publish of their sessions:
//
//	meridian.v1.session.SESSION.events.json    events of the timeline, a JSON object each on a line
//	meridian.v1.session.SESSION.events.ctf     the same events, a CTF packet in each message
//	meridian.v1.session.SESSION.hosts          state of the timeline and its hosts, each second
const (
	root     = "meridian.v1."
	hosts    = root + "host."
	servers  = root + "server."
	sessions = root + "session."
	control  = root + "control."
)

// Subjects of all hosts or servers, for those who listen to everybody.
const (
	AllAgentsAlive  = hosts + "*.alive"
	AllServersAlive = servers + "*.alive"
	AllSessionHosts = sessions + "*.hosts"
	// AllSessionRecords is what servers tell each other of sessions.
	AllSessionRecords = servers + "*.session"
)

// Subjects of operators' requests.
const (
	ControlStart    = control + "start"
	ControlStop     = control + "stop"
	ControlAround   = control + "around"
	ControlSessions = control + "sessions"
	ControlFiles    = control + "files"
)

// ReadFrom returns the subject of requests for ranges of files that a server has.
func ReadFrom(server string) string { return control + "read." + Token(server) }

// ControlQueue is the queue group of which one server answers requests to start and stop.
const ControlQueue = "servers"

// OfHost returns the subject of a host that agents publish to or listen on, such as "data".
func OfHost(host, what string) string { return hosts + Token(host) + "." + what }

// OfHostServer returns the subject by which an agent speaks to one server: "fill" or "open".
func OfHostServer(host, what, server string) string { return OfHost(host, what) + "." + Token(server) }

// OpenToServer returns the subject of all requests of hosts to store them that are addressed to a server.
func OpenToServer(server string) string { return hosts + "*.open." + Token(server) }

// ServerAlive returns the subject of a server's status.
func ServerAlive(server string) string { return servers + Token(server) + ".alive" }

// SessionRecord returns the subject of what a server tells others of sessions.
func SessionRecord(server string) string { return servers + Token(server) + ".session" }

// IsSessionRecord reports whether a subject is one of [AllSessionRecords].
func IsSessionRecord(subject string) bool {
	return strings.HasPrefix(subject, servers) && strings.HasSuffix(subject, ".session")
}

// HostOf returns the host that a subject is of, as the broker has let the sender publish it.
func HostOf(subject string) (string, error) {
	rest, ok := strings.CutPrefix(subject, hosts)
	token, _, more := strings.Cut(rest, ".")
	if !ok || !more {
		return "", fmt.Errorf("subject %q is of no host", subject)
	}
	host, err := Name(token)
	if err != nil {
		return "", err
	}
	return host, CheckHost(host)
}

// What servers publish of a session.
const (
	EventsJSON   = "events.json"
	EventsCTF    = "events.ctf"
	SessionHosts = "hosts"
)

// MetadataOf returns the subject of requests for the metadata of a timeline's CTF packets.
func MetadataOf(timeline string) string { return control + "metadata." + timeline }

// OfSession returns a subject of a session.
func OfSession(session, what string) string { return sessions + Token(session) + "." + what }

// Headers of the messages with events. Numbers of events count from 1 in each timeline; a gap is what the subscriber missed.
const (
	HeaderTimeline = "Meridian-Timeline" // the identity of the timeline: numbers of another one begin anew
	HeaderServer   = "Meridian-Server"   // that publishes it
	HeaderSequence = "Meridian-Sequence" // of the message on its subject, from 1
	HeaderFirst    = "Meridian-First"    // number of the first event in it, or of the next one where it has none
	HeaderEvents   = "Meridian-Events"   // how many events it has
	HeaderMetadata = "Meridian-Metadata" // of a CTF packet: how many bytes of the metadata describe it
)
