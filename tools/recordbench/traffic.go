//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"meridian/internal/netlab"
)

// load is traffic that is recorded, and how each recorder bore it.
type load struct {
	name    string
	unit    string
	args    []string // of iperf3
	speed   func(iperf) float64
	all     []*measured
	missing []string
}

// iperf is what iperf3 says at its end.
type iperf struct {
	Error string `json:"error"`
	End   struct {
		Received struct {
			Bits float64 `json:"bits_per_second"`
		} `json:"sum_received"`
		Sum struct {
			Packets float64 `json:"packets"`
			Seconds float64 `json:"seconds"`
		} `json:"sum"`
	} `json:"end"`
}

// measured is a recorder under a load.
type measured struct {
	*recorder
	samples []sample
	failed  error
}

// sample is one round.
type sample struct {
	speed   float64
	seconds float64
	cpu     float64 // seconds of a core that the recorder used
	packets uint64  // that the interface of web counted meanwhile
	tally
}

// traffic measures all recorders under all loads, in turn.
func (b *bench) traffic(l *netlab.Lab) error {
	if !b.wanted("tcp") && !b.wanted("udp") && !b.wanted("account") {
		return nil
	}
	if _, err := exec.LookPath("iperf3"); err != nil {
		return fmt.Errorf("%w (Debian: iperf3)", err)
	}
	server := l.Command("db", "iperf3", "-s")
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} // also where this program is killed
	if err := server.Start(); err != nil {
		return err
	}
	for _, load := range []*load{
		{name: "tcp: as fast as it goes", unit: "Gbit/s", speed: func(i iperf) float64 { return i.End.Received.Bits / 1e9 }},
		{name: "udp: 100,000 datagrams of 64 bytes a second", unit: "1000/s", args: []string{"-u", "-l", "64", "-b", "51.2M"},
			speed: func(i iperf) float64 { return i.End.Sum.Packets / i.End.Sum.Seconds / 1e3 }},
	} {
		if !b.wanted(load.name) {
			continue
		}
		recorders, missing := b.recorders(l)
		load.missing = missing
		for _, r := range recorders {
			load.all = append(load.all, &measured{recorder: r})
		}
		for round := range b.rounds {
			for i := range load.all {
				m := load.all[(i+round)%len(load.all)] // no one always follows the same one
				if m.failed != nil {
					continue
				}
				progress("%s, round %d of %d: %s", load.name, round+1, b.rounds, m.name)
				s, err := b.sample(l, load, m.recorder)
				if err != nil {
					if m.name == unrecorded || m.name == oursName {
						return err
					}
					m.failed = err // the others are measured all the same
					continue
				}
				m.samples = append(m.samples, s)
			}
		}
		b.loads = append(b.loads, load)
	}
	if b.wanted("account") {
		return b.accounts(l)
	}
	return nil
}

// sample records a load once.
func (b *bench) sample(l *netlab.Lab, load *load, r *recorder) (s sample, err error) {
	out := filepath.Join(b.dir, "trace")
	defer func() {
		for _, path := range []string{out, out + ".log"} {
			os.RemoveAll(path)
		}
	}()
	run, err := r.start(out)
	if err != nil {
		return s, err
	}
	before, cpu := uint64(0), 0.
	if run != nil {
		cpu = groupCPU(run.Process.Pid)
	}
	if before, err = packets(l, "web"); err != nil {
		return s, err
	}
	said, err := talk(l, load, b.length)
	if err == nil {
		s.speed = load.speed(said)
	}
	after, counting := packets(l, "web")
	s.packets, s.seconds = after-before, b.length.Seconds()
	if run == nil {
		return s, err
	}
	time.Sleep(settleTime)
	s.cpu = groupCPU(run.Process.Pid) - cpu
	for _, failed := range []error{run.stop(), err, counting} {
		if failed != nil {
			return s, fmt.Errorf("%s: %w", r.name, failed)
		}
	}
	s.tally, err = r.result(run)
	return s, err
}

// talk runs iperf3 from web to db.
func talk(l *netlab.Lab, load *load, length time.Duration) (said iperf, err error) {
	args := append([]string{"-c", l.Address("web", "db").String(), "-J", "-t", strconv.Itoa(int(length.Seconds()))}, load.args...)
	out, err := l.Command("web", "iperf3", args...).Output()
	if failed := json.Unmarshal(out, &said); failed != nil && err == nil {
		err = failed
	}
	if said.Error != "" {
		err = fmt.Errorf("iperf3: %s", said.Error)
	}
	return said, err
}

// packets returns how many packets the interface of a host has sent and received.
func packets(l *netlab.Lab, host string) (n uint64, err error) {
	out, err := l.Command(host, "cat", "/sys/class/net/eth0/statistics/tx_packets", "/sys/class/net/eth0/statistics/rx_packets").Output()
	for _, field := range strings.Fields(string(out)) {
		x, _ := strconv.ParseUint(field, 10, 64)
		n += x
	}
	return n, err
}

// median returns the middle of what the rounds came to.
func (m *measured) median(of func(s *sample) float64) float64 {
	if len(m.samples) == 0 {
		return 0
	}
	var all []float64
	for i := range m.samples {
		all = append(all, of(&m.samples[i]))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func speedOf(s *sample) float64 { return s.speed }
func rateOf(s *sample) float64  { return float64(s.events) / s.seconds }
func coreOf(s *sample) float64  { return 100 * s.cpu / s.seconds }

// perRateOf is percent of a core for 100,000 events a second.
func perRateOf(s *sample) float64 { return coreOf(s) / rateOf(s) * 1e5 }
func bytesOf(s *sample) float64   { return float64(s.bytes) / float64(max(s.events, 1)) }

// find returns a recorder by its name; nil if it was not measured.
func (l *load) find(name string) *measured {
	for _, m := range l.all {
		if m.name == name && len(m.samples) > 0 {
			return m
		}
	}
	return nil
}

// sums returns the lost packets of all rounds and, for recorders of one end, those that only the interface counted.
func (m *measured) sums() (lost, counted uint64, unseen int64) {
	for _, s := range m.samples {
		lost += s.lost
		counted += s.packets
		unseen += int64(s.packets) - int64(s.events) - int64(s.lost)
	}
	return lost, counted, unseen
}

func (l *load) print(w io.Writer, markdown bool) {
	fmt.Fprintf(w, "\n%s\n\n", l.name)
	format, head := "%-22s %8s %6s %9s %7s %7s %9s %7s  %s\n", ""
	if markdown {
		format, head = "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", "|---|--:|--:|--:|--:|--:|--:|--:|---|\n"
	}
	fmt.Fprintf(w, format, "recorder", l.unit, "x", "events/s", "lost", "core %", "% at 100k", "bytes", "of each packet")
	fmt.Fprint(w, head)
	base := l.find(unrecorded)
	for _, m := range l.all {
		if m.failed != nil {
			l.missing = append(l.missing, m.failed.Error())
			continue
		}
		ratio := "-"
		if base != nil {
			ratio = fmt.Sprintf("%.3f", m.median(speedOf)/base.median(speedOf))
		}
		if m.command == nil {
			fmt.Fprintf(w, format, m.name, fmt.Sprintf("%.2f", m.median(speedOf)), ratio, "-", "-", "-", "-", "-", "nothing")
			continue
		}
		lost, _, _ := m.sums()
		fmt.Fprintf(w, format, m.name, fmt.Sprintf("%.2f", m.median(speedOf)), ratio, fmt.Sprintf("%.0f", m.median(rateOf)), strconv.FormatUint(lost, 10),
			fmt.Sprintf("%.1f", m.median(coreOf)), fmt.Sprintf("%.1f", m.median(perRateOf)), fmt.Sprintf("%.0f", m.median(bytesOf)), m.what)
	}
	for _, why := range l.missing {
		fmt.Fprintln(w, "not measured:", why)
	}
}
