package planned

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"meridian/internal/probe"
)

// Plan says with whom a host exchanges probes.
type Plan struct {
	// Listen is the address at which questions are answered, ADDRESS:PORT. "": nowhere.
	Listen string `json:"listen,omitempty"`
	// Key is the secret of all hosts of the plan: 64 hexadecimal digits.
	Key string `json:"key,omitempty"`
	Ask []Peer `json:"ask,omitempty"`
}

// Peer is a host that is asked.
type Peer struct {
	Name    string  `json:"name"`
	Address string  `json:"address"`        // HOST:PORT
	Rate    float64 `json:"rate,omitempty"` // exchanges per second at most; default 8
}

// State is how it goes.
type State struct {
	Listening string `json:"listening,omitempty"` // where questions are answered
	Error     string `json:"error,omitempty"`     // why the file or the address cannot be used
	Pairs     []Pair `json:"pairs,omitempty"`
}

// Pair is what is known of a host that is asked.
type Pair struct {
	Name      string `json:"name"`
	Address   string `json:"address"`
	Error     string `json:"error,omitempty"`     // why it cannot be asked
	Exchanges uint64 `json:"exchanges,omitempty"` // with an answer
	Silent    bool   `json:"silent,omitempty"`    // it does not answer, or not any more
	// Width is that of the strict bound of the free clocks' offset, LeastRTT the least round trip, ns. There is no bound where Width is 0.
	Width    int64 `json:"width_ns,omitempty"`
	LeastRTT int64 `json:"least_rtt_ns,omitempty"`
}

// Limits of a plan.
const (
	maxPlan     = 1 << 20
	maxPeers    = 256
	maxRate     = 1000
	defaultRate = 8
)

// Check reports what is wrong with a plan.
func (p *Plan) Check() error {
	if p.Listen != "" || len(p.Ask) > 0 {
		if _, err := p.key(); err != nil {
			return err
		}
	}
	if p.Listen != "" {
		if _, err := net.ResolveUDPAddr("udp", p.Listen); err != nil {
			return fmt.Errorf("listen: %w", err)
		}
	}
	if len(p.Ask) > maxPeers {
		return fmt.Errorf("%d hosts to ask; at most %d", len(p.Ask), maxPeers)
	}
	names := make(map[string]bool)
	for _, a := range p.Ask {
		switch _, port, err := net.SplitHostPort(a.Address); {
		case err != nil || port == "" || port == "0":
			return fmt.Errorf("address %q of %q is not HOST:PORT", a.Address, a.Name)
		case a.Name == "" || names[a.Name]:
			return fmt.Errorf("two hosts, or none, are named %q", a.Name)
		case !(a.Rate >= 0 && a.Rate <= maxRate):
			return fmt.Errorf("rate %v of %q is not in 0 to %d exchanges per second", a.Rate, a.Name, maxRate)
		}
		names[a.Name] = true
	}
	return nil
}

func (p *Plan) key() (k probe.Key, err error) {
	if b, err := hex.DecodeString(p.Key); err != nil || copy(k[:], b) != len(k) || len(b) != len(k) {
		return k, errors.New("key: not 64 hexadecimal digits")
	}
	return k, nil
}

// same reports whether two plans ask one host in the same place, at whatever rate.
func (a *Peer) same(b Peer) bool { return a.Name == b.Name && a.Address == b.Address }

// rate returns the greatest rate at which a host is asked.
func (a *Peer) rate() float64 {
	if a.Rate == 0 || math.IsNaN(a.Rate) {
		return defaultRate
	}
	return a.Rate
}

// Read reads a plan. It refuses a file that others than its owner can read or write, since it has a key.
func Read(path string) (p Plan, err error) {
	f, err := os.Open(path)
	if err != nil {
		return p, fmt.Errorf("plan of probes: %w", err)
	}
	defer f.Close()
	switch s, err := f.Stat(); {
	case err != nil:
		return p, fmt.Errorf("plan of probes: %w", err)
	case !s.Mode().IsRegular():
		return p, fmt.Errorf("plan of probes: %s: not a regular file", path)
	case s.Mode().Perm()&0o077 != 0 && runtime.GOOS != "windows":
		return p, fmt.Errorf("plan of probes: %s: others can read or write it (mode %#o); run: chmod 600 %s", path, s.Mode().Perm(), path)
	}
	b, err := io.ReadAll(io.LimitReader(f, maxPlan+1))
	if err == nil && len(b) > maxPlan {
		err = fmt.Errorf("longer than %d bytes", maxPlan)
	}
	if err == nil {
		d := json.NewDecoder(bytes.NewReader(b))
		d.DisallowUnknownFields()
		err = d.Decode(&p)
	}
	if err == nil {
		err = p.Check()
	}
	if err != nil {
		return Plan{}, fmt.Errorf("plan of probes: %s: %w", path, err)
	}
	return p, nil
}

// Write writes a plan, whole or not at all, readable by its owner alone.
func (p *Plan) Write(path string) error {
	if err := p.Check(); err != nil {
		return fmt.Errorf("plan of probes: %w", err)
	}
	return write(path, p)
}

// StateFile returns the file that says how it goes with a plan.
func StateFile(plan string) string { return plan + ".state" }

// ReadState reads how it goes with a plan.
func ReadState(plan string) (s State, err error) {
	b, err := os.ReadFile(StateFile(plan))
	if err == nil {
		err = json.Unmarshal(b, &s)
	}
	return s, err
}

// write writes JSON into a file that others see whole. Nothing is synced: what is lost is written again.
func write(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(f.Name()))
	}
	return err
}
