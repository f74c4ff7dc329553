package lttng

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"

	"github.com/gopacket/gopacket/layers"
	"github.com/gopacket/gopacket/pcapgo"

	"meridian/clock"
)

// linuxSLL2 is LINKTYPE_LINUX_SLL2.
const linuxSLL2 layers.LinkType = 276

// FromCapture returns the IP packets of a classic capture file that a host sent or received, at the file's stamps. Where
// the link says nothing of the direction, the host's addresses do. It is read by gopacket, not by what is under test.
func FromCapture(path string, own ...netip.Addr) ([]Packet, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := pcapgo.NewReader(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	var all []Packet
	for {
		data, info, err := r.ReadPacketData()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: packet %d: %w", path, len(all), err)
		}
		p := Packet{At: clock.TimelineTime(info.Timestamp.UnixNano())}
		skip, protocol, known := 0, 0, false
		switch r.LinkType() {
		case layers.LinkTypeEthernet:
			skip, protocol = 14, 12
		case layers.LinkTypeLinuxSLL:
			skip, protocol, known = 16, 14, true
			p.Sent = len(data) > 1 && data[1] == 4
		case linuxSLL2:
			skip, protocol, known = 20, 0, true
			p.Sent = len(data) > 10 && data[10] == 4
		default:
			return nil, fmt.Errorf("%s: link type %v", path, r.LinkType())
		}
		if len(data) < skip {
			continue
		}
		if kind := binary.BigEndian.Uint16(data[protocol:]); kind != 0x0800 && kind != 0x86dd {
			continue
		}
		p.Data, p.Wire = data[skip:], info.Length-skip
		if !known {
			from, to, ok := addresses(p.Data)
			if p.Sent = ok && among(from, own); !p.Sent && !(ok && among(to, own)) {
				continue
			}
		}
		all = append(all, p)
	}
}

func addresses(d []byte) (from, to netip.Addr, ok bool) {
	switch {
	case len(d) >= 20 && d[0]>>4 == 4:
		from, _ = netip.AddrFromSlice(d[12:16])
		to, ok = netip.AddrFromSlice(d[16:20])
	case len(d) >= 40 && d[0]>>4 == 6:
		from, _ = netip.AddrFromSlice(d[8:24])
		to, ok = netip.AddrFromSlice(d[24:40])
	}
	return from, to, ok
}

func among(a netip.Addr, all []netip.Addr) bool {
	for _, x := range all {
		if x == a {
			return true
		}
	}
	return false
}
