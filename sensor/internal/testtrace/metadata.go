package testtrace

import (
	"fmt"
	"math/bits"
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
	names           []string // of the fields that a program declared
}

// field is a member of a structure: its type in TSDL, and in brackets behind the name which member is its length.
type field struct {
	name, typ, length string
	isLength          bool // of another field
}

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
	for _, f := range c.fields {
		if !f.isLength {
			c.names = append(c.names, strings.TrimPrefix(f.name, "_"))
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
			list = append(list, field{name: name, typ: one[:space], length: length})
			for k := range list {
				list[k].isLength = list[k].isLength || list[k].name == length
			}
		}
	}
	return list, nil
}

// time returns the time of a stamp, rounded down to nanoseconds.
func (m *metadata) time(stamp uint64) int64 {
	high, low := bits.Mul64(stamp+uint64(m.offset), 1e9)
	ns, _ := bits.Div64(high, low, uint64(m.frequency))
	return int64(ns) + m.offsetSeconds*1e9
}
