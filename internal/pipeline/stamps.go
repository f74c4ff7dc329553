package pipeline

import (
	"slices"

	"meridian/trace"
)

// linkNFLOG is the link type of what Linux's packet filter logs (LINKTYPE_NFLOG). libpcap stamps such a packet when it reads it
// (gettimeofday in pcap-netfilter-linux.c), not when it passed: what was sent may have a stamp later than that of its reception.
const linkNFLOG = 239

// warnOfLateStamps names the captures whose stamps are not those of their packets. No bound holds that rests on them.
func warnOfLateStamps(f *findings) {
	for _, c := range f.captures {
		if slices.ContainsFunc(c.Interfaces, func(i trace.Interface) bool { return i.LinkType == linkNFLOG }) {
			f.warnings.Add(c.File, "packets logged by netfilter (NFLOG) are stamped when tcpdump reads them, later than they passed, and bounds rest "+
				"on their stamps; capture on an interface (-i any) instead", "")
			f.breakPromise("the bounds rest on stamps of NFLOG in " + c.File + ", which are later than the packets passed")
		}
	}
}
