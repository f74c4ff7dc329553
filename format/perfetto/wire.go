package perfetto

import (
	"math"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"meridian/format/internal/timeline"
)

// Numbers of fields and values of enumerations, each under the message's name in Perfetto's .proto files.
const (
	tracePacket = 1 // Trace

	packetClockSnapshot = 6 // TracePacket
	packetTimestamp     = 8
	packetSequence      = 10 // trusted_packet_sequence_id
	packetTrackEvent    = 11
	packetInterned      = 12
	packetFlags         = 13
	packetDefaults      = 59
	packetDescriptor    = 60

	stateCleared = 1 // SequenceFlags
	stateNeeded  = 2

	defaultsClock = 58 // TracePacketDefaults.timestamp_clock_id

	snapshotClock   = 1 // ClockSnapshot
	snapshotPrimary = 2
	clockID         = 1 // ClockSnapshot.Clock
	clockTimestamp  = 2

	realtime = 1 // BuiltinClock
	boottime = 6

	trackUUID        = 1 // TrackDescriptor
	trackName        = 2
	trackParent      = 5
	trackCounter     = 8
	trackOrdering    = 11 // of its children
	trackRank        = 12 // among its siblings
	trackDescription = 14
	trackMerging     = 15

	orderingExplicit = 3 // ChildTracksOrdering
	mergingNone      = 2 // SiblingMergeBehavior

	counterUnit = 3 // CounterDescriptor
	unitNS      = 1
	unitBytes   = 3

	eventCategory    = 3 // TrackEvent
	eventAnnotation  = 4
	eventType        = 9
	eventName        = 10
	eventTrack       = 11
	eventCount       = 30
	eventRealCount   = 44
	eventFlow        = 47
	eventLastFlow    = 48 // terminating_flow_ids
	eventCorrelation = 52

	typeBegin   = 1 // TrackEvent.Type
	typeEnd     = 2
	typeInstant = 3
	typeCounter = 4

	noteName    = 1 // DebugAnnotation
	noteBool    = 2
	noteUint    = 3
	noteInt     = 4
	noteReal    = 5
	noteText    = 6
	notePointer = 7 // a number that people read in hexadecimal
	noteEntries = 11
	noteItems   = 12

	internedCategory = 1 // InternedData
	internedEvent    = 2
	internedNote     = 3
	internedID       = 1 // EventName and its like
	internedName     = 2
)

// sequence is the one writer that Perfetto sees.
const sequence = 1

func number(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), v)
}

func fixed(b []byte, field protowire.Number, v uint64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), v)
}

func double(b []byte, field protowire.Number, v float64) []byte {
	return fixed(b, field, math.Float64bits(v))
}

// text appends a text from a trace, of which nothing is known: what is no UTF-8 becomes U+FFFD, and so does a zero byte,
// at which Perfetto's viewer would end it.
func text[T string | []byte](b []byte, field protowire.Number, s T) []byte {
	clean := true
	for i := 0; i < len(s) && clean; i++ {
		clean = s[i] != 0 && s[i] < utf8.RuneSelf
	}
	b = protowire.AppendTag(b, field, protowire.BytesType)
	if clean {
		return append(protowire.AppendVarint(b, uint64(len(s))), s...)
	}
	b, at := open(b)
	for i := 0; i < len(s); {
		r, n := timeline.DecodeRune(s, i)
		i += n
		if r == 0 {
			r = utf8.RuneError
		}
		b = utf8.AppendRune(b, r)
	}
	b, _ = end(b, at)
	return b
}

// message begins a nested message, which end ends.
func message(b []byte, field protowire.Number) ([]byte, int) {
	return open(protowire.AppendTag(b, field, protowire.BytesType))
}

// open leaves a byte for the length of what follows.
func open(b []byte) ([]byte, int) { return append(b, 0), len(b) }

// end fills in the length of what was opened at a place, and says by how many bytes it had to be moved for that.
func end(b []byte, at int) ([]byte, int) {
	n := len(b) - at - 1
	if n < 0x80 {
		b[at] = byte(n)
		return b, 0
	}
	moved := protowire.SizeVarint(uint64(n)) - 1
	for range moved {
		b = append(b, 0)
	}
	copy(b[at+1+moved:], b[at+1:len(b)-moved])
	protowire.AppendVarint(b[at:at], uint64(n))
	return b, moved
}

// slotSize is the size of a track's number that is filled in later, a varint longer than it need be.
const slotSize = 4

func fillSlot(b []byte, uuid uint64) {
	_ = b[slotSize-1]
	for i := range slotSize - 1 {
		b[i] = byte(uuid) | 0x80
		uuid >>= 7
	}
	b[slotSize-1] = byte(uuid) & 0x7f
}

// appendPreamble appends the first packet: it begins the sequence's state, and says that stamps are of REALTIME and are
// to be shown so. BOOTTIME is there because that is what Perfetto falls back to.
func appendPreamble(b []byte, stamp uint64) []byte {
	b, packet := message(b, tracePacket)
	b = number(b, packetSequence, sequence)
	b = number(b, packetFlags, stateCleared)
	b, snapshot := message(b, packetClockSnapshot)
	for _, id := range []uint64{realtime, boottime} {
		var clock int
		b, clock = message(b, snapshotClock)
		b = number(b, clockID, id)
		b = number(b, clockTimestamp, stamp)
		b, _ = end(b, clock)
	}
	b = number(b, snapshotPrimary, realtime)
	b, _ = end(b, snapshot)
	b, defaults := message(b, packetDefaults)
	b = number(b, defaultsClock, realtime)
	b, _ = end(b, defaults)
	b, _ = end(b, packet)
	return b
}
