package main_test

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sync"
	"testing"

	"meridian/internal/testneed"
)

// sshServer serves OpenSSH's sshd at a loopback port of its own, with keys and a configuration in a new directory, for the user of this
// process. It returns a directory with a program ssh that reaches it as the host "there", and the cache directory of what logs in.
func sshServer(t *testing.T) (bin, cache string) {
	t.Helper()
	sshd, ssh := testneed.Program(t, "sshd"), testneed.Program(t, "ssh")
	testneed.Program(t, "ssh-keygen")
	const separation = "/run/sshd" // which sshd wants to be there, and the system's own unit makes
	if os.Geteuid() == 0 {
		if os.Mkdir(separation, 0o755) == nil {
			t.Cleanup(func() { _ = os.Remove(separation) })
		}
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(at(name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"host", "user"} {
		if out, err := exec.Command("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", at(key)).CombinedOutput(); err != nil {
			t.Fatalf("ssh-keygen: %v %s", err, out)
		}
	}
	public, err := os.ReadFile(at("host.pub"))
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	pam := map[bool]string{true: "yes", false: "no"}[os.Geteuid() == 0] // root's password may be locked, which is PAM's to judge
	write("sshd_config", fmt.Sprintf("HostKey %s\nAuthorizedKeysFile %s\nStrictModes no\nUsePAM %s\nPasswordAuthentication no\nPermitRootLogin prohibit-password\nPrintMotd no\nPrintLastLog no\nSetEnv XDG_CACHE_HOME=%s\n",
		at("host"), at("user.pub"), pam, at("cache")), 0o600)
	write("known", fmt.Sprintf("[127.0.0.1]:%d %s", port, public), 0o600)
	write("config", fmt.Sprintf("Host there\nHostName 127.0.0.1\nPort %d\nUser %s\nIdentityFile %s\nIdentitiesOnly yes\nIdentityAgent none\nUserKnownHostsFile %s\nGlobalKnownHostsFile none\nStrictHostKeyChecking yes\n",
		port, me.Username, at("user"), at("known")), 0o600)
	if err := os.Mkdir(at("bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	write("bin/ssh", "#!/bin/sh\nexec "+ssh+" -F "+at("config")+" \"$@\"\n", 0o755)
	serveSSH(t, l, sshd, at("sshd_config"), at("log"))
	return at("bin"), at("cache")
}

// serveSSH runs an sshd for each connection, as inetd does, until the test ends.
func serveSSH(t *testing.T, l net.Listener, sshd, config, log string) {
	var sessions sync.WaitGroup
	sessions.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			f, err := conn.(*net.TCPConn).File()
			_ = conn.Close()
			if err != nil {
				t.Errorf("connection to sshd: %v", err)
				return
			}
			c := exec.Command(sshd, "-i", "-f", config, "-E", log)
			c.Stdin, c.Stdout = f, f
			err = c.Start()
			_ = f.Close()
			if err != nil {
				t.Errorf("sshd: %v", err)
				return
			}
			sessions.Go(func() { _ = c.Wait() }) // 255 where a client has just gone
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		sessions.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log)
			t.Logf("sshd:\n%s", text)
		}
	})
}
