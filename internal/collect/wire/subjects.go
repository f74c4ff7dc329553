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
//	meridian.v1.host.HOST.alive            status of the agent, each second
//	meridian.v1.host.HOST.inbox.*          answers to the agent's requests
//	meridian.v1.host.HOST.command          request: what a server asks of the agent
//	meridian.v1.server.SERVER.alive        status of a server, twice a second
const (
	root    = "meridian.v1."
	hosts   = root + "host."
	servers = root + "server."
)

// Subjects of all hosts or servers, for those who listen to everybody.
const (
	AllAgentsAlive  = hosts + "*.alive"
	AllServersAlive = servers + "*.alive"
)

// OfHost returns the subject of a host that agents publish to or listen on, such as "data".
func OfHost(host, what string) string { return hosts + Token(host) + "." + what }

// OfHostServer returns the subject by which an agent speaks to one server: "fill" or "open".
func OfHostServer(host, what, server string) string { return OfHost(host, what) + "." + Token(server) }

// OpenToServer returns the subject of all requests of hosts to store them that are addressed to a server.
func OpenToServer(server string) string { return hosts + "*.open." + Token(server) }

// ServerAlive returns the subject of a server's status.
func ServerAlive(server string) string { return servers + Token(server) + ".alive" }

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
