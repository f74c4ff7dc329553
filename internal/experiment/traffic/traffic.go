// Package traffic has the texts by which nftables and tc disturb the packets that leave by an interface: of links, which places make, and
// of faults, which daemons make. Both ends of an experiment so disturb packets in the same way.
//
//	program --> protocols --> egress hook: Loss --> discipline: Delay --> interface
//
// What is dropped by the hook was not captured, what is delayed was.
package traffic

import (
	"fmt"
	"strconv"
	"time"
)

// million is the resolution of losses.
const million = 1_000_000

// Loss returns a chain for "nft -f", within a table of the family netdev, that drops a part of the IP packets of a device; part is above 0, and
// all of them from 1. Less than one of a million counts as one.
func Loss(chain, device string, part float64) string {
	chosen := "" // all: nft refuses a number that is the modulus
	if n := max(1, int(part*million)); n < million {
		chosen = fmt.Sprintf("numgen random mod %d < %d", million, n)
	}
	return fmt.Sprintf("chain %s {\ntype filter hook egress device \"%s\" priority 0;\nmeta protocol { ip, ip6 } %s drop\n}\n", chain, device, chosen)
}

// delayed is how many packets a discipline holds.
const delayed = 100_000

// Delay returns the words of a discipline for "tc qdisc add" that sends the packets of a device later. Loss and order are as before.
func Delay(d time.Duration) []string {
	return []string{"netem", "delay", strconv.FormatInt(d.Microseconds(), 10) + "us", "limit", strconv.Itoa(delayed)}
}
