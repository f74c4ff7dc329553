package main

import (
	"bytes"
	"context"
	"embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

//go:embed lttng/six.c lttng/six.h
var lttngSources embed.FS

// absent says that a program which a contender needs is not installed; the others are measured all the same.
type absent struct{ what string }

func (a absent) Error() string { return a.what }

// lttng is a program with tracepoints under a session daemon of its own, which records into a ring of the size of
// ours that overwrites what is oldest (a snapshot session), so that there is no reader while it is measured.
//
// Root's daemons all meet at one socket, so as root all this runs as the user nobody, whose daemon lies in LTTNG_HOME.
func (b *bench) lttng() error {
	for _, tool := range []string{"gcc", "lttng", "lttng-sessiond"} {
		if _, err := exec.LookPath(tool); err != nil {
			return absent{tool + " is not installed (Debian: gcc, lttng-tools, liblttng-ust-dev)"}
		}
	}
	home, err := os.MkdirTemp("", "sensorbench-lttng") // not within b.dir, where another user may not look
	if err != nil {
		return err
	}
	b.closing = append(b.closing, func() error { return os.RemoveAll(home) })
	d := &daemon{home: home}
	if err := os.CopyFS(d.home, lttngSources); err != nil {
		return err
	}
	build := exec.Command("gcc", "-O2", "-Wall", "-Wextra", "-Ilttng", "-o", "six", "lttng/six.c", "-llttng-ust", "-ldl")
	build.Dir = d.home
	if out, err := build.CombinedOutput(); err != nil {
		if bytes.Contains(out, []byte("lttng/tracepoint.h")) {
			return absent{"the headers of lttng-ust are not installed (Debian: liblttng-ust-dev)"}
		}
		return fmt.Errorf("%w\n%s", err, out)
	}
	if os.Geteuid() == 0 {
		d.user = &syscall.Credential{Uid: nobody, Gid: nobody}
		if err := os.Chown(d.home, nobody, nobody); err != nil {
			return err
		}
	}
	if err := d.start(); err != nil {
		return err
	}
	b.closing = append(b.closing, d.stop)
	for _, args := range []string{
		"create bench --snapshot --output=" + d.home + "/trace",
		"enable-channel -s bench --userspace --buffers-uid --subbuf-size=64k --num-subbuf=16 ring",
		"enable-event -s bench --userspace -c ring meridian_bench:six",
		"start bench",
	} {
		if err := d.lttng(args); err != nil {
			return err
		}
	}
	k, enabled, err := startChild(d.command(filepath.Join(d.home, "six")))
	if err != nil {
		return err
	}
	b.closing = append(b.closing, k.close)
	if enabled != "1" {
		return fmt.Errorf("%s did not enable its tracepoint in %s", "lttng-sessiond", d.home)
	}
	b.outside(lttngName, "all, in shared memory", k.run("six"))
	b.outside("LTTng-UST (C), disabled", "", k.run("off"))
	return nil
}

const (
	lttngName = "LTTng-UST (C)"
	nobody    = 65534
)

// daemon is a session daemon of LTTng for this program alone.
type daemon struct {
	home string
	user *syscall.Credential // nil: the user of this process
	cmd  *exec.Cmd
	dead chan error
	said bytes.Buffer
}

func (d *daemon) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "LTTNG_HOME="+d.home, "HOME="+d.home, "LTTNG_UST_REGISTER_TIMEOUT=100000")
	c.Dir = d.home
	if d.user != nil {
		c.SysProcAttr = &syscall.SysProcAttr{Credential: d.user}
	}
	return c
}

// lttng runs the tool that commands the daemon.
func (d *daemon) lttng(args string) error {
	c := d.command("lttng", append([]string{"--no-sessiond"}, strings.Fields(args)...)...)
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("lttng %s: %w: %s", args, err, out)
	}
	return nil
}

func (d *daemon) start() error {
	d.cmd = d.command("lttng-sessiond", "--no-kernel")
	d.cmd.Stdout, d.cmd.Stderr = &d.said, &d.said
	d.cmd.WaitDelay = time.Second // its consumer daemons would hold the output's other end open after its death
	if err := d.cmd.Start(); err != nil {
		return err
	}
	d.dead = make(chan error, 1)
	go func() { d.dead <- d.cmd.Wait() }()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	ask := time.NewTicker(20 * time.Millisecond)
	defer ask.Stop()
	for {
		err := d.lttng("list")
		if err == nil {
			return nil
		}
		select {
		case died := <-d.dead:
			return fmt.Errorf("lttng-sessiond: %w: %s", died, d.said.Bytes())
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("lttng-sessiond does not answer: %w", err), d.stop())
		case <-ask.C:
		}
	}
}

// stop ends the daemon, whose consumers end with it.
func (d *daemon) stop() error {
	_ = d.lttng("destroy bench")
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-d.dead:
	case <-time.After(20 * time.Second):
		_ = d.cmd.Process.Kill()
		<-d.dead
	}
	return nil
}
