package simulation

import (
	"bytes"
	"encoding/binary"
	"maps"
	"path/filepath"
	"slices"

	"meridian/internal/collect/wire"
)

// audit compares what is on the disks of servers, after a power cut, with what was recorded:
//
//   - all that the directory has is on as many servers as are wanted, byte for byte;
//   - what they lack of files that were dropped is counted as lost;
//   - without a reason to lose anything nothing is lost, where all servers store the host; what is on others only may be counted as lost or away;
//   - no more counts as acknowledged than they have, whatever the agent's host has lost; what its account had left is acknowledged, lost or away;
//   - each packet is there once, or is in the count.
func (w *world) audit() {
	var recorded, lacking, had, lackingKnown int64
	disks := make([]map[string][]byte, len(w.servers))
	for i, s := range w.servers {
		disks[i] = s.view.left().Durable(hostDir)
	}
	for _, name := range slices.Sorted(maps.Keys(w.recorder.wrote)) {
		want := w.recorder.wrote[name]
		have := w.have(disks, name, want)
		lacks := int64(len(want)) - have
		if name == wire.Metadata {
			if lacks > 0 {
				w.violate("fewer than %d servers have the metadata", w.replicas)
			}
			continue
		}
		recorded += int64(len(want))
		had += have
		lackingKnown += max(min(w.recorder.sizes[name], int64(len(want)))-have, 0)
		if w.recorder.cut {
			if before := w.recorder.had[name]; have < before && w.disks == 0 && !w.recorder.gone[name] && w.replicas == len(w.servers) {
				w.violate("%s: servers had acknowledged %d bytes when the host lost power, and have %d", name, before, have)
			}
			if left := w.recorder.left[name]; have < left && !w.recorder.gone[name] {
				w.violate("%s: the host's disk had %d bytes, and %d servers have %d", name, left, w.replicas, have)
			}
			continue
		}
		if lacks > 0 && !w.recorder.gone[name] {
			w.violate("%s: %d servers have %d bytes of %d", name, w.replicas, have, len(want))
		}
		lacking += lacks
	}
	sum := w.sum
	if w.recorder.cut {
		if sum.Recorded < w.recorder.known || sum.Recorded > recorded {
			w.violate("%d bytes were recorded, of which the agent knew %d before the power cut, and it counts %d", recorded, w.recorder.known, sum.Recorded)
		}
	} else if sum.Recorded != recorded {
		w.violate("%d bytes were recorded, and the agent counts %d", recorded, sum.Recorded)
	}
	if lacking > sum.Lost+sum.Away && !w.recorder.forgot {
		w.violate("servers lack %d bytes, of which %d are counted as lost or away: %+v", lacking, sum.Lost+sum.Away, sum)
	}
	if lackingKnown > sum.Lost+sum.Away {
		w.violate("servers lack %d bytes of what the account had that the power cut left, of which %d are counted as lost or away: %+v", lackingKnown, sum.Lost+sum.Away, sum)
	}
	if sum.Acknowledged > had {
		w.violate("%d servers have %d bytes, and %d are counted as acknowledged: %+v", w.replicas, had, sum.Acknowledged, sum)
	}
	if sum.Lost > 0 && !w.recorder.cut && w.recorder.dropped == 0 && w.disks == 0 && w.replicas == len(w.servers) {
		w.violate("%d bytes count as lost, and nothing lost any", sum.Lost)
	}
	if sum.Acknowledged+sum.Lost+sum.Away != sum.Recorded {
		w.violate("not all is acknowledged, lost or away: %+v", sum)
	}
	w.auditNumbers(disks)
}

// have returns up to where as many servers as are wanted have a file as it was recorded.
func (w *world) have(disks []map[string][]byte, name string, want []byte) int64 {
	var have []int64
	for i, disk := range disks {
		got := disk[name]
		n := 0
		for n < min(len(got), len(want)) && got[n] == want[n] {
			n++
		}
		if name == wire.Metadata && !bytes.Equal(got, want) {
			n = 0
		}
		if w.replicas == len(disks) && len(got) > n && name != wire.Metadata && !w.unproven(name, n) {
			w.violate("%s: %s has other bytes from %d on, %d in all, of a file of %d", name, w.servers[i].name, n, len(got), len(want))
		}
		have = append(have, int64(n))
	}
	slices.Sort(have)
	return have[len(have)-w.replicas]
}

// unproven reports whether what a server has of a file from an offset on may be other bytes: the host lost power and has them no more, and the server, which
// did not acknowledge them, may have lost power as well. Readers find such by the checksums of packets.
func (w *world) unproven(name string, from int) bool {
	if w.recorder.gone[name] && w.serverPower {
		return true
	}
	return w.recorder.cut && int64(from) >= max(w.recorder.left[name], w.recorder.had[name])
}

// auditNumbers reads the packets of all servers together as one does that fetches them: a number is in one place of one file.
func (w *world) auditNumbers(disks []map[string][]byte) {
	seen := make(map[uint64]string)
	for _, disk := range disks {
		for name, b := range disk {
			if name == wire.Metadata || !bytes.HasPrefix(w.recorder.wrote[name], b) {
				continue // other bytes are told of already where they count
			}
			for at := 0; at+64 <= len(b); {
				number, size := binary.LittleEndian.Uint64(b[at+8:]), int(binary.LittleEndian.Uint64(b[at+56:])/8)
				if at+size > len(b) {
					break
				}
				if before, is := seen[number]; is && before != filepath.Base(name) {
					w.violate("packet %d is in %s and in %s", number, before, name)
				}
				seen[number] = name
				at += size
			}
		}
	}
	if missing := int64(w.recorder.number) - int64(len(seen)); missing > 0 && w.sum.Lost+w.sum.Away == 0 && !w.recorder.cut {
		w.violate("%d packets are on no server, and none is counted as lost", missing)
	}
}
