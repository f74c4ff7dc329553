package trust

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/nats-io/nkeys"

	"meridian/internal/collect/wire"
)

// maxUsersFile bounds what is read of the list of users.
const maxUsersFile = 64 << 20

// list is the file of those who may connect.
type list struct {
	Version int         `json:"version"`
	Servers []string    `json:"servers"` // URLs for new invitations
	Users   []wire.User `json:"users"`
	// Revoked has when the key of a host was taken away that has no other since.
	Revoked map[string]time.Time `json:"revoked,omitempty"`
}

func (l *list) encode() []byte { return encode(l) }

// list reads the file.
func (t *Trust) list() (l list, err error) {
	f, err := os.Open(t.path(usersFile))
	if err != nil {
		return l, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxUsersFile+1))
	if err != nil {
		return l, err
	}
	if l, err = parseList(b); err != nil {
		return l, fmt.Errorf("%s: %w: bring it back from a copy", t.path(usersFile), err)
	}
	return l, nil
}

// parseList reads a list. In it no two users have a key in common, and no two hosts a name: else it would depend on their order what one of them may do.
func parseList(b []byte) (l list, err error) {
	if len(b) > maxUsersFile {
		return l, errors.New("not a list of users: it is too long")
	}
	if err := json.Unmarshal(b, &l); err != nil {
		return list{}, fmt.Errorf("not a list of users: %w", err)
	}
	if l.Version != version {
		return list{}, fmt.Errorf("a list of users of version %d, and this program knows %d", l.Version, version)
	}
	keys, hosts := make(map[string]bool, len(l.Users)), make(map[string]bool, len(l.Users))
	for _, u := range l.Users {
		if _, err := wire.PermissionsOf(u.Role, u.Name); err != nil {
			return list{}, err
		}
		if !nkeys.IsValidPublicUserKey(u.Key) {
			return list{}, fmt.Errorf("%s %s has no valid public key", u.Role, u.Name)
		}
		if keys[u.Key] || u.Role == wire.HostRole && hosts[u.Name] {
			return list{}, fmt.Errorf("%s %s is there twice, or its key", u.Role, u.Name)
		}
		keys[u.Key] = true
		if u.Role == wire.HostRole {
			hosts[u.Name] = true
		}
	}
	for _, s := range l.Servers {
		if err := CheckServer(s); err != nil {
			return list{}, err
		}
	}
	return l, nil
}

// find returns where a host is; -1 for nowhere.
func (l *list) find(host string) int {
	for i, u := range l.Users {
		if u.Role == wire.HostRole && u.Name == host {
			return i
		}
	}
	return -1
}

// addresses returns names and port of the URLs. A port other than 0 stays.
func (l *list) addresses(port int) (names []string, _ int, err error) {
	for _, s := range l.Servers {
		u, err := url.Parse(s)
		if err != nil {
			return nil, 0, err
		}
		name, number, err := net.SplitHostPort(u.Host)
		if err != nil {
			return nil, 0, err
		}
		names = append(names, name)
		if n, err := strconv.Atoi(number); err == nil && port == 0 {
			port = n
		}
	}
	return names, port, nil
}
