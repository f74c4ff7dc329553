package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"meridian/internal/testneed"
)

// unitsOfTest are what our units need of a system.
var unitsOfTest = map[string]string{
	"default.target":        "Wants=meridian-server.service meridian-agent.service drive.service\n",
	"network-online.target": "", "sysinit.target": "", "basic.target": "", "shutdown.target": "", "multi-user.target": "",
	"drive.service": "After=meridian-server.service\n[Service]\nType=oneshot\nExecStart=/bin/sh DIR/drive.sh\nStandardOutput=file:DIR/drive.log\nStandardError=inherit\n",
}

// cgroup makes a control group of version 2, for a systemd of its own, until the test ends.
func cgroup(t *testing.T) string {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`(?m)^\S+ (\S+) cgroup2 (rw|\S*,rw|rw,\S*) `).FindSubmatch(mounts)
	if found == nil {
		t.Skip("no cgroup2 is mounted")
	}
	dir, err := os.MkdirTemp(string(found[1]), "meridian-units-")
	if err != nil {
		t.Skipf("no control group can be made: %v", err)
	}
	t.Cleanup(func() {
		for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			_ = exec.Command("find", dir, "-depth", "-type", "d", "-exec", "rmdir", "{}", ";").Run() // what is in use goes later
			if _, err := os.Stat(dir); err != nil {
				return
			}
		}
		t.Errorf("%s is left", dir)
	})
	return dir
}

// A systemd in namespaces of its own runs the units as they are: agent and server record a session while one is killed and the other is started again.
func TestUnitsRunUnderSystemd(t *testing.T) {
	t.Parallel()
	testneed.Root(t, "starts a systemd in namespaces")
	testneed.Long(t, "builds the command")
	testneed.Program(t, "systemd-analyze")
	testneed.Program(t, "unshare")
	testneed.Program(t, "ip")
	systemd := "/usr/lib/systemd/systemd"
	if _, err := os.Stat(systemd); err != nil {
		systemd = "/lib/systemd/systemd"
	}
	dir := t.TempDir()
	// go run keeps what it links.
	if out, err := exec.Command("go", "run", "-exec", "cp", ".", filepath.Join(dir, "meridian")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "units"), 0o755); err != nil {
		t.Fatal(err)
	}
	for path, unit := range units(t) {
		unit = strings.ReplaceAll(unit, "/etc/meridian/invitation", "/run/test/invitation")
		write(filepath.Join("units", filepath.Base(path)), unit+"\n[Service]\nStandardError=append:"+dir+"/units.log\n")
	}
	for name, text := range unitsOfTest {
		write(filepath.Join("units", name), "[Unit]\nDefaultDependencies=no\n"+strings.ReplaceAll(text, "DIR", dir))
	}
	for _, name := range []string{"inside.sh", "drive.sh"} {
		b, err := os.ReadFile(filepath.Join("testdata/systemd", name))
		if err != nil {
			t.Fatal(err)
		}
		write(name, string(b))
	}
	for at := dir; at != "/"; at = filepath.Dir(at) { // the server's user opens its log there
		_ = os.Chmod(at, 0o755) // where it may not be changed, it need not
		if at == filepath.Dir(os.TempDir()) || filepath.Dir(at) == filepath.Clean(os.TempDir()) {
			break
		}
	}
	run := exec.Command("sh", "-c", `echo $$ >"$1/cgroup.procs" && exec unshare --mount --pid --fork --kill-child --net --uts --ipc --cgroup sh -e "$2/inside.sh" "$2" "$3"`, "sh", cgroup(t), dir, systemd)
	out, err := os.Create(filepath.Join(dir, "systemd.log"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	run.Stdout, run.Stderr = out, out
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- run.Wait() }()
	log := func(name string) string {
		b, _ := os.ReadFile(filepath.Join(dir, name)) // it may not be there yet
		return string(b)
	}
	fault := ""
	for end := time.Now().Add(6 * time.Minute); !strings.HasSuffix(log("drive.log"), "over\n") && fault == ""; time.Sleep(20 * time.Millisecond) {
		select {
		case err := <-ended:
			fault = "systemd has ended: " + err.Error()
			ended <- err
		default:
			if time.Now().After(end) {
				fault = "the time is over"
			}
		}
	}
	_ = run.Process.Kill() // and with it all in its namespace
	<-ended
	said := log("drive.log")
	for _, want := range []string{"web  recording", "/run/test/out/web", "\naligned\n", "meridian-agent: success 0 inactive", "meridian-server: success 0 inactive"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(said, "forbidden") {
		t.Error("the unit forbids what the recorder needs")
	}
	if strings.Contains(said, "never") || fault != "" || t.Failed() {
		t.Errorf("%s\n%s\n%s\n%s", fault, said, log("units.log"), log("systemd.log"))
	}
}
