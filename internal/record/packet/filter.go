package packet

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// filter is a condition on a packet: one of not, both, either, and the tests in primitive.go.
type filter interface {
	// compile puts code in front of that in p. It continues at yes or at no.
	compile(p *program, yes, no label) label
	// decide returns what it is for headers alone.
	decide(h *Headers) verdict
}

type not struct{ of filter }
type both struct{ a, b filter }
type either struct{ a, b filter }

// parseFilter reads an expression as tcpdump writes it:
//
//	expression  term {("and"|"&&"|"or"|"||") term}        both bind alike, from the left, as in tcpdump
//	term        ["not"|"!"] term | "(" expression ")" | test
//	test        protocol | "less" N | "greater" N | "inbound" | "outbound"
//	            [protocol] [direction] ("host"|"net"|"port"|"portrange") value
//	            ["ip"|"ip6"] "proto" N | value            what the test before asked, of another value
//	protocol    ip ip6 arp rarp tcp udp sctp icmp icmp6 igmp
//	direction   src dst "src or dst" "src and dst"
//
// A value without a word in front takes the words of the test before it ("port 80 or 443"), or is a host. Names of hosts and
// services are not looked up: a name may mean another address by the time the capture is read.
func parseFilter(expression string) (filter, error) {
	p := parser{words: words(expression), last: question{kind: "host"}}
	f, err := p.expression()
	if err == nil && p.at < len(p.words) {
		err = fmt.Errorf("unexpected %q: join tests with \"and\" or \"or\"", p.words[p.at])
	}
	if err != nil {
		return nil, fmt.Errorf("filter %q: %w", expression, err)
	}
	return f, nil
}

// CheckFilter returns an error if an expression is not valid for Options.Filter.
func CheckFilter(expression string) error {
	if strings.TrimSpace(expression) == "" {
		return nil
	}
	_, err := parseFilter(expression)
	return err
}

// words splits an expression; parentheses and operators need no spaces around them.
func words(expression string) []string {
	spaced := strings.NewReplacer("(", " ( ", ")", " ) ", "&&", " and ", "||", " or ", "!", " not ").Replace(expression)
	return strings.Fields(spaced)
}

// question are the words in front of a value.
type question struct {
	protocol, direction, kind string
}

type parser struct {
	words []string
	at    int
	depth int
	last  question
}

func (p *parser) peek() string {
	if p.at < len(p.words) {
		return p.words[p.at]
	}
	return ""
}

// take goes past the next word if it is one of those.
func (p *parser) take(any ...string) (string, bool) {
	for _, w := range any {
		if p.at < len(p.words) && p.words[p.at] == w {
			p.at++
			return w, true
		}
	}
	return "", false
}

func (p *parser) expression() (filter, error) {
	f, err := p.term()
	for err == nil {
		word, ok := p.take("and", "or")
		if !ok {
			break
		}
		var g filter
		if g, err = p.term(); word == "and" {
			f = both{f, g}
		} else {
			f = either{f, g}
		}
	}
	return f, err
}

const deepest = 100 // parentheses and nots within each other

func (p *parser) term() (filter, error) {
	if p.depth++; p.depth > deepest {
		return nil, fmt.Errorf("more than %d nested parentheses", deepest)
	}
	defer func() { p.depth-- }()
	if _, ok := p.take("not"); ok {
		f, err := p.term()
		return not{f}, err
	}
	if _, ok := p.take("("); ok {
		f, err := p.expression()
		if err != nil {
			return nil, err
		}
		if _, ok := p.take(")"); !ok {
			return nil, fmt.Errorf("missing )")
		}
		return f, nil
	}
	return p.test()
}

func (p *parser) test() (filter, error) {
	if word, ok := p.take("less", "greater"); ok {
		n, err := p.number(1<<31 - 1)
		return length{uint32(n), word == "greater"}, err
	}
	if word, ok := p.take("inbound", "outbound"); ok {
		return outbound(word == "outbound"), nil
	}
	var w question
	w.protocol, _ = p.take(protocolNames...)
	start := p.at
	w.direction, _ = p.take("src", "dst")
	if w.direction != "" {
		if joint, ok := p.take("or", "and"); ok {
			other, ok := p.take("src", "dst")
			if !ok || other == w.direction {
				return nil, fmt.Errorf("invalid direction %q (src, dst, src or dst, src and dst)", strings.Join(p.words[start:min(p.at+1, len(p.words))], " "))
			}
			w.direction = joint
		}
	}
	w.kind, _ = p.take("host", "net", "port", "portrange", "proto")
	switch {
	case w.kind == "" && w.direction == "" && w.protocol != "":
		p.last = question{kind: "host"}
		return protocols[w.protocol], nil
	case w.kind == "" && w == question{}:
		w = p.last
	case w.kind == "":
		w.kind = "host"
	}
	p.last = w
	return p.value(w)
}

func (p *parser) value(w question) (filter, error) {
	switch w.kind {
	case "host", "net":
		return p.address(w)
	case "proto":
		if w.direction != "" || w.protocol != "" && w.protocol != "ip" && w.protocol != "ip6" {
			return nil, fmt.Errorf("proto takes no direction, and only ip and ip6 before it")
		}
		n, err := p.number(255)
		return carries{byte(n), w.protocol != "ip6", w.protocol != "ip"}, err
	}
	kinds := []byte{protoTCP, protoUDP, protoSCTP}
	switch w.protocol {
	case "tcp":
		kinds = kinds[:1]
	case "udp":
		kinds = kinds[1:2]
	case "sctp":
		kinds = kinds[2:]
	case "":
	default:
		return nil, fmt.Errorf("%s has no ports (tcp, udp, sctp)", w.protocol)
	}
	t := ports{protocols: kinds, direction: w.direction}
	low, high, isRange := strings.Cut(p.peek(), "-")
	if isRange && w.kind == "port" {
		return nil, fmt.Errorf("port %q is a range: write portrange %s", p.peek(), p.peek())
	}
	first, err := p.numberIn(low, 65535)
	last := first
	if err == nil && isRange {
		last, err = p.numberIn(high, 65535)
	}
	t.low, t.high = uint16(min(first, last)), uint16(max(first, last))
	p.at++
	return t, err
}

func (p *parser) address(w question) (filter, error) {
	word := p.peek()
	p.at++
	var prefix netip.Prefix
	a, err := netip.ParseAddr(word)
	switch {
	case word == "":
		return nil, fmt.Errorf("missing address at the end")
	case err == nil && a.Zone() == "":
		prefix = netip.PrefixFrom(a, a.BitLen())
		if _, ok := p.take("mask"); ok {
			return nil, fmt.Errorf("masks are not supported: write net %s/BITS", word)
		}
	case w.kind == "net":
		if prefix, err = netip.ParsePrefix(word); err != nil {
			return nil, fmt.Errorf("invalid network %q: write it as 10.0.0.0/8 or fd00::/8", word)
		}
		if prefix != prefix.Masked() {
			return nil, fmt.Errorf("network %s has address bits beyond its prefix; did you mean %s or host %s?", word, prefix.Masked(), prefix.Addr())
		}
	default:
		return nil, fmt.Errorf("unknown word %q: neither an address (names are not looked up) nor one of host, net, port, portrange, proto, "+
			"less, greater, inbound, outbound, src, dst, %s", word, strings.Join(protocolNames, ", "))
	}
	t := addresses{prefix: prefix, direction: w.direction}
	switch {
	case w.protocol == "":
		return t, nil
	case w.protocol == "ip" && prefix.Addr().Is6(), w.protocol == "ip6" && prefix.Addr().Is4(), (w.protocol == "arp" || w.protocol == "rarp") && prefix.Addr().Is6():
		return nil, fmt.Errorf("%s has no addresses such as %s", w.protocol, word)
	}
	return both{protocols[w.protocol], t}, nil
}

func (p *parser) number(most uint64) (uint64, error) {
	n, err := p.numberIn(p.peek(), most)
	p.at++
	return n, err
}

func (p *parser) numberIn(word string, most uint64) (uint64, error) {
	if word == "" {
		return 0, fmt.Errorf("missing number")
	}
	n, err := strconv.ParseUint(word, 0, 32)
	if err != nil || n > most {
		return 0, fmt.Errorf("invalid number %q: at most %d (names are not looked up)", word, most)
	}
	return n, nil
}
