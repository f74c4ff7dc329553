package main_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"meridian/clock"
	"meridian/internal/sim"
)

// world is hosts whose clocks are known and what they sent each other, made from a description such as
//
//	host web offset=3.5s skew=40       its clock against true time: ahead, and so many ppm fast
//	host nic skew=-5 rx=37s            stamps what it receives by a second clock, 37 s ahead of the first
//	tcp web nic n=40 every=100ms       a connection with n requests, each answered
//	udp web nic n=40 every=100ms       n datagrams one way; reply=1 has each answered
//	capture web.pcap web               what web saw (captures_test.go)
//
// It is the truth that a run of the command is held against.
type world struct {
	directory string
	hosts     []*host
	packets   []packet
	captures  []*capture
	random    *rand.Rand
	ports     uint16
}

// epoch is when worlds begin: as far from zero as real stamps are.
const epoch = 1_700_000_000_000_000_000

type host struct {
	number int
	name   string
	addr   netip.Addr
	tx, rx sim.Clock // of what it sends and of what it receives; the same unless it has two
	two    bool
	ids    uint16
}

// packet is one frame on its way, in true time.
type packet struct {
	from, to      *host
	sent, arrived clock.TimelineTime
	data          []byte
}

// newWorld plays a description and writes its captures into a directory.
func newWorld(description, directory string) (*world, error) {
	w := &world{directory: directory, random: rand.New(rand.NewPCG(7, 11)), ports: 40000}
	for n, line := range strings.Split(description, "\n") {
		line, _, _ = strings.Cut(line, "#")
		var words []string
		values := make(settings)
		for _, word := range strings.Fields(line) {
			if name, value, ok := strings.Cut(word, "="); ok {
				values[name] = value
			} else {
				words = append(words, word)
			}
		}
		if len(words) == 0 {
			continue
		}
		if err := w.add(words, values); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
		if len(values) > 0 {
			return nil, fmt.Errorf("line %d: unknown settings %v", n+1, values)
		}
	}
	return w, nil
}

func (w *world) add(words []string, values settings) error {
	switch {
	case words[0] == "host" && len(words) == 2:
		return w.addHost(words[1], values)
	case words[0] == "tcp" && len(words) == 3:
		return w.addTalk(words[1], words[2], values, w.tcp)
	case words[0] == "udp" && len(words) == 3:
		return w.addTalk(words[1], words[2], values, w.udp)
	case words[0] == "capture" && len(words) >= 3:
		return w.addCapture(words[1], words[2], words[3:], values)
	}
	return fmt.Errorf("not known: %v", words)
}

func (w *world) addHost(name string, values settings) error {
	h := &host{number: len(w.hosts) + 1, name: name}
	h.addr = netip.AddrFrom4([4]byte{10, 0, 0, byte(h.number)})
	h.tx = sim.Clock{Origin: epoch, OffsetNs: int64(values.duration("offset", 0)), SkewPPM: values.number("skew", 0)}
	h.tx.Wave = sim.Wave{AmplitudePPM: values.number("wave", 0), Period: 10 * time.Second}
	h.rx = h.tx
	if second := values.duration("rx", 0); second != 0 {
		h.two = true
		h.rx.OffsetNs += int64(second)
		h.rx.SkewPPM += values.number("rxskew", 0)
	}
	w.hosts = append(w.hosts, h)
	return values.wrong()
}

func (w *world) host(name string) (*host, error) {
	if i := slices.IndexFunc(w.hosts, func(h *host) bool { return h.name == name }); i >= 0 {
		return w.hosts[i], nil
	}
	return nil, fmt.Errorf("no host %s", name)
}

// talk is one connection or flow of datagrams.
type talk struct {
	a, b          *host
	start         clock.TimelineTime
	n             int
	every         time.Duration
	delay, jitter time.Duration
	reply         bool
}

func (w *world) addTalk(from, to string, values settings, play func(*talk)) error {
	a, err := w.host(from)
	if err != nil {
		return err
	}
	b, err := w.host(to)
	if err != nil {
		return err
	}
	play(&talk{
		a: a, b: b, start: epoch + clock.TimelineTime(values.duration("start", 0)),
		n: int(values.number("n", 50)), every: values.duration("every", 200*time.Millisecond),
		delay: values.duration("delay", 200*time.Microsecond), jitter: values.duration("jitter", 100*time.Microsecond),
		reply: values.number("reply", 0) != 0,
	})
	return values.wrong()
}

// send puts a frame on its way at a true time and returns when it arrives.
func (w *world) send(t *talk, from *host, at clock.TimelineTime, data []byte) clock.TimelineTime {
	to := t.b
	if from == t.b {
		to = t.a
	}
	arrived := at + clock.TimelineTime(t.delay) + clock.TimelineTime(float64(t.jitter)*w.random.ExpFloat64())
	w.packets = append(w.packets, packet{from, to, at, arrived, data})
	return arrived
}

// settings are the name=value words of a line; each is deleted when it is used, and what is left is not known.
type settings map[string]string

func (s settings) duration(name string, otherwise time.Duration) time.Duration {
	return setting(s, name, otherwise, time.ParseDuration)
}

func (s settings) number(name string, otherwise float64) float64 {
	return setting(s, name, otherwise, func(text string) (float64, error) { return strconv.ParseFloat(text, 64) })
}

func setting[T any](s settings, name string, otherwise T, parse func(string) (T, error)) T {
	text, given := s[name]
	if !given {
		return otherwise
	}
	value, err := parse(text)
	if err == nil {
		delete(s, name) // what cannot be read stays, and wrong tells
	}
	return value
}

func (s settings) wrong() error {
	if len(s) > 0 {
		return fmt.Errorf("settings %v cannot be read", map[string]string(s))
	}
	return nil
}
