package tracefs

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"meridian/internal/netlab"
	"meridian/internal/record/internal/tracing"
	"meridian/internal/record/kernel"
	"meridian/internal/testneed"
)

// play is set where the test program plays another one.
const play = "MERIDIAN_TRACEFS_PLAY"

func TestMain(m *testing.M) {
	switch os.Getenv(play) {
	case "":
		netlab.Main(m)
	case "recorder": // until it is killed
		r, err := Open(Options{Groups: kernel.Sched, OnlyFollowed: true}, nil)
		if err != nil {
			os.Stdout.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Stdout.WriteString(r.session.all.dir + " " + r.session.some.dir + "\n")
		_, _ = io.ReadAll(os.Stdin)
	case "unmounted": // in a mount namespace of its own
		os.Stdout.WriteString(recordUnmounted())
	case "user":
		_, err := Open(Options{Groups: kernel.Net}, nil)
		os.Stdout.WriteString(err.Error())
	}
}

// player is this program, playing another.
func player(part string) *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), play+"="+part)
	return c
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

func TestNothingIsLeftAfterClose(t *testing.T) {
	rec, r := record(t, Options{Groups: kernel.Net | kernel.Sched, OnlyFollowed: true})
	all, some := r.session.all.dir, r.session.some.dir
	if !exists(all) || !exists(some) {
		t.Fatal("no instances")
	}
	rec.Stop()
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if exists(all) || exists(some) {
		t.Error("an instance is left")
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}

func TestWhatAKilledRecorderLeftIsRemovedByTheNextAndNobodyElses(t *testing.T) {
	_, living := open(t, Options{Groups: kernel.Sched})
	c := player("recorder")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, _ := out.Read(b)
	dirs := strings.Fields(string(b[:n]))
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	here := filepath.Dir(living.session.all.dir)
	for i := range dirs { // its way there may have been another
		dirs[i] = filepath.Join(here, filepath.Base(dirs[i]))
	}
	if len(dirs) != 2 {
		t.Fatalf("%s", b[:n])
	}
	_, next := open(t, Options{Groups: kernel.Sched})
	for _, dir := range dirs {
		if exists(dir) {
			t.Errorf("%s is left", dir)
		}
	}
	if !exists(living.session.all.dir) || !exists(next.session.all.dir) {
		t.Error("the instance of one that lives is gone")
	}
}

// recordUnmounted records where no tracefs is mounted, and says what is wrong.
func recordUnmounted() string {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err.Error()
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err.Error()
	}
	for _, dir := range slices.Backward(tracing.MountsOf(string(table), "tracefs")) {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			return err.Error()
		}
	}
	r, err := Open(Options{Groups: kernel.Sched}, nil)
	if err != nil {
		return err.Error()
	}
	dir := r.session.all.dir
	table, _ = os.ReadFile("/proc/self/mountinfo")
	switch {
	case !r.session.mount.Own():
		return "no mount of its own"
	case !exists(dir):
		return "no instance"
	case len(tracing.MountsOf(string(table), "tracefs")) != 0:
		return "it is mounted for all to see"
	}
	if err := r.Close(); err != nil {
		return err.Error()
	}
	if exists(dir) {
		return "an instance is left"
	}
	return ""
}

func TestWhereTracefsIsNotMountedNobodyElseSeesOurs(t *testing.T) {
	testneed.Root(t, "mounting tracefs in a mount namespace")
	mount, err := tracing.Find()
	if err != nil {
		testneed.Missing(t, "%v", err)
	}
	if err := mount.Close(); err != nil {
		t.Fatal(err)
	}
	c := player("unmounted")
	c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	if out, err := c.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s, %v", out, err)
	}
}

func TestWithoutPrivilegesTheErrorSaysWhichAreNeeded(t *testing.T) {
	c := player("user")
	if os.Geteuid() == 0 {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	out, err := c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "run as root") {
		t.Errorf("%s, %v", out, err)
	}
}

func TestOptionsThatMeanNothingAreErrors(t *testing.T) {
	for _, test := range []struct {
		o           Options
		unavailable bool
	}{
		{Options{Groups: kernel.Sched, Command: "*"}, false},
		{Options{Groups: kernel.Sched, Pids: []int{-1}}, false},
		{Options{Groups: kernel.Sched, Cgroup: "/sys/fs/cgroup"}, true},
	} {
		r, err := Open(test.o, nil)
		if r != nil || err == nil {
			t.Errorf("%+v: %v", test.o, err)
			continue
		}
		var u *Unavailable
		if errors.As(err, &u) != test.unavailable && os.Geteuid() == 0 {
			t.Errorf("%+v: %v", test.o, err)
		}
	}
}
