package wire

import (
	"fmt"
	"strings"
)

// Role is what a user of the broker is there for.
type Role string

// Roles.
const (
	HostRole     Role = "host"     // an agent: it may speak for one host
	OperatorRole Role = "operator" // a person at 'meridian server hosts' and the like: it may see all and ask servers
	ServerRole   Role = "server"   // a server: it is trusted with everything below our subjects
)

// User may connect to the broker with a key.
type User struct {
	Role Role   `json:"role"`
	Name string `json:"name"` // of the host; of other roles their own
	Key  string `json:"key"`  // public NKey
}

// Permissions are the subjects that a user may publish to and listen on, with the wildcards of NATS.
type Permissions struct {
	Publish, Subscribe []string
	// Answers permits an answer to each message that has a reply subject, for some minutes. The reply subject is the word of the message's sender.
	// So nobody may have this who can send messages to what he listens on: Publish and Subscribe have no subject in common.
	Answers bool
}

// ownHost stands for the user's own host in the table below.
const ownHost = "HOST"

// permissions is the one table of what each role may do. The broker within a server, the configuration printed for other brokers, and docs/collection.md
// follow it.
var permissions = map[Role]Permissions{
	HostRole: {
		Publish: []string{
			hosts + ownHost + ".data",
			hosts + ownHost + ".fill.*",
			hosts + ownHost + ".open.*",
			hosts + ownHost + ".alive",
			hosts + ownHost + ".run.out.*",
			hosts + ownHost + ".captures.out.*",
		},
		Subscribe: []string{
			hosts + ownHost + ".ack",
			hosts + ownHost + ".plan",
			hosts + ownHost + ".command",
			hosts + ownHost + ".run.open",
			hosts + ownHost + ".run.in.*",
			hosts + ownHost + ".captures.open",
			hosts + ownHost + ".captures.in.*",
			hosts + ownHost + ".inbox.>",
			servers + "*.alive",
			// discovery and statistics of NATS micro services
			"$SRV.*",
			"$SRV.*.meridian-agent",
			"$SRV.*.meridian-agent.*",
		},
		Answers: true, // to commands and to discovery
	},
	OperatorRole: {
		Publish: []string{
			root + "control.>",
			hosts + "*.run.open",
			hosts + "*.run.in.*",
			hosts + "*.captures.open",
			hosts + "*.captures.in.*",
			"$SRV.>", // discovery and statistics of NATS micro services
		},
		Subscribe: []string{
			hosts + "*.alive",
			hosts + "*.run.out.*",
			hosts + "*.captures.out.*",
			servers + "*.alive",
			sessions + ">",
			"_INBOX.>",
		},
	},
	ServerRole: {
		Publish:   []string{root + ">", "$SRV.>", "_INBOX.>"},
		Subscribe: []string{root + ">", "$SRV.>", "_INBOX.>"},
	},
}

// Roles returns all roles.
func Roles() []Role { return []Role{HostRole, OperatorRole, ServerRole} }

// PermissionsOf returns what a user may do. name is the host of an agent; the other roles' permissions do not depend on it.
func PermissionsOf(role Role, name string) (Permissions, error) {
	p, known := permissions[role]
	if !known {
		return p, fmt.Errorf("role %q is not known", role)
	}
	if err := CheckHost(name); err != nil {
		return Permissions{}, err
	}
	own := func(patterns []string) []string {
		out := make([]string, len(patterns))
		for i, s := range patterns {
			out[i] = strings.ReplaceAll(s, "."+ownHost+".", "."+Token(name)+".")
		}
		return out
	}
	return Permissions{Publish: own(p.Publish), Subscribe: own(p.Subscribe), Answers: p.Answers}, nil
}

// CheckReply refuses a reply subject that its sender could not listen on: the answer would reach others as if the server had meant it for them. subject is
// that of the request, as the broker has let the sender publish it.
func CheckReply(subject, reply string) error {
	below := "_INBOX."
	if strings.HasPrefix(subject, hosts) {
		token, _, _ := strings.Cut(strings.TrimPrefix(subject, hosts), ".")
		below = hosts + token + ".inbox."
	}
	if !strings.HasPrefix(reply, below) || strings.ContainsAny(reply, "*> \t\r\n") {
		return fmt.Errorf("an answer is wanted at %q, which is not below %s", reply, below)
	}
	return nil
}
