package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"meridian/internal/testneed"
)

func init() { processes["signalled"], processes["passer"] = signalled, passer }

// signalled tells the signals that come to it: it says that it is there, what the first one is, and how many came until it was
// told to end, by SIGUSR1.
func signalled() {
	came := make(chan os.Signal, 10)
	signal.Notify(came, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	fmt.Println("ready")
	n := 0
	for s := range came {
		if s == syscall.SIGUSR1 {
			fmt.Println("came", n)
			return
		}
		if n++; n == 1 {
			fmt.Println("got", s)
		}
	}
}

// terminal opens a pseudoterminal: the end that the test holds, and the end that a process has.
func terminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		testneed.Missing(t, "no pseudoterminal can be opened: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	return master, slave
}

// passer starts signalled, passes on the signal that ends itself and prints how many came there. With "late" it waits until the
// command has got one by itself.
func passer() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	ctx, e := endingsOf(ctx)
	c := exec.Command(os.Args[1])
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	text := lines(out)
	fmt.Println(<-text)
	<-ctx.Done()
	late := os.Args[2] == "late"
	if late {
		fmt.Println(<-text)
	}
	if err := e.passOn(c.Process); err != nil {
		fmt.Println(err)
	}
	if !late {
		fmt.Println(<-text)
	}
	c.Process.Signal(syscall.SIGUSR1)
	fmt.Println(<-text)
	c.Wait()
}

func TestACommandGetsASignalOnce(t *testing.T) {
	dir := everybodys(t)
	program, command := installed(t, dir, "passer"), installed(t, dir, "signalled")
	// Under nohup a recording outlives its terminal. What is caught here is no longer ignored by who is started from here.
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGHUP)
	defer signal.Stop(caught)
	for _, c := range []struct {
		what, late string
		terminal   bool
		end        func(master *os.File, recorder *os.Process) error
		want       string
	}{
		{"^C at a terminal", "late", true, func(m *os.File, _ *os.Process) error { _, err := m.Write([]byte{3}); return err }, "interrupt"},
		{"SIGTERM at a terminal", "", true, func(_ *os.File, p *os.Process) error { return p.Signal(syscall.SIGTERM) }, "terminated"},
		{"SIGINT", "", false, func(_ *os.File, p *os.Process) error { return p.Signal(os.Interrupt) }, "interrupt"},
		{"SIGHUP", "", false, func(_ *os.File, p *os.Process) error { return p.Signal(syscall.SIGHUP) }, "hangup"},
	} {
		t.Run(c.what, func(t *testing.T) {
			r := exec.Command(program, command, c.late)
			r.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			var master *os.File
			if c.terminal {
				var slave *os.File
				master, slave = terminal(t)
				r.Stdin, r.SysProcAttr.Setctty = slave, true
			}
			out, err := r.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := r.Start(); err != nil {
				t.Fatal(err)
			}
			limit := time.AfterFunc(time.Minute, func() { syscall.Kill(-r.Process.Pid, syscall.SIGKILL) })
			defer limit.Stop()
			text := lines(out)
			if line := <-text; line != "ready" {
				t.Errorf("it says %q", line)
			}
			if err := c.end(master, r.Process); err != nil {
				t.Error(err)
			}
			for _, want := range []string{"got " + c.want, "came 1"} {
				if line := <-text; line != want {
					t.Errorf("it says %q, want %q", line, want)
				}
			}
			for range text {
			}
			if err := r.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}
