package keeper

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Run is the keeper's process: it starts the host process, this program with the arguments, which has its standard input and
// output, and returns its exit code when nothing is left of it. Its directory is made in base; "" for that of the system's temporary files.
func Run(base string, args []string) (code int, err error) {
	runtime.LockOSThread() // the death signal comes with the end of the thread that started the child
	defer runtime.UnlockOSThread()
	parent := os.Getppid()
	signal.Ignore(syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGPIPE)
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGTERM)
	if err := Adopt(); err != nil {
		return 1, err
	}
	dirs, err := makeDirectories(base)
	if err != nil {
		return 1, err
	}
	self, err := os.Executable()
	if err != nil {
		return 1, errors.Join(err, dirs.Remove())
	}
	c := exec.Command(self, args...)
	c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdout, os.Stderr
	c.Env = append(os.Environ(), workVariable+"="+dirs.Work, ringsVariable+"="+dirs.Rings, "MERIDIAN="+dirs.Rings)
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM, Setpgid: true}
	if err := c.Start(); err != nil {
		return 1, errors.Join(fmt.Errorf("host process: %w", err), dirs.Remove())
	}
	// The pipes are the host's alone: the controller sees their end when the host has gone.
	_ = os.Stdin.Close()
	_ = os.Stdout.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Wait()
	}()
	wait(done, ended, parent, c.Process.Pid)
	KillDescendants(c.Process.Pid)
	<-done
	return max(c.ProcessState.ExitCode(), 0), dirs.Remove()
}

// wait returns when the host process has ended, or has had its time after the parent went.
func wait(done <-chan struct{}, ended <-chan os.Signal, parent, host int) {
	tick := time.NewTicker(parentEvery)
	defer tick.Stop()
	var since time.Time
	for {
		select {
		case <-done:
			return
		case <-ended:
			return
		case now := <-tick.C:
			switch {
			case os.Getppid() == parent:
			case since.IsZero():
				since = now
				_ = syscall.Kill(host, syscall.SIGTERM)
			case now.Sub(since) > politely:
				return
			}
		}
	}
}

// Adopt makes this process the one whose children those become that lose their parents among its descendants.
func Adopt() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("PR_SET_CHILD_SUBREAPER: %w", err)
	}
	return nil
}

// KillDescendants kills all descendants of this process until none is left. It must have adopted them. Children for which others
// wait are not reaped here.
func KillDescendants(waited ...int) {
	for {
		alive := descendants(os.Getpid())
		if len(alive) == 0 {
			return
		}
		for _, p := range alive {
			if p.zombie {
				if p.parent == os.Getpid() && !slices.Contains(waited, p.pid) {
					_, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil)
				}
				continue
			}
			_ = syscall.Kill(p.pid, syscall.SIGKILL)
		}
		time.Sleep(killEvery)
	}
}
