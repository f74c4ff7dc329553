package pcap

import "encoding/binary"

// Options of a packet that hold numbers and so must be turned round in big-endian files. All others are text, or bytes
// whose order the standard fixes.
const (
	endOfOptions    = 0
	flagsOption     = 2
	dropsOption     = 4
	packetIDOption  = 5
	queueOption     = 6
	customText      = 2988 // and three more: the number of an enterprise, then what only it knows
	customBytes     = 2989
	customTextStay  = 19372
	customBytesStay = 19373
)

// eachOption calls visit for each option of a list, as far as it is sound.
func eachOption(list []byte, order binary.ByteOrder, visit func(code uint16, value []byte)) {
	for len(list) >= 4 {
		code, length := order.Uint16(list), int(order.Uint16(list[2:]))
		if code == endOfOptions || len(list) < 4+length {
			return
		}
		visit(code, list[4:4+length])
		list = list[min(len(list), 4+(length+3)&^3):]
	}
}

// takeOptions returns a packet's options as a little-endian list without its end, nil if there are none. What is unsound
// at the end of the list is left out.
func (r *Reader) takeOptions(list []byte) []byte {
	n := 0
	for len(list)-n >= 4 {
		code, length := r.order.Uint16(list[n:]), int(r.order.Uint16(list[n+2:]))
		padded := (length + 3) &^ 3
		if code == endOfOptions || len(list)-n < 4+padded {
			break
		}
		n += 4 + padded
	}
	if n == 0 {
		return nil
	}
	if !r.big {
		return list[:n:n]
	}
	r.options = append(r.options[:0], list[:n]...)
	turnOptions(r.options)
	return r.options
}

// turnOptions makes a sound big-endian list little-endian, in place.
func turnOptions(list []byte) {
	for len(list) >= 4 {
		code, length := binary.BigEndian.Uint16(list), int(binary.BigEndian.Uint16(list[2:]))
		binary.LittleEndian.PutUint16(list, code)
		binary.LittleEndian.PutUint16(list[2:], uint16(length))
		value := list[4 : 4+length]
		switch {
		case (code == flagsOption || code == queueOption) && length == 4,
			(code == customText || code == customBytes || code == customTextStay || code == customBytesStay) && length >= 4:
			binary.LittleEndian.PutUint32(value, binary.BigEndian.Uint32(value))
		case (code == dropsOption || code == packetIDOption) && length == 8:
			binary.LittleEndian.PutUint64(value, binary.BigEndian.Uint64(value))
		}
		list = list[4+(length+3)&^3:]
	}
}

// packetFlags returns the value of epb_flags in a little-endian list, 0 without one.
func packetFlags(list []byte) uint32 {
	for len(list) >= 4 {
		code, length := binary.LittleEndian.Uint16(list), int(binary.LittleEndian.Uint16(list[2:]))
		next := 4 + (length+3)&^3
		if len(list) < next {
			return 0
		}
		if code == flagsOption && length == 4 {
			return binary.LittleEndian.Uint32(list[4:])
		}
		list = list[next:]
	}
	return 0
}
