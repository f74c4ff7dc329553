//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"meridian/internal/netlab"
)

// chronyd is a server and its client, both with -x: they leave the clock alone, and what the client would do to it is its
// error.
type chronyd struct {
	server, client *exec.Cmd
	socket         string
	chronyc        *exec.Cmd
	ask            io.WriteCloser
	answers        *bufio.Scanner
}

// startChronyd starts both. The poll interval is 2^poll seconds. Each pair has a port of its own, by which its packets are counted.
func (b *bench) startChronyd(l *netlab.Lab, port, poll int) (_ *chronyd, err error) {
	dir, err := os.MkdirTemp(b.dir, "chronyd")
	if err != nil {
		return nil, err
	}
	c := &chronyd{}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	start := func(host, name string, lines ...string) (*exec.Cmd, string, error) {
		// Without write access for others, or chronyd does not open its socket.
		own := filepath.Join(dir, name)
		if err := os.Mkdir(own, 0o700); err != nil {
			return nil, "", err
		}
		socket := filepath.Join(own, "sock")
		lines = append(lines, "cmdport 0", "bindcmdaddress "+socket, "pidfile "+filepath.Join(own, "pid"))
		conf := filepath.Join(own, "conf")
		if err := os.WriteFile(conf, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
			return nil, "", err
		}
		cmd := l.Command(host, b.chronyd, "-x", "-n", "-u", "root", "-f", conf)
		return cmd, socket, cmd.Start()
	}
	if c.server, _, err = start("db", "server", "local stratum 1", "allow", fmt.Sprint("port ", port)); err != nil {
		return c, err
	}
	c.client, c.socket, err = start("web", "client", "port 0",
		fmt.Sprintf("server %s port %d minpoll %d maxpoll %d xleave", dbAddress, port, poll, poll))
	if err != nil {
		return c, err
	}
	return c, c.openChronyc(l, b.chronyc)
}

// openChronyc starts one chronyc, which is asked again and again: a process an answer would be a load of its own.
func (c *chronyd) openChronyc(l *netlab.Lab, program string) error {
	for tries := 0; ; tries++ {
		if _, err := os.Stat(c.socket); err == nil {
			break
		} else if tries == 100 {
			return fmt.Errorf("chronyd does not open its socket: %w", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
	c.chronyc = l.Command("web", program, "-h", c.socket, "-n", "-c")
	in, err := c.chronyc.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.chronyc.StdoutPipe()
	if err != nil {
		return err
	}
	c.ask, c.answers = in, bufio.NewScanner(out)
	return c.chronyc.Start()
}

// offset returns what chronyd takes for the offset of its clock, ns: "System time" of chronyc's tracking, which has the
// opposite sign in its table.
func (c *chronyd) offset() (ns float64, ok bool, err error) {
	if _, err := io.WriteString(c.ask, "tracking\n"); err != nil {
		return 0, false, err
	}
	if !c.answers.Scan() {
		return 0, false, errors.Join(errors.New("chronyc ended"), c.answers.Err())
	}
	// refid, name, stratum, reference time, system time, last offset, ...
	fields := strings.Split(c.answers.Text(), ",")
	if len(fields) < 6 {
		return 0, false, fmt.Errorf("chronyc says %q", c.answers.Text())
	}
	seconds, err := strconv.ParseFloat(fields[4], 64)
	if err != nil {
		return 0, false, fmt.Errorf("chronyc says %q: %w", c.answers.Text(), err)
	}
	return seconds * 1e9, fields[2] != "0", nil
}

func (c *chronyd) stop() {
	if c.ask != nil {
		_ = c.ask.Close()
		_ = c.chronyc.Wait()
	}
	for _, p := range []*exec.Cmd{c.client, c.server} {
		if p != nil && p.Process != nil {
			_ = p.Process.Kill()
			_ = p.Wait()
		}
	}
}

func (c *chronyd) pids() []int { return []int{c.client.Process.Pid, c.server.Process.Pid} }

// ptp4l is a grandmaster and a slave that runs free: it says the offset of one Sync a second and leaves the clock alone.
type ptp4l struct {
	master, slave *exec.Cmd
	said          chan float64
	done          chan struct{}
}

const ptpConf = `[global]
time_stamping software
network_transport UDPv4
free_running 1
logSyncInterval %d
logMinDelayReqInterval %[1]d
logAnnounceInterval 0
summary_interval %[1]d
freq_est_interval 0
%[2]s 1
uds_address %[3]s
`

// startPTP4L starts both, with 2^interval seconds between Syncs and between delay requests.
func (b *bench) startPTP4L(ctx context.Context, l *netlab.Lab, interval int) (_ *ptp4l, err error) {
	dir, err := os.MkdirTemp(b.dir, "ptp4l")
	if err != nil {
		return nil, err
	}
	p := &ptp4l{said: make(chan float64, 1024), done: make(chan struct{})}
	start := func(host, role string) (*exec.Cmd, io.Reader, error) {
		conf := filepath.Join(dir, role)
		text := fmt.Sprintf(ptpConf, interval, role, filepath.Join(dir, role+".sock"))
		if err := os.WriteFile(conf, []byte(text), 0o600); err != nil {
			return nil, nil, err
		}
		cmd := l.Command(host, b.ptp4l, "-i", "eth0", "-m", "-q", "-f", conf)
		out, err := cmd.StdoutPipe()
		if err != nil {
			return nil, nil, err
		}
		return cmd, out, cmd.Start()
	}
	master, _, err := start("db", "masterOnly")
	if err != nil {
		return nil, err
	}
	p.master = master
	slave, out, err := start("web", "slaveOnly")
	if err != nil {
		_ = master.Process.Kill()
		_ = master.Wait()
		return nil, err
	}
	p.slave = slave
	go p.read(out)
	return p, nil
}

// read takes the offsets from the slave's lines until it ends: "ptp4l[12.345]: master offset -12 s0 freq +0 path delay 345".
func (p *ptp4l) read(out io.Reader) {
	defer close(p.done)
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		_, rest, found := strings.Cut(lines.Text(), "master offset")
		if fields := strings.Fields(rest); found && len(fields) > 0 {
			if ns, err := strconv.ParseFloat(fields[0], 64); err == nil {
				select {
				case p.said <- ns:
				default: // nobody reads: the measurement is over
				}
			}
		}
	}
	if err := lines.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "reading what ptp4l prints:", err)
	}
}

// offsets returns what was said since it was last asked.
func (p *ptp4l) offsets() (all []float64) {
	for {
		select {
		case ns := <-p.said:
			all = append(all, ns)
		default:
			return all
		}
	}
}

func (p *ptp4l) stop() {
	_ = p.slave.Process.Kill()
	<-p.done
	_ = p.slave.Wait()
	_ = p.master.Process.Kill()
	_ = p.master.Wait()
}

func (p *ptp4l) pids() []int { return []int{p.slave.Process.Pid, p.master.Process.Pid} }
