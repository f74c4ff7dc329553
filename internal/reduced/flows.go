package reduced

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"

	"meridian/trace"
)

// Bits of a flow's first byte.
const (
	tunnelled = 1 << iota
	mirrored
)

// appendFlows appends flows: for each what it has, the protocol, both ends, the link-layer addresses, and those of its tunnel.
func appendFlows(b []byte, flows []trace.Flow) []byte {
	b = binary.AppendUvarint(b, uint64(len(flows)))
	for i := range flows {
		f := &flows[i]
		var has byte
		if !f.Tunnel.IsZero() {
			has |= tunnelled
		}
		if f.Tunnel.Mirror {
			has |= mirrored
		}
		b = append(b, has, f.Protocol)
		for _, end := range []trace.Endpoint{f.Low, f.High} {
			b = binary.BigEndian.AppendUint16(appendAddress(b, end.Addr), end.Port)
		}
		for d := range 2 {
			b = append(append(b, f.Source[d][:]...), f.Target[d][:]...)
		}
		if has&tunnelled != 0 {
			b = binary.AppendUvarint(appendAddress(appendAddress(b, f.Tunnel.From), f.Tunnel.To), uint64(f.Tunnel.ID))
		}
	}
	return b
}

// appendAddress appends the length of an address and its bytes.
func appendAddress(b []byte, a netip.Addr) []byte {
	raw := a.AsSlice()
	return append(append(b, byte(len(raw))), raw...)
}

var errFlows = errors.New("flows: they end early")

// flowReader reads flows. After an error it reads zeros.
type flowReader struct {
	b   []byte
	err error
}

func (r *flowReader) bytes(n int) []byte {
	if r.err == nil && n > len(r.b) {
		r.err = errFlows
	}
	if r.err != nil {
		return make([]byte, n)
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *flowReader) number() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 && r.err == nil {
		r.err = errFlows
	}
	if r.err != nil {
		return 0
	}
	r.b = r.b[n:]
	return v
}

func (r *flowReader) address() netip.Addr {
	n := int(r.bytes(1)[0])
	if n == 0 {
		return netip.Addr{}
	}
	a, ok := netip.AddrFromSlice(r.bytes(n))
	if !ok && r.err == nil {
		r.err = fmt.Errorf("flows: an address of %d bytes", n)
	}
	return a
}

// leastFlow is how many bytes a flow has at least.
const leastFlow = 2 + 2*(1+2) + 4*6

// parseFlows parses what [appendFlows] wrote.
func parseFlows(b []byte) ([]trace.Flow, error) {
	r := &flowReader{b: b}
	n := r.number()
	if r.err == nil && n > uint64(len(r.b)/leastFlow) {
		return nil, fmt.Errorf("flows: %d in %d bytes", n, len(r.b))
	}
	var flows []trace.Flow
	if n > 0 {
		flows = make([]trace.Flow, n)
	}
	for i := range flows {
		f := &flows[i]
		start := r.bytes(2)
		has := start[0]
		f.Protocol, f.Tunnel.Mirror = start[1], has&mirrored != 0
		for _, end := range []*trace.Endpoint{&f.Low, &f.High} {
			end.Addr = r.address()
			end.Port = binary.BigEndian.Uint16(r.bytes(2))
		}
		for d := range 2 {
			copy(f.Source[d][:], r.bytes(6))
			copy(f.Target[d][:], r.bytes(6))
		}
		if has&tunnelled != 0 {
			f.Tunnel.From, f.Tunnel.To = r.address(), r.address()
			id := r.number()
			if id > 1<<32-1 && r.err == nil {
				r.err = fmt.Errorf("flows: the tunnel of flow %d has number %d", i, id)
			}
			f.Tunnel.ID = uint32(id)
		}
		if r.err != nil {
			return nil, r.err
		}
	}
	if r.err == nil && len(r.b) > 0 {
		r.err = fmt.Errorf("flows: %d bytes behind them", len(r.b))
	}
	return flows, r.err
}
