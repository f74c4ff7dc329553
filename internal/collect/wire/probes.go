package wire

import (
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
)

// Probing is what an agent says of the clock probes that its recorder exchanges with other hosts.
type Probing struct {
	// Address is where questions of other hosts are answered, ADDRESS:PORT; "" as long as it is not known.
	Address string      `json:"address,omitempty"`
	Pairs   []ProbePair `json:"pairs,omitempty"` // hosts that this one asks
	Error   string      `json:"error,omitempty"` // why the plan cannot be followed
}

// ProbePair is what is known of a host that is asked.
type ProbePair struct {
	Host      string `json:"host"`
	Exchanges uint64 `json:"exchanges,omitempty"` // with an answer
	Silent    bool   `json:"silent,omitempty"`    // it does not answer, or not any more
	// WidthNs is that of the strict bound of the offset, LeastRTTNs the least round trip. There is no bound where WidthNs is 0.
	WidthNs    int64  `json:"width_ns,omitempty"`
	LeastRTTNs int64  `json:"least_rtt_ns,omitempty"`
	Error      string `json:"error,omitempty"` // why it cannot be asked
}

// ProbePlan says which hosts a host asks. A server publishes it, whole, whenever it changes and every few seconds.
type ProbePlan struct {
	Version int         `json:"version"`
	Server  string      `json:"server"` // that plans the session
	Session string      `json:"session"`
	Key     string      `json:"key"` // of all hosts of the session: 64 hexadecimal digits
	Ask     []ProbePeer `json:"ask,omitempty"`
}

// ProbePeer is a host that is asked.
type ProbePeer struct {
	Host    string  `json:"host"`
	Address string  `json:"address"` // ADDRESS:PORT
	Rate    float64 `json:"rate"`    // exchanges per second at most
}

// Limits of plans.
const (
	MaxProbePairs = 64  // hosts that a host asks; what it says of all fits into its state
	MaxProbeRate  = 64  // exchanges per second with each
	MaxProbeError = 200 // bytes of a fault
)

// Check reports what is wrong with what an agent says.
func (p *Probing) Check() error {
	if p.Address != "" {
		if _, err := CheckProbeAddress(p.Address); err != nil {
			return err
		}
	}
	if len(p.Pairs) > MaxProbePairs {
		return fmt.Errorf("%d pairs of hosts that exchange probes; at most %d", len(p.Pairs), MaxProbePairs)
	}
	if len(p.Error) > MaxProbeError {
		return fmt.Errorf("a fault of %d bytes; at most %d", len(p.Error), MaxProbeError)
	}
	for _, x := range p.Pairs {
		switch err := CheckHost(x.Host); {
		case err != nil:
			return fmt.Errorf("a pair of hosts that exchange probes: %w", err)
		case x.WidthNs < 0 || x.LeastRTTNs < 0:
			return fmt.Errorf("the bound of %s has width %d ns, the round trip %d ns: neither is negative", x.Host, x.WidthNs, x.LeastRTTNs)
		case len(x.Error) > MaxProbeError:
			return fmt.Errorf("a fault of %d bytes; at most %d", len(x.Error), MaxProbeError)
		}
	}
	return nil
}

// print makes faults such that they may be shown to people.
func (p *Probing) print() {
	if p == nil {
		return
	}
	p.Error = printable(p.Error)
	for i := range p.Pairs {
		p.Pairs[i].Error = printable(p.Pairs[i].Error)
	}
}

// CheckProbeAddress refuses what is no address of one host and a port that other hosts can send to.
func CheckProbeAddress(address string) (netip.AddrPort, error) {
	a, err := netip.ParseAddrPort(address)
	if err != nil {
		return a, fmt.Errorf("address of probes: %w", err)
	}
	if ip := a.Addr(); a.Port() == 0 || ip.IsUnspecified() || ip.IsMulticast() || ip.Zone() != "" || ip == netip.AddrFrom4([4]byte{255, 255, 255, 255}) {
		return a, fmt.Errorf("address of probes %s: other hosts cannot send to it; give the agent --probe-address ADDRESS:PORT", address)
	}
	return a, nil
}

// Check reports what is wrong with a plan for a host of a session.
func (p *ProbePlan) Check(host, session string) error {
	switch key, err := hex.DecodeString(p.Key); {
	case p.Version != Version:
		return fmt.Errorf("the server speaks version %d of the protocol, the agent %d: update the older one", p.Version, Version)
	case p.Session != session:
		return fmt.Errorf("it is for session %q, not %q", p.Session, session)
	case err != nil || len(key) != 32:
		return errors.New("its key is not of 64 hexadecimal digits")
	case len(p.Ask) > MaxProbePairs:
		return fmt.Errorf("%d hosts to ask; at most %d", len(p.Ask), MaxProbePairs)
	}
	if err := CheckHost(p.Server); err != nil {
		return fmt.Errorf("the server's name: %w", err)
	}
	asked := make(map[string]bool)
	for _, a := range p.Ask {
		if err := CheckHost(a.Host); err != nil {
			return err
		}
		if _, err := CheckProbeAddress(a.Address); err != nil {
			return fmt.Errorf("%s: %w", a.Host, err)
		}
		switch {
		case a.Host == host || asked[a.Host]:
			return fmt.Errorf("%s is asked twice, or by itself", a.Host)
		case !(a.Rate > 0 && a.Rate <= MaxProbeRate):
			return fmt.Errorf("%s: rate %v is not in 0 to %d exchanges per second", a.Host, a.Rate, MaxProbeRate)
		}
		asked[a.Host] = true
	}
	return nil
}
