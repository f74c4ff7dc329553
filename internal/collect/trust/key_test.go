package trust

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"meridian/internal/collect/wire"
	"meridian/internal/testseed"
)

func testKey(t testing.TB) *Key {
	t.Helper()
	a, err := newAuthority(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	k, _, err := newKey(wire.HostRole, "web", []string{"tls://collector:4222"}, a.certificatePEM)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestKeysThatNoServerMakesAreRefused(t *testing.T) {
	good := testKey(t)
	if k, err := ParseKey(good.encode()); err != nil || k.Name != "web" || k.URLs() != "tls://collector:4222" {
		t.Fatalf("%+v, %v", k, err)
	}
	for name, change := range map[string]func(*Key){
		"another version":     func(k *Key) { k.Version = 2 },
		"no role":             func(k *Key) { k.Role = "" },
		"another role":        func(k *Key) { k.Role = "root" },
		"no name":             func(k *Key) { k.Name = "" },
		"a path":              func(k *Key) { k.Name = "../web" },
		"no server":           func(k *Key) { k.Servers = nil },
		"many servers":        func(k *Key) { k.Servers = make([]string, 1000) },
		"no URL":              func(k *Key) { k.Servers = []string{"collector"} },
		"another scheme":      func(k *Key) { k.Servers = []string{"http://collector:4222"} },
		"two in one":          func(k *Key) { k.Servers = []string{"tls://a,tls://b"} },
		"no authority":        func(k *Key) { k.Authority = "" },
		"no certificate":      func(k *Key) { k.Authority = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n" },
		"no seed":             func(k *Key) { k.Seed = "" },
		"half a seed":         func(k *Key) { k.Seed = k.Seed[:20] },
		"seed of an account":  func(k *Key) { k.Seed = "SAAGJGP4KYDIBCPRVYKEHBFRKDHVPRDZHTOXFLY7ZWPTYYZ5YCXGXSI7FI" },
		"a seed that is told": func(k *Key) { k.Seed = "SUSECRET" },
	} {
		bad := *good
		change(&bad)
		if _, err := ParseKey(bad.encode()); err == nil {
			t.Errorf("%s: it is a key", name)
		} else if bad.Seed != "" && strings.Contains(err.Error(), bad.Seed) {
			t.Errorf("%s: the error has the private part: %v", name, err)
		}
	}
	for _, b := range []string{"", "{}", "[]", string(good.encode()) + "x", string(good.encode()) + "{}", strings.Repeat(" ", maxKeyFile+1)} {
		if _, err := ParseKey([]byte(b)); err == nil {
			t.Errorf("%.20q is a key", b)
		}
	}
}

func TestAKeyThatOthersCanReadIsTold(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no modes there")
	}
	file := filepath.Join(t.TempDir(), "key")
	for mode, exposed := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true} {
		if err := os.WriteFile(file, testKey(t).encode(), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		if _, told, err := ReadKey(file); err != nil || (told != nil) != exposed {
			t.Errorf("mode %v: %v, %v", mode, told, err)
		}
		if err := os.Chmod(file, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := ReadKey(t.TempDir()); err == nil {
		t.Error("a directory is a key")
	}
}

func TestAListGivesNobodyTwoRoles(t *testing.T) {
	_, a, err := newKey(wire.HostRole, "web", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, b, err := newKey(wire.HostRole, "web", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, users := range map[string][]wire.User{
		"one key twice":     {{Role: wire.HostRole, Name: "web", Key: a}, {Role: wire.ServerRole, Name: "server", Key: a}},
		"one host twice":    {{Role: wire.HostRole, Name: "web", Key: a}, {Role: wire.HostRole, Name: "web", Key: b}},
		"a role of nobody":  {{Role: "root", Name: "web", Key: a}},
		"a name of nobody":  {{Role: wire.HostRole, Name: "a/b", Key: a}},
		"a key of nobody":   {{Role: wire.HostRole, Name: "web", Key: "U"}},
		"a private key":     {{Role: wire.HostRole, Name: "web", Key: "SU"}},
		"a key of no user ": {{Role: wire.HostRole, Name: "web", Key: "A" + a[1:]}},
	} {
		l := list{Version: version, Users: users}
		if _, err := parseList(l.encode()); err == nil {
			t.Errorf("%s: it is a list", name)
		}
	}
	l := list{Version: version, Users: []wire.User{{Role: wire.HostRole, Name: "server", Key: a}, {Role: wire.ServerRole, Name: "server", Key: b}}}
	if _, err := parseList(l.encode()); err != nil {
		t.Errorf("a host may have the name of a role: %v", err)
	}
}

func FuzzParseKey(f *testing.F) {
	f.Add(testKey(f).encode())
	f.Add([]byte(`{"version":1,"role":"host","name":"x","servers":["tls://a"]}`))
	testseed.Fuzz(f, func(t *testing.T, b []byte) {
		k, err := ParseKey(b)
		if err != nil {
			return
		}
		if _, err := k.Options(); err != nil || wire.CheckHost(k.Name) != nil {
			t.Errorf("%+v is no key: %v", k, err)
		}
		if again, err := ParseKey(k.encode()); err != nil || again.Name != k.Name || again.Role != k.Role || again.URLs() != k.URLs() || again.Seed != k.Seed {
			t.Errorf("%+v, %v", again, err)
		}
	})
}

func FuzzParseList(f *testing.F) {
	_, a, err := newKey(wire.HostRole, "web", nil, nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add((&list{Version: version, Servers: []string{"tls://a:1"}, Users: []wire.User{{Role: wire.HostRole, Name: "web", Key: a}}}).encode())
	testseed.Fuzz(f, func(t *testing.T, b []byte) {
		l, err := parseList(b)
		if err != nil {
			return
		}
		if again, err := parseList(l.encode()); err != nil || len(again.Users) != len(l.Users) {
			t.Errorf("%+v, %v", again, err)
		}
		for _, u := range l.Users {
			if _, err := wire.PermissionsOf(u.Role, u.Name); err != nil {
				t.Error(err)
			}
		}
	})
}
