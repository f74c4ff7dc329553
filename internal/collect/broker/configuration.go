package broker

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"meridian/internal/collect/wire"
)

// Account is that of our users in the configuration of an ordinary NATS server: those of other accounts see nothing of them.
const Account = "MERIDIAN"

// WriteConfiguration writes the lines that make an ordinary NATS server carry our messages, with the permissions that the broker within a server has.
func WriteConfiguration(w io.Writer, users []wire.User, certificate, key string) error {
	var b strings.Builder
	fmt.Fprintf(&b, `# Written by 'meridian server init --external', anew after each 'server invite' and 'server revoke'.
# In the configuration of each nats-server: include meridian.conf
max_payload: %d
no_fast_producer_stall: true # a slow subscriber misses messages, and holds up nobody
tls {
  cert_file: %s
  key_file: %s
  min_version: "1.3"
  timeout: %g
}
accounts {
  %s {
    users: [
`, Limits{}.withDefaults().Message, strconv.Quote(certificate), strconv.Quote(key), encryptWithin.Seconds(), Account)
	for _, u := range users {
		p, err := wire.PermissionsOf(u.Role, u.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "      # %s %s\n      {nkey: %s, permissions: {publish: {allow: [%s]}, subscribe: {allow: [%s]}", u.Role, u.Name, u.Key, quoted(p.Publish), quoted(p.Subscribe))
		if p.Answers {
			fmt.Fprintf(&b, ", allow_responses: {max: 1, expires: %q}", answerWithin)
		}
		b.WriteString("}}\n")
	}
	b.WriteString("    ]\n  }\n}\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func quoted(subjects []string) string {
	out := make([]string, len(subjects))
	for i, s := range subjects {
		out[i] = strconv.Quote(s)
	}
	return strings.Join(out, ", ")
}
