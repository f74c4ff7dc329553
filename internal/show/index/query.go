package index

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// query is a search in the language of docs/viewer.md: alternatives, each with terms of which all must hold.
type query [][]term

type term struct {
	negated  bool
	field    string // "" with word: any text
	word     bool
	operator string
	text     string  // folded for ":"
	number   *number // nil if the value is not a number
}

// found is an event as a query sees it.
type found struct {
	name, category, host, row string
	fields                    [][2]string
}

var operators = []string{"!=", "<=", ">=", "=", "<", ">", ":"}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

// parseQuery parses a query. Its errors give the byte, counted from 1, at which parsing failed.
func parseQuery(text string) (query, error) {
	q := query{nil}
	bar := 0 // position of the last |
	for i := 0; i < len(text); {
		switch {
		case blank(text[i]):
			i++
		case text[i] == '|':
			if i++; len(q[len(q)-1]) == 0 {
				return nil, fmt.Errorf("search: at %d: no term before |", i)
			}
			q, bar = append(q, nil), i
		default:
			t, n, err := parseTerm(text[i:])
			if err != nil {
				return nil, fmt.Errorf("search: at %d: %w", i+1, err)
			}
			q[len(q)-1] = append(q[len(q)-1], t)
			i += n
		}
	}
	if len(q[len(q)-1]) == 0 {
		if bar > 0 {
			return nil, fmt.Errorf("search: at %d: no term after |", bar)
		}
		return nil, errors.New("search: no term given")
	}
	return q, nil
}

// parseTerm parses the term at the start of text and returns its length in bytes.
func parseTerm(text string) (t term, n int, err error) {
	i, quoted := 0, false
	if text[0] == '-' && len(text) > 1 && !blank(text[1]) && text[1] != '|' {
		t.negated = true
		i++
	}
	t.word = true
	var plain strings.Builder
	for i < len(text) && !blank(text[i]) && text[i] != '|' {
		if text[i] == '"' {
			opened := i
			quoted = true
			for i++; ; i++ {
				if i >= len(text) {
					return t, 0, fmt.Errorf("unclosed quote: %s", text[opened:])
				}
				if text[i] == '"' {
					break
				}
				if text[i] == '\\' && i+1 < len(text) {
					i++
				}
				plain.WriteByte(text[i])
			}
			i++
			continue
		}
		if t.word && plain.Len() > 0 {
			if op := operatorAt(text[i:]); op != "" {
				t.word, t.field, t.operator, quoted = false, plain.String(), op, false
				plain.Reset()
				i += len(op)
				continue
			}
		}
		plain.WriteByte(text[i])
		i++
	}
	return t, i, t.finish(plain.String(), quoted)
}

func operatorAt(text string) string {
	for _, op := range operators {
		if strings.HasPrefix(text, op) {
			return op
		}
	}
	return ""
}

func (t *term) finish(value string, quoted bool) error {
	if t.word {
		if value == "" {
			return errors.New(`empty word ""`)
		}
		t.operator, t.text = ":", fold(value)
		return nil
	}
	t.text = value
	if t.operator == ":" {
		t.text = fold(value)
	}
	if n, ok := parseNumber(value); ok && !quoted {
		t.number = &n
	}
	if strings.ContainsAny(t.operator, "<>") && t.number == nil {
		return fmt.Errorf("%s compares numbers; %q is not a number", t.operator, value)
	}
	return nil
}

// fold maps ASCII capitals to small letters. Others stay: how they map depends on the language.
func fold(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= 'A' && c <= 'Z' {
			b := []byte(s)
			for ; i < len(b); i++ {
				if b[i] >= 'A' && b[i] <= 'Z' {
					b[i] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// number is an integer, exactly, or a decimal as a float64.
type number struct {
	integer *big.Int // set if the value does not fit into small
	small   int64
	whole   bool
	decimal float64
}

var (
	wholeNumber   = regexp.MustCompile(`^[+-]?(0[xX][0-9a-fA-F]+|[0-9]+)$`)
	decimalNumber = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`)
)

func parseNumber(s string) (number, bool) {
	if s == "" || len(s) > 400 { // no number of a field is that long
		return number{}, false
	}
	if c := s[0]; c != '+' && c != '-' && c != '.' && (c < '0' || c > '9') {
		return number{}, false
	}
	if v, ok := digits(s); ok { // nearly all are
		return number{whole: true, small: v}, true
	}
	if wholeNumber.MatchString(s) {
		text, base := strings.TrimLeft(s, "+-"), 10
		if len(text) > 1 && (text[1] == 'x' || text[1] == 'X') {
			text, base = text[2:], 16
		}
		if v, err := strconv.ParseInt(text, base, 64); err == nil {
			if s[0] == '-' {
				v = -v
			}
			return number{whole: true, small: v}, true
		}
		v, _ := new(big.Int).SetString(text, base)
		if s[0] == '-' {
			v.Neg(v)
		}
		return number{whole: true, integer: v}, true
	}
	if decimalNumber.MatchString(s) {
		v, err := strconv.ParseFloat(s, 64)
		return number{decimal: v}, err == nil && !math.IsInf(v, 0)
	}
	return number{}, false
}

// digits reads decimal digits, at most 18, with a sign or without.
func digits(s string) (v int64, ok bool) {
	negative := s[0] == '-'
	if negative || s[0] == '+' {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 18 {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		v = 10*v + int64(s[i]-'0')
	}
	if negative {
		v = -v
	}
	return v, true
}

func (n *number) big() *big.Int {
	if n.integer != nil {
		return n.integer
	}
	return big.NewInt(n.small)
}

func (n *number) float() float64 {
	switch {
	case !n.whole:
		return n.decimal
	case n.integer != nil:
		v, _ := new(big.Float).SetInt(n.integer).Float64()
		return v
	}
	return float64(n.small)
}

// compare orders two numbers: exactly if both are integers, else as float64.
func (n *number) compare(o *number) int {
	if n.whole && o.whole {
		if n.integer == nil && o.integer == nil {
			return cmp.Compare(n.small, o.small)
		}
		return n.big().Cmp(o.big())
	}
	a, b := n.float(), o.float()
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// fulfils reports whether one value satisfies the term, before negation.
func (t *term) fulfils(value string) bool {
	switch t.operator {
	case ":":
		return contains(value, t.text)
	case "=", "!=":
		same := value == t.text
		if t.number != nil {
			if n, ok := parseNumber(value); ok {
				same = n.compare(t.number) == 0
			}
		}
		return same == (t.operator == "=")
	}
	n, ok := parseNumber(value)
	if !ok {
		return false
	}
	switch c := n.compare(t.number); t.operator {
	case "<":
		return c < 0
	case "<=":
		return c <= 0
	case ">":
		return c > 0
	default:
		return c >= 0
	}
}

// hasLetter reports whether a folded text has a letter that fold makes of another.
func hasLetter(folded string) bool {
	for i := range len(folded) {
		if folded[i]-'a' < 26 {
			return true
		}
	}
	return false
}

// contains reports whether s contains a folded text, as it is or folded.
func contains(s, folded string) bool {
	if len(s) < len(folded) {
		return false
	}
	return strings.Contains(s, folded) || hasLetter(folded) && strings.Contains(fold(s), folded)
}

// holds reports whether the term holds for an event.
func (t *term) holds(f *found) bool { return t.some(f) != t.negated }

func (t *term) some(f *found) bool {
	if t.word {
		if t.fulfils(f.name) {
			return true
		}
	} else if own, ok := f.own(t.field); ok && t.fulfils(own) {
		return true
	}
	for i := range f.fields {
		if (t.word || f.fields[i][0] == t.field) && t.fulfils(f.fields[i][1]) {
			return true
		}
	}
	return false
}

func (f *found) own(field string) (string, bool) {
	switch field {
	case "name":
		return f.name, true
	case "category":
		return f.category, true
	case "host":
		return f.host, true
	case "row":
		return f.row, true
	}
	return "", false
}

// matches reports whether an event matches the query.
func (q query) matches(f *found) bool {
	for _, all := range q {
		good := true
		for i := range all {
			if good = all[i].holds(f); !good {
				break
			}
		}
		if good {
			return true
		}
	}
	return false
}
