package synchroniser

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Peer is another synchroniser on this host: a daemon, and the program that asks it.
type Peer struct {
	Name    string // of the daemon
	program string
	ask     func(context.Context, string) (Said, error)
	packets func(context.Context, string) (uint64, bool)
}

// Said is what a daemon says of the system clock.
type Said struct {
	Offset int64 // true time less the system clock, ns, as it estimates
	Bound  int64 // by how much that may be off as it says, ns; negative: it does not say
}

// Peers returns the synchronisers that this program can ask.
func Peers() []Peer {
	return []Peer{
		{"chronyd", "chronyc", askChrony, chronyPackets},
		{"ntpd", "ntpq", askNTP, ntpPackets},
		{"ptp4l", "pmc", askPTP, nil},
	}
}

// Installed says whether the program that asks is there.
func (p *Peer) Installed() bool {
	_, err := exec.LookPath(p.program)
	return err == nil
}

// peerTimeout is how long an answer may take.
const peerTimeout = 2 * time.Second

// Ask asks the daemon.
func (p *Peer) Ask(ctx context.Context) (Said, error) {
	s, err := p.ask(ctx, p.program)
	if err != nil {
		return s, fmt.Errorf("%s: %w", p.program, err)
	}
	return s, nil
}

// Packets returns how many packets the daemon has sent and received; false if it does not say.
func (p *Peer) Packets(ctx context.Context) (uint64, bool) {
	if p.packets == nil {
		return 0, false
	}
	return p.packets(ctx, p.program)
}

func output(ctx context.Context, program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, peerTimeout)
	defer cancel()
	c := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = &stdout, &stderr, peerTimeout
	err := c.Run()
	if err != nil {
		if line, _, _ := strings.Cut(strings.TrimSpace(stderr.String()+stdout.String()), "\n"); line != "" {
			err = fmt.Errorf("%w: %s", err, line)
		}
	}
	return stdout.String(), err
}

// askChrony reads "chronyc tracking": system time and what bounds it, root dispersion and half the root delay (chronyc(1)). In the table
// of values a positive system time is of a clock that is slow.
func askChrony(ctx context.Context, program string) (s Said, err error) {
	out, err := output(ctx, program, "-c", "-n", "tracking")
	if err != nil {
		return s, err
	}
	// refid, name, stratum, reference time, system time, last offset, RMS offset, frequency, residual, skew, root delay, root dispersion, ...
	fields := strings.Split(strings.TrimSpace(out), ",")
	if len(fields) < 12 {
		return s, fmt.Errorf("unexpected answer %q", out)
	}
	if fields[2] == "0" {
		return s, errors.New("chronyd is not synchronised")
	}
	v, err := numbers(fields[4], fields[10], fields[11])
	if err != nil {
		return s, err
	}
	return Said{int64(math.Round(v[0] * 1e9)), int64(math.Ceil((v[1]/2 + v[2]) * 1e9))}, nil
}

func chronyPackets(ctx context.Context, program string) (n uint64, ok bool) {
	out, err := output(ctx, program, "-n", "ntpdata")
	if err != nil {
		return 0, false
	}
	return sumOf(out, regexp.MustCompile(`(?m)^Total (?:TX|RX)\s*:\s*(\d+)`))
}

// askNTP reads the system variables of ntpd, which are in milliseconds. Its bound is the root distance (RFC 5905, section 11.2).
func askNTP(ctx context.Context, program string) (s Said, err error) {
	out, err := output(ctx, program, "-n", "-c", "rv 0 stratum,offset,rootdelay,rootdisp")
	if err != nil {
		return s, err
	}
	of := map[string]string{}
	for _, pair := range strings.FieldsFunc(out, func(r rune) bool { return r == ',' || r == '\n' }) {
		name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
		of[name] = value
	}
	if of["stratum"] == "16" {
		return s, errors.New("ntpd is not synchronised")
	}
	v, err := numbers(of["offset"], of["rootdelay"], of["rootdisp"])
	if err != nil {
		return s, fmt.Errorf("unexpected answer %q", out)
	}
	return Said{int64(math.Round(v[0] * 1e6)), int64(math.Ceil((v[1]/2 + v[2]) * 1e6))}, nil
}

func ntpPackets(ctx context.Context, program string) (n uint64, ok bool) {
	out, err := output(ctx, program, "-n", "-c", "iostats")
	if err != nil {
		return 0, false
	}
	return sumOf(out, regexp.MustCompile(`(?m)^(?:received packets|packets sent):\s*(\d+)`))
}

// askPTP reads the current data set (IEEE 1588, 8.2.2): offsetFromMaster is ours less theirs, in ns.
func askPTP(ctx context.Context, program string) (s Said, err error) {
	out, err := output(ctx, program, "-u", "-b", "0", "GET CURRENT_DATA_SET")
	if err != nil {
		return s, err
	}
	for lines := bufio.NewScanner(strings.NewReader(out)); lines.Scan(); {
		if f := strings.Fields(lines.Text()); len(f) == 2 && f[0] == "offsetFromMaster" {
			v, err := numbers(f[1])
			if err != nil {
				return s, err
			}
			return Said{int64(-math.Round(v[0])), -1}, nil
		}
	}
	return s, errors.New("ptp4l does not answer")
}

func numbers(texts ...string) ([]float64, error) {
	all := make([]float64, len(texts))
	for i, text := range texts {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.Abs(v) > 1e9 {
			return nil, fmt.Errorf("%q is no time", text)
		}
		all[i] = v
	}
	return all, nil
}

func sumOf(text string, number *regexp.Regexp) (sum uint64, ok bool) {
	for _, m := range number.FindAllStringSubmatch(text, -1) {
		n, err := strconv.ParseUint(m[1], 10, 64)
		if err != nil {
			return 0, false
		}
		sum, ok = sum+n, true
	}
	return sum, ok
}

// ticksPerSecond is USER_HZ, in which Linux tells processor times (proc(5)).
const ticksPerSecond = 100

// Processor returns the processor time that all processes of the daemon have taken; false if none runs or the system does not say.
func (p *Peer) Processor() (used time.Duration, ok bool) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// pid (name) state ... utime is the 14th field, stime the 15th.
		open, end := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
		if open < 0 || end < open || string(text[open+1:end]) != p.Name {
			continue
		}
		fields := strings.Fields(string(text[end+1:]))
		if len(fields) < 13 {
			continue
		}
		if v, err := numbers(fields[11], fields[12]); err == nil {
			used, ok = used+time.Duration((v[0]+v[1])*float64(time.Second)/ticksPerSecond), true
		}
	}
	return used, ok
}
