package testtrace

import (
	"fmt"
	"math/big"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// metadata is what the packets are read by.
type metadata struct {
	offsetSeconds, offset, frequency int64
	classes                          map[uint16]*class
}

// class is a declared type of events.
type class struct {
	category, name  string
	phase           Phase
	context, fields []field
}

// field is a member of a structure: its type in TSDL, and in brackets behind the name which member is its length.
type field struct{ name, typ, length string }

var (
	eventBlock = regexp.MustCompile(`(?s)\nevent \{\n(.*?)\n\};`)
	attribute  = regexp.MustCompile(`(?m)^\t(name|id|model\.emf\.uri|context|fields) :?= (.*);$`)
)

func readMetadata(path string) (*metadata, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	text, m := string(b), &metadata{classes: map[uint16]*class{}}
	for name, into := range map[string]*int64{"offset_s": &m.offsetSeconds, "offset": &m.offset, "freq": &m.frequency} {
		found := regexp.MustCompile(`(?m)^\t` + name + ` = (-?\d+);$`).FindStringSubmatch(text)
		if found == nil {
			return nil, fmt.Errorf("the clock has no %s", name)
		}
		if *into, err = strconv.ParseInt(found[1], 10, 64); err != nil {
			return nil, err
		}
	}
	for _, block := range eventBlock.FindAllStringSubmatch(text, -1) {
		id, c, err := parseClass(block[1])
		if err != nil {
			return nil, err
		}
		m.classes[id] = c
	}
	return m, nil
}

func parseClass(block string) (id uint16, c *class, err error) {
	c = new(class)
	for _, a := range attribute.FindAllStringSubmatch(block, -1) {
		value := strings.Trim(a[2], `"`)
		switch a[1] {
		case "name":
			c.name = value
		case "id":
			n, err := strconv.ParseUint(value, 10, 16)
			if err != nil {
				return 0, nil, err
			}
			id = uint16(n)
		case "model.emf.uri":
			c.category = strings.TrimPrefix(value, "meridian:category:")
		case "context":
			c.context, err = members(value)
		case "fields":
			c.fields, err = members(value)
		}
		if err != nil {
			return 0, nil, err
		}
	}
	c.name = strings.TrimPrefix(c.name, c.category+":")
	for ending, phase := range map[string]Phase{":begin": Begin, ":end": End, ":counter": Counter} {
		if name, ok := strings.CutSuffix(c.name, ending); ok {
			c.name, c.phase = name, phase
		}
	}
	return id, c, nil
}

// members divides "struct {TYPE NAME; TYPE NAME[LENGTH];}" at the semicolons that are in no inner braces.
func members(text string) (list []field, err error) {
	inner, ok := strings.CutPrefix(text, "struct {")
	if !ok {
		return nil, fmt.Errorf("%q is not a structure", text)
	}
	inner = inner[:strings.LastIndexByte(inner, '}')]
	depth, from := 0, 0
	for i, c := range inner {
		switch {
		case c == '{':
			depth++
		case c == '}':
			depth--
		case c == ';' && depth == 0:
			one := strings.TrimSpace(inner[from:i])
			from = i + 1
			space := strings.LastIndexByte(one, ' ')
			if space < 0 {
				return nil, fmt.Errorf("%q declares no field", one)
			}
			name, length, _ := strings.Cut(strings.TrimSuffix(one[space+1:], "]"), "[")
			list = append(list, field{name, one[:space], length})
		}
	}
	return list, nil
}

// time returns the time of a stamp, rounded down to nanoseconds.
func (m *metadata) time(stamp uint64) int64 {
	n := new(big.Int).SetUint64(stamp)
	n.Add(n, big.NewInt(m.offset))
	n.Mul(n, big.NewInt(1e9))
	n.Div(n, big.NewInt(m.frequency))
	return n.Int64() + m.offsetSeconds*1e9
}
