package packet

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

func TestExpressionsThatAreNotKnownSayWhatIs(t *testing.T) {
	for expression, want := range map[string]string{
		"tpc port 80":                  `unknown word "tpc"`,
		"port":                         "missing number",
		"port http":                    `invalid number "http": at most 65535 (names are not looked up)`,
		"port 65536":                   "at most 65535",
		"port 80-90":                   "write portrange 80-90",
		"portrange 80-x":               `invalid number "x"`,
		"host www.example.com":         "names are not looked up",
		"net 10.0.0.1/8":               "did you mean 10.0.0.0/8 or host 10.0.0.1?",
		"net 10":                       "write it as 10.0.0.0/8",
		"(tcp":                         "missing )",
		"tcp )":                        `unexpected ")"`,
		"tcp udp":                      `unexpected "udp": join tests`,
		"tcp[13] & 2 != 0":             `unknown word "tcp[13]"`,
		"tcp and":                      "missing address at the end",
		"icmp port 3":                  "icmp has no ports",
		"ip6 host 10.0.0.1":            "ip6 has no addresses such as 10.0.0.1",
		"src or src port 3":            "invalid direction",
		"host fe80::1%eth0":            "unknown word",
		"host 10.0.0.0 mask 255.0.0.0": "write net 10.0.0.0/BITS",
		"tcp proto 6":                  "only ip and ip6 before it",
		strings.Repeat("(", 200):       "more than 100 nested parentheses",
		strings.Repeat("not ", 200):    "more than 100",
	} {
		if _, err := parseFilter(expression); err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "filter ") {
			t.Errorf("%.40s: %v", expression, err)
		}
	}
}

// check is what the kernel asks of a program before it takes it (bpf_check_classic): jumps go forward and stay inside, it
// ends with a return, and memory is written before it is read.
func check(t interface{ Fatalf(string, ...any) }, code []instruction) {
	for i, c := range code {
		to := []int{i + 1}
		switch {
		case c.code == jump:
			to = []int{i + 1 + int(c.k)}
		case c.code&7 == 5:
			to = []int{i + 1 + int(c.jt), i + 1 + int(c.jf)}
		case c.code == ret:
			to = nil
		}
		for _, n := range to {
			if n >= len(code) {
				t.Fatalf("instruction %d of %d leads to %d", i, len(code), n)
			}
		}
	}
}

// Trees of tests of a packet's length, whose answer is known; the deep ones are longer than a short jump reaches.
func TestProgramsOfAnyLengthDecideAsTheirExpression(t *testing.T) {
	longest := 0
	testseed.Check(t, func(t *rapid.T) {
		packet := uint32(rapid.IntRange(0, 20).Draw(t, "length"))
		var build func(depth int) (filter, bool)
		build = func(depth int) (filter, bool) {
			kind := 0
			if depth > 0 {
				kind = rapid.IntRange(1, 4).Draw(t, "kind")
			}
			switch kind {
			case 1:
				f, v := build(depth - 1)
				return not{f}, !v
			case 2, 3, 4:
				a, v := build(depth - 1)
				b, w := build(depth - 1)
				if kind == 2 {
					return either{a, b}, v || w
				}
				return both{a, b}, v && w
			}
			l := length{uint32(rapid.IntRange(0, 20).Draw(t, "bytes")), rapid.Bool().Draw(t, "greater")}
			if l.greater {
				return l, packet >= l.bytes
			}
			return l, packet <= l.bytes
		}
		f, want := build(rapid.SampledFrom([]int{0, 2, 5, 11}).Draw(t, "depth"))
		code, err := compileFilter(f, nil, 77)
		if err != nil {
			t.Skip(err)
		}
		check(t, code)
		longest = max(longest, len(code))
		if got := run(code, packet); (got == 77) != want {
			t.Fatalf("%d instructions keep %d, want %t", len(code), got, want)
		}
	})
	if longest < 600 {
		t.Errorf("the longest program had %d instructions; no jump was too far", longest)
	}
}

// run runs a program that looks at nothing but the length of a packet of Ethernet.
func run(code []instruction, packet uint32) uint32 {
	a := uint32(0)
	for i := 0; ; i++ {
		c := code[i]
		holds := false
		switch c.code {
		case loadWord:
			a = map[uint32]uint32{aboutHardware: ethernet}[c.k]
		case loadLength:
			a = packet
		case loadImmX, storeX:
		case jump:
			i += int(c.k)
		case ret:
			return c.k
		case jumpEqual:
			holds = a == c.k
		case jumpAbove:
			holds = a > c.k
		case jumpFrom:
			holds = a >= c.k
		default:
			panic(c)
		}
		if c.code&7 == 5 && c.code != jump {
			if holds {
				i += int(c.jt)
			} else {
				i += int(c.jf)
			}
		}
	}
}

func FuzzFilter(f *testing.F) {
	for _, s := range []string{"tcp port 80 or 443", "src and dst host 10.0.0.1", "not (net 10.0.0.0/8 and ip6 proto 6)", "portrange 1-2 && less 9", "inbound!arp"} {
		f.Add(s)
	}
	testseed.Fuzz(f, func(t *testing.T, expression string) {
		filter, err := parseFilter(expression)
		if err != nil {
			return
		}
		code, err := compileFilter(filter, []int{1, 2}, 96)
		if err != nil {
			return
		}
		check(t, code)
	})
}
