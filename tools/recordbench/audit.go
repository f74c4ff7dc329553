//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"meridian/format/ctf"
	"meridian/format/pcap"
	"meridian/internal/netlab"
	"meridian/internal/record"
	"meridian/trace"
)

// The audit compares five counts of the same datagrams in each of some sessions: how many were sent, the receiving
// interface's count, perf's count of netif_receive_skb there, the frames of our AF_PACKET capture, and the events of our eBPF
// recorder. The sender's token bucket (tbf) lets its packets go by a timer, so that they interrupt whatever process is current:
// this is where a kernel may run no eBPF program (docs/recording.md, Limits). Nothing else is sent between the two hosts.
const (
	auditRate = "100mbit" // of small datagrams, 118,000 a second
	auditPort = 9
)

// auditDevice is the receiving interface. Its name is this process's alone, since perf's filter knows no namespaces.
var auditDevice = fmt.Sprintf("audit%d", os.Getpid())

// session is what the audit counted in one recording.
type session struct {
	sent, device, perf, captured, traced uint64
	lost, missed                         uint64 // events by the summary, and those of them for which no program ran
	discarded                            uint64 // events that the trace says are lost
}

// faults says what is wrong with a session.
func (s *session) faults() (all []string) {
	for _, c := range []struct {
		name string
		n    uint64
	}{{"the interface's", s.device}, {"perf's", s.perf}, {"the capture's", s.captured}} {
		if c.n != s.sent {
			all = append(all, fmt.Sprintf("%s count is %d, %d were sent", c.name, c.n, s.sent))
		}
	}
	switch {
	case s.traced > s.sent:
		all = append(all, fmt.Sprintf("%d events of %d datagrams", s.traced, s.sent))
	case s.sent-s.traced > s.lost:
		all = append(all, fmt.Sprintf("%d events lack, %d are counted as lost", s.sent-s.traced, s.lost))
	}
	if s.discarded != s.lost {
		all = append(all, fmt.Sprintf("%d events are discarded by the trace, %d lost by the summary", s.discarded, s.lost))
	}
	return all
}

// audit runs sessions of so many datagrams and prints each that misses events. The error is of those with faults.
func (b *bench) audit(w io.Writer, sessions, datagrams int) error {
	runtime.LockOSThread() // a recorder is interrupted when the thread ends that started it (Pdeathsig); flood ends threads
	defer runtime.UnlockOSThread()
	return b.prepared(func() error {
		return netlab.Outside(context.Background(), b.dir, netlab.TwoHosts, func(l *netlab.Lab) error {
			if err := auditLink(l); err != nil {
				return err
			}
			var sum session
			short, faulty := 0, 0
			for i := range sessions {
				progress("audit: session %d of %d", i+1, sessions)
				s, err := b.session(l, datagrams)
				if err != nil {
					return err
				}
				faults := s.faults()
				if len(faults) > 0 {
					faulty++
				}
				if s.traced < s.sent {
					short++
				}
				if s.lost > 0 || len(faults) > 0 {
					fmt.Fprintf(w, "session %d: %d sent, %d by the interface, %d by perf, %d captured, %d traced; %d lost, %d of them missed %s\n",
						i+1, s.sent, s.device, s.perf, s.captured, s.traced, s.lost, s.missed, strings.Join(faults, "; "))
				}
				sum.sent, sum.traced, sum.lost, sum.missed = sum.sent+s.sent, sum.traced+s.traced, sum.lost+s.lost, sum.missed+s.missed
			}
			fmt.Fprintf(w, "%d sessions, %d datagrams: %d events lack, in %d sessions; on the whole machine %d are counted as lost, %d of them as missed; %d sessions with faults\n",
				sessions, sum.sent, int64(sum.sent-sum.traced), short, sum.lost, sum.missed, faulty)
			if faulty > 0 {
				return fmt.Errorf("%d of %d sessions have faults", faulty, sessions)
			}
			return nil
		})
	})
}

// auditLink lets web send through a token bucket. Neither host asks for the other's address, so db receives nothing but the
// datagrams.
func auditLink(l *netlab.Lab) error {
	for _, script := range [][2]string{
		{"db", "ip link set eth0 down; ip link set eth0 name " + auditDevice + "; ip link set " + auditDevice + " up"},
		{"web", "tc qdisc add dev eth0 root tbf rate " + auditRate + " burst 20kb latency 10s"},
	} {
		const quiet = "echo 1 >/proc/sys/net/ipv6/conf/all/disable_ipv6; "
		if _, err := inHost(l, script[0], quiet+script[1]); err != nil {
			return err
		}
	}
	for _, n := range [][4]string{{"web", "eth0", "db", auditDevice}, {"db", auditDevice, "web", "eth0"}} {
		mac, err := inHost(l, n[2], "cat /sys/class/net/"+n[3]+"/address")
		if err != nil {
			return err
		}
		if _, err := inHost(l, n[0], "ip neigh replace "+l.Address(n[0], n[2]).String()+" lladdr "+mac+" dev "+n[1]+" nud permanent"); err != nil {
			return err
		}
	}
	return nil
}

// inHost runs a script on a host and returns what it prints.
func inHost(l *netlab.Lab, host, script string) (string, error) {
	out, err := l.Command(host, "sh", "-ec", script).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %s: %w: %s", host, script, err, out)
	}
	return strings.TrimSpace(string(out)), nil
}

// session records datagrams from web to db, and counts them in every way.
func (b *bench) session(l *netlab.Lab, datagrams int) (s *session, err error) {
	out := filepath.Join(b.dir, "audit")
	defer func() { err = errors.Join(err, os.RemoveAll(out)) }()
	perf, err := openPerf("net/netif_receive_skb", fmt.Sprintf("name==%q", auditDevice))
	if err != nil {
		return nil, err
	}
	defer perf.close()
	run, err := b.startAudited(l, out)
	if err != nil {
		return nil, err
	}
	s = &session{sent: uint64(datagrams)}
	before, err := received(l)
	counted, failed := perf.read()
	if err = errors.Join(err, failed); err == nil {
		err = flood(l.Namespace("web"), netip.AddrPortFrom(l.Address("web", "db"), auditPort), datagrams)
	}
	for deadline := time.Now().Add(time.Minute); err == nil; time.Sleep(20 * time.Millisecond) {
		var now uint64
		if now, err = received(l); err == nil {
			if s.device = now - before; s.device >= s.sent || time.Now().After(deadline) {
				break
			}
		}
	}
	// A packet is counted by its interface before the receiver's softirq takes it, which a busy machine puts off.
	for deadline := time.Now().Add(time.Minute); err == nil; time.Sleep(20 * time.Millisecond) {
		if s.perf, err = perf.read(); s.perf-counted >= s.device || time.Now().After(deadline) {
			break
		}
	}
	s.perf -= counted
	said, ended := run.end()
	if err = errors.Join(err, ended); err != nil {
		return nil, err
	}
	return s, s.read(out, said)
}

// audited is a recorder of events and packets.
type audited struct {
	*exec.Cmd
	said, log strings.Builder
}

// startAudited returns when everything is recorded.
func (b *bench) startAudited(l *netlab.Lab, out string) (*audited, error) {
	ready, tell, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	r := &audited{Cmd: exec.Command(b.meridian, "record", "--quiet", "--json", "--ready-fd", "3", "-o", out, "--netns", l.Namespace("db"),
		"--kernel", "net", "--packets="+auditDevice, "--snaplen", "64", "--filter", "udp")}
	r.ExtraFiles, r.Stdout, r.Stderr = []*os.File{tell}, &r.said, &r.log
	r.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGINT}
	err = r.Start()
	tell.Close()
	if err != nil {
		return nil, err
	}
	if line, _ := io.ReadAll(ready); len(line) == 0 {
		return nil, fmt.Errorf("meridian record: %w: %s", r.Wait(), r.log.String())
	}
	return r, nil
}

// end ends the recording, of which lost events are no failure here.
func (r *audited) end() (*record.Summary, error) {
	if err := r.Process.Signal(os.Interrupt); err != nil {
		return nil, err
	}
	const incomplete = 3
	var exit *exec.ExitError
	if err := r.Wait(); err != nil && !(errors.As(err, &exit) && exit.ExitCode() == incomplete) {
		return nil, fmt.Errorf("meridian record: %w: %s", err, r.log.String())
	}
	s := &record.Summary{}
	if err := json.Unmarshal([]byte(r.said.String()), s); err != nil {
		return nil, fmt.Errorf("summary of meridian record: %w: %s", err, r.log.String())
	}
	return s, nil
}

// read counts what was recorded.
func (s *session) read(dir string, said *record.Summary) error {
	var w trace.Warnings
	tr, err := ctf.Open(dir, &w)
	if err != nil {
		return err
	}
	events := tr.Events()
	defer events.Close()
	var e trace.Event
	for err = events.Next(&e); err == nil; err = events.Next(&e) {
		c := &events.Classes()[e.Class]
		if c.Name != "netif_receive_skb" {
			continue
		}
		for i := range c.Fields {
			if strings.TrimPrefix(c.Fields[i].Name, "_") == "name" && string(events.Values()[i].Data) == auditDevice {
				s.traced++
			}
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	s.discarded, s.missed = uint64(tr.Tally().Discarded), said.Missed
	for _, c := range said.Streams {
		if c.Interface == "" {
			s.lost += c.Lost
		}
	}
	files, err := filepath.Glob(filepath.Join(dir, "packets", "*"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("%d files of packets, want 1", len(files))
	}
	c, err := pcap.Read(context.Background(), files[0], "db", &w, nil)
	if err == nil {
		s.captured = uint64(c.Packets.Len())
	}
	return err
}

// received returns how many packets the audited interface has received.
func received(l *netlab.Lab) (uint64, error) {
	out, err := inHost(l, "db", "cat /sys/class/net/"+auditDevice+"/statistics/rx_packets")
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(out, 10, 64)
}

// flood sends datagrams from a namespace. The token bucket's queue holds fewer than the socket's buffer, so that none is dropped.
func flood(namespace string, to netip.AddrPort, n int) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never let go: the thread ends in this namespace
		ns, err := os.Open("/run/netns/" + namespace)
		if err == nil {
			defer ns.Close()
			err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
		}
		if err != nil {
			done <- err
			return
		}
		c, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(to))
		if err != nil {
			done <- err
			return
		}
		defer c.Close()
		b := make([]byte, 64)
		for sent := 0; sent < n && err == nil; {
			if _, err = c.Write(b); err == nil {
				sent++
			} else if errors.Is(err, unix.ECONNREFUSED) { // an answer to an earlier one
				err = nil
			}
		}
		done <- err
	}()
	return <-done
}

// perfCounters count a tracepoint on every processor.
type perfCounters []int

func openPerf(event, filter string) (perfCounters, error) {
	id, err := tracepointID(event)
	if err != nil {
		return nil, err
	}
	var all perfCounters
	for cpu := range runtime.NumCPU() {
		attr := unix.PerfEventAttr{Type: unix.PERF_TYPE_TRACEPOINT, Config: id, Size: unix.PERF_ATTR_SIZE_VER5}
		fd, err := unix.PerfEventOpen(&attr, -1, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err == nil {
			all = append(all, fd)
			err = unix.IoctlSetString(fd, unix.PERF_EVENT_IOC_SET_FILTER, filter)
		}
		if err != nil {
			all.close()
			return nil, fmt.Errorf("perf counter of %s on processor %d: %w", event, cpu, err)
		}
	}
	return all, nil
}

// tracepointID reads the number of a tracepoint from a tracefs that is mounted for this call alone.
func tracepointID(event string) (uint64, error) {
	context, err := unix.Fsopen("tracefs", unix.FSOPEN_CLOEXEC)
	if err != nil {
		return 0, err
	}
	defer unix.Close(context)
	if err := unix.FsconfigCreate(context); err != nil {
		return 0, err
	}
	mount, err := unix.Fsmount(context, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	defer unix.Close(mount)
	text, err := os.ReadFile(fmt.Sprintf("/proc/self/fd/%d/events/%s/id", mount, event))
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
}

func (p perfCounters) read() (sum uint64, err error) {
	for _, fd := range p {
		var b [8]byte
		if _, err := unix.Read(fd, b[:]); err != nil {
			return 0, err
		}
		sum += binary.NativeEndian.Uint64(b[:])
	}
	return sum, nil
}

func (p perfCounters) close() {
	for _, fd := range p {
		unix.Close(fd)
	}
}
