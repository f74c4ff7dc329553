package packet

import "fmt"

// instruction is one of classic BPF, as the kernel takes it (struct sock_filter).
type instruction struct {
	code   uint16
	jt, jf uint8
	k      uint32
}

// Codes of classic BPF (linux/filter.h).
const (
	loadWord   = 0x20 // A = word at k
	loadWordX  = 0x40 // A = word at X + k
	loadHalfX  = 0x48
	loadByteX  = 0x50
	loadLength = 0x80 // A = length of the packet
	loadImmX   = 0x01 // X = k
	loadMemX   = 0x61 // X = M[k]
	storeX     = 0x03 // M[k] = X
	loadMem    = 0x60 // A = M[k]
	addX       = 0x0c // A += X
	addK       = 0x04
	andK       = 0x54
	shiftLeft  = 0x64
	moveAtoX   = 0x07
	jump       = 0x05
	jumpEqual  = 0x15
	jumpAbove  = 0x25 // A > k
	jumpFrom   = 0x35 // A >= k
	jumpSet    = 0x45 // A & k
	ret        = 0x06 // accept k bytes of the packet; 0 rejects it
)

// Offsets at which words about the packet are loaded that are not in it (SKF_AD_OFF, linux/filter.h).
const (
	aboutProtocol  = 0xfffff000
	aboutDirection = 0xfffff004
	aboutInterface = 0xfffff008
	aboutHardware  = 0xfffff01c
)

const (
	outgoing   = 4    // PACKET_OUTGOING
	maxProgram = 4096 // BPF_MAXINSNS
	ethernet   = 1
	loopback   = 772
	headerOfIP = 0 // index in M of the offset of the network header
)

// label is an instruction of a program, counted from its end, so that it stays the same while code is put in front.
type label int

// program is code in the order from its last instruction to its first. All jumps of classic BPF go forward: built from the end,
// the target of every jump is known.
type program struct {
	reversed []instruction
}

// put puts instructions, in the order in which they run, in front, and returns the place of the first.
func (p *program) put(code ...instruction) label {
	for i := len(code) - 1; i >= 0; i-- {
		p.reversed = append(p.reversed, code[i])
	}
	return label(len(p.reversed))
}

// far returns how many instructions a jump that is put in front next passes over to arrive there.
func (p *program) far(to label) int { return len(p.reversed) - int(to) }

// branch puts a jump in front that goes to yes if the test holds and to no if not. Where they are too far for its 8 bits, it
// goes over jumps of 32.
func (p *program) branch(code uint16, k uint32, yes, no label) label {
	const reach = 255
	if p.far(yes) > reach-1 {
		yes = p.put(instruction{code: jump, k: uint32(p.far(yes))})
	}
	if p.far(no) > reach {
		no = p.put(instruction{code: jump, k: uint32(p.far(no))})
	}
	return p.put(instruction{code: code, k: k, jt: uint8(p.far(yes)), jf: uint8(p.far(no))})
}

func (f not) compile(p *program, yes, no label) label { return f.of.compile(p, no, yes) }
func (f both) compile(p *program, yes, no label) label {
	return f.a.compile(p, f.b.compile(p, yes, no), no)
}
func (f either) compile(p *program, yes, no label) label {
	return f.a.compile(p, yes, f.b.compile(p, yes, no))
}

// compileFilter makes the program of a capture, which returns how many bytes of a packet are captured. A nil filter accepts all
// packets. Without interfaces those of all are captured.
//
//	other interface, or loopback and outgoing (it will also arrive)?   reject
//	unknown link layer?                                                accept: the reader counts it
//	M[0] = offset of the network header
//	filter holds?                                                      accept, else reject
func compileFilter(f filter, interfaces []int, snaplen uint32) ([]instruction, error) {
	p := &program{}
	no := p.put(instruction{code: ret})
	yes := p.put(instruction{code: ret, k: snaplen})
	body := yes
	if f != nil {
		body = f.compile(p, yes, no)
	}
	body = p.put(instruction{code: storeX, k: headerOfIP})
	header := func(n uint32) label {
		return p.put(instruction{code: loadImmX, k: n}, instruction{code: jump, k: uint32(p.far(body))})
	}
	none := header(0)
	framed := header(14)
	ask := p.branchAfterLoad(aboutDirection, outgoing, no, framed)
	at := yes
	for _, hardware := range rawHardware {
		at = p.branch(jumpEqual, uint32(hardware), none, at)
	}
	at = p.branch(jumpEqual, loopback, ask, at)
	p.branch(jumpEqual, ethernet, framed, at)
	at = p.put(instruction{code: loadWord, k: aboutHardware})
	if len(interfaces) > 0 {
		for i, index := range interfaces {
			otherwise := no
			if i > 0 {
				otherwise = label(len(p.reversed))
			}
			p.branch(jumpEqual, uint32(index), at, otherwise)
		}
		p.put(instruction{code: loadWord, k: aboutInterface})
	}
	if len(p.reversed) > maxProgram {
		return nil, fmt.Errorf("the filter has %d instructions, and the kernel accepts %d: shorten it", len(p.reversed), maxProgram)
	}
	code := make([]instruction, 0, len(p.reversed))
	for i := len(p.reversed) - 1; i >= 0; i-- {
		code = append(code, p.reversed[i])
	}
	return code, nil
}

// branchAfterLoad tests a word about the packet for equality.
func (p *program) branchAfterLoad(about, k uint32, yes, no label) label {
	p.branch(jumpEqual, k, yes, no)
	return p.put(instruction{code: loadWord, k: about})
}
