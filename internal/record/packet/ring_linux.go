package packet

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"meridian/clock"
)

const (
	blockSize     = 256 << 10 // longer than the longest frame
	retireTimeout = 50        // ms after which the kernel hands over a block that is not full, at most
	// The room that the kernel leaves in front of a frame: the addresses move there when a VLAN's tag is put back.
	tagLength = 4
)

// Offsets in a block and in a packet (tpacket_block_desc, tpacket3_hdr), in the machine's byte order.
const (
	blockStatus  = 8
	blockPackets = 12
	blockFirst   = 16
	blockHeader  = 48

	packetNext   = 0
	packetSec    = 4
	packetNsec   = 8
	packetKept   = 12
	packetWire   = 16
	packetStatus = 20
	packetMAC    = 24
	packetTag    = 32
	packetType   = 36 // of the tag
	packetHeader = 48
	linkIndex    = packetHeader + 4 // in sockaddr_ll behind it: family, protocol (2 each), index (4), hardware (2), kind (1)
	linkHardware = packetHeader + 8
	linkKind     = packetHeader + 10
	linkEnd      = packetHeader + 20
)

// ring is the memory that the kernel fills.
type ring struct {
	memory []byte
	blocks int
	at     int // the block that comes next
}

// retireAfter returns the kernel's time-out of a block, in ms, for Options.Pause.
func retireAfter(pause time.Duration) uint32 {
	if pause <= 0 {
		return retireTimeout
	}
	return uint32(min(max(pause/time.Millisecond, 1), retireTimeout))
}

// newRing makes the ring of a socket.
func newRing(fd, size int, pause time.Duration) (*ring, error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_VERSION, unix.TPACKET_V3); err != nil {
		return nil, fmt.Errorf("the kernel has no TPACKET_V3 (Linux 3.2): %w", err)
	}
	if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, unix.PACKET_RESERVE, tagLength); err != nil {
		return nil, fmt.Errorf("PACKET_RESERVE: %w", err)
	}
	const frame = 2048 // no limit in this version, but it must divide the block
	r := &ring{blocks: max(2, size/blockSize)}
	request := unix.TpacketReq3{Block_size: blockSize, Block_nr: uint32(r.blocks), Frame_size: frame,
		Frame_nr: uint32(r.blocks * blockSize / frame), Retire_blk_tov: retireAfter(pause)}
	if err := unix.SetsockoptTpacketReq3(fd, unix.SOL_PACKET, unix.PACKET_RX_RING, &request); err != nil {
		if errors.Is(err, unix.ENOMEM) || errors.Is(err, unix.EINVAL) {
			return nil, fmt.Errorf("no memory for a ring of %d MiB; ask for a smaller buffer: %w", r.blocks*blockSize>>20, err)
		}
		return nil, fmt.Errorf("PACKET_RX_RING: %w", err)
	}
	memory, err := unix.Mmap(fd, 0, r.blocks*blockSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("mapping a ring of %d MiB: %w", r.blocks*blockSize>>20, err)
	}
	r.memory = memory
	return r, nil
}

func (r *ring) close() {
	if r.memory != nil {
		_ = unix.Munmap(r.memory)
		r.memory = nil
	}
}

// status is the word that says whose the next block is. Each side writes it last, after all other accesses to the block.
func (r *ring) status() *uint32 {
	return (*uint32)(unsafe.Pointer(&r.memory[r.at*blockSize+blockStatus]))
}

// ready reports whether the kernel has handed over the next block. The atomic load (an acquire) orders the reads of the
// block after it.
func (r *ring) ready() bool { return atomic.LoadUint32(r.status())&unix.TP_STATUS_USER != 0 }

func (r *ring) block() []byte { return r.memory[r.at*blockSize : (r.at+1)*blockSize] }

// release hands the block back and goes to the next. The atomic store (a release) orders all reads of the block before it.
func (r *ring) release() {
	atomic.StoreUint32(r.status(), unix.TP_STATUS_KERNEL)
	r.at = (r.at + 1) % r.blocks
}

var errRing = errors.New("the ring shared with the kernel is inconsistent")

// raw is a packet in a block.
type raw struct {
	time     clock.HostTime
	wire     uint32
	data     []byte // from the link header on, with the VLAN's tag
	index    int
	hardware uint16
	kind     uint8
}

// eachPacket calls visit for the packets of a block. It checks every offset against the block, though only the kernel
// writes there.
func eachPacket(block []byte, visit func(*raw) error) error {
	order := binary.NativeEndian
	next := uint64(order.Uint32(block[blockFirst:]))
	at := uint64(0)
	var p raw
	for range order.Uint32(block[blockPackets:]) {
		if at += next; next < 8 || at%8 != 0 || at < blockHeader || at+linkEnd > uint64(len(block)) {
			return errRing
		}
		b := block[at:]
		next = uint64(order.Uint32(b[packetNext:]))
		mac, kept := uint64(order.Uint16(b[packetMAC:])), uint64(order.Uint32(b[packetKept:]))
		if mac < linkEnd+tagLength || mac+kept > uint64(len(b)) {
			return errRing
		}
		p = raw{
			time: clock.HostTime(int64(order.Uint32(b[packetSec:]))*1_000_000_000) + clock.HostTime(order.Uint32(b[packetNsec:])),
			wire: order.Uint32(b[packetWire:]), data: b[mac : mac+kept : mac+kept],
			index: int(order.Uint32(b[linkIndex:])), hardware: order.Uint16(b[linkHardware:]), kind: b[linkKind],
		}
		if status := order.Uint32(b[packetStatus:]); status&unix.TP_STATUS_VLAN_VALID != 0 && kept >= 12 {
			kind := uint16(0x8100)
			if status&unix.TP_STATUS_VLAN_TPID_VALID != 0 {
				kind = order.Uint16(b[packetType:])
			}
			p.data = b[mac-tagLength : mac+kept : mac+kept]
			copy(p.data, p.data[tagLength:tagLength+12])
			binary.BigEndian.PutUint16(p.data[12:], kind)
			binary.BigEndian.PutUint16(p.data[14:], uint16(order.Uint32(b[packetTag:])))
			p.wire += tagLength
		}
		if err := visit(&p); err != nil {
			return err
		}
	}
	return nil
}
