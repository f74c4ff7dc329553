package wire

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

func allows(patterns []string, subject string) bool {
	for _, p := range patterns {
		if server.SubjectsCollide(p, subject) {
			return true
		}
	}
	return false
}

func mustPermissions(t *testing.T, role Role, name string) Permissions {
	t.Helper()
	p, err := PermissionsOf(role, name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestAnAgentMayDoWhatItsHostNeedsAndNothingForOthers(t *testing.T) {
	p := mustPermissions(t, HostRole, "web.example.org")
	for _, host := range []string{"web.example.org", "db", "web", "HOST", "web=2Eexample=2Eorg"} {
		own := host == "web.example.org"
		for _, s := range []string{OfHost(host, "data"), OfHostServer(host, "fill", "a.b"), OfHostServer(host, "open", "a"), OfHost(host, "alive")} {
			if allows(p.Publish, s) != own {
				t.Errorf("publishing to %s: %v", s, !own)
			}
			if allows(p.Subscribe, s) {
				t.Errorf("the agent may listen on %s", s)
			}
		}
		for _, s := range []string{OfHost(host, "ack"), OfHost(host, "inbox") + ".x.y", OfHost(host, "command"), OfHost(host, "plan")} {
			if allows(p.Subscribe, s) != own {
				t.Errorf("listening on %s: %v", s, !own)
			}
			if allows(p.Publish, s) {
				t.Errorf("the agent may publish to %s", s)
			}
		}
	}
	for _, s := range []string{root + "control.start", "_INBOX.x", "$SRV.PING", "$SYS.REQ.SERVER.PING", root + "events.x", AllAgentsAlive, hosts + ">", ">"} {
		if p := p.Publish; allows(p, s) && !strings.ContainsAny(s, "*>") {
			t.Errorf("the agent may publish to %s", s)
		}
		for _, own := range p.Subscribe {
			if own == s {
				t.Errorf("the agent may listen on %s", s)
			}
		}
	}
	if s := ServerAlive("a"); allows(p.Publish, s) || !allows(p.Subscribe, s) {
		t.Errorf("%s", s)
	}
}

// Who sends himself a message with a reply subject would be permitted to publish there.
func TestWhoMayAnswerCannotSendToWhatHeListensOn(t *testing.T) {
	for _, role := range Roles() {
		p := mustPermissions(t, role, "web")
		for _, publish := range p.Publish {
			if p.Answers && allows(p.Subscribe, publish) {
				t.Errorf("%s publishes to %s, listens there and may answer", role, publish)
			}
		}
	}
}

func TestAnswersGoToTheSendersInboxAlone(t *testing.T) {
	open := OfHostServer("web", "open", "a")
	for reply, good := range map[string]bool{
		OfHost("web", "inbox") + ".1.2":    true,
		OfHost("db", "inbox") + ".1":       false,
		OfHost("db", "ack"):                false,
		OfHost("web", "ack"):               false,
		OfHost("web", "inboxes") + ".1":    false,
		ServerAlive("a"):                   false,
		root + "control.start":             false,
		"_INBOX.1":                         false,
		OfHost("web", "inbox") + ".>":      false,
		"":                                 false,
		OfHost("web", "inbox") + ".a b":    false,
		" " + OfHost("web", "inbox") + ".": false,
	} {
		if err := CheckReply(open, reply); (err == nil) != good {
			t.Errorf("%q: %v", reply, err)
		}
	}
	if CheckReply(root+"control.start", OfHost("web", "command")) == nil || CheckReply(root+"control.start", "_INBOX.x.y") != nil {
		t.Error("operators' answers")
	}
}

func TestDocumentationHasThePermissionsOfEachRole(t *testing.T) {
	b, err := os.ReadFile("../../../docs/collection.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(b), "\n## Permissions\n")
	if !found {
		t.Fatal("docs/collection.md has no section Permissions")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	documented := map[string]bool{}
	for line := range strings.Lines(section) {
		if strings.HasPrefix(line, "| ") && strings.Contains(line, "`") {
			documented[strings.TrimSpace(line)] = true
		}
	}
	for _, role := range Roles() {
		for verb, patterns := range map[string][]string{"publish": permissions[role].Publish, "listen": permissions[role].Subscribe} {
			for _, p := range patterns {
				row := fmt.Sprintf("| %s | %s | `%s` |", role, verb, p)
				if !documented[row] {
					t.Errorf("docs/collection.md lacks %s", row)
				}
				delete(documented, row)
			}
		}
	}
	for row := range documented {
		t.Errorf("docs/collection.md has %s, and the table not", row)
	}
}
