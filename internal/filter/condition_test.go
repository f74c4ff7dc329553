package filter

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"

	"meridian/trace"
)

// TestEveryOperatorComparesEveryKindOfNumber holds comparisons against big rationals.
func TestEveryOperatorComparesEveryKindOfNumber(t *testing.T) {
	values := []trace.Value{
		trace.OfInt(-7), trace.OfInt(0), trace.OfInt(5), trace.OfInt(math.MinInt64), trace.OfInt(math.MaxInt64),
		trace.OfUint(0), trace.OfUint(5), trace.OfUint(1 << 63), trace.OfUint(math.MaxUint64), trace.OfBool(false), trace.OfBool(true),
		trace.OfFloat(-7), trace.OfFloat(4.75), trace.OfFloat(5), trace.OfFloat(math.MaxFloat64),
	}
	exact := func(v *trace.Value) *big.Rat {
		switch v.Kind {
		case trace.Int:
			return new(big.Rat).SetInt64(v.Int())
		case trace.Float:
			return new(big.Rat).SetFloat64(v.Float())
		}
		return new(big.Rat).SetInt(new(big.Int).SetUint64(v.Uint()))
	}
	for _, number := range []string{"-7", "-7.5", "0", "1", "4.75", "5", "5.0", "5.5", "1e3", "0x5", "0b101", "-9223372036854775808", "-0x7", "0xffffffffffffffff", "-9223372036854775809", "9223372036854775808", "18446744073709551615", "18446744073709551616"} {
		to, ok := new(big.Rat).SetString(number)
		if !ok {
			t.Fatal(number)
		}
		for i := range values {
			n := exact(&values[i]).Cmp(to)
			for op, want := range map[string]bool{"=": n == 0, "==": n == 0, "!=": n != 0, "<": n < 0, "<=": n <= 0, ">": n > 0, ">=": n >= 0} {
				c := condition(t, "x"+op+number)
				var scratch []byte
				if got := c.holds(&values[i], &trace.Type{Kind: values[i].Kind}, &scratch); got != want {
					t.Errorf("%s %s %s is %v", exact(&values[i]), op, number, got)
				}
			}
		}
	}
}

func TestMisspeltOperatorsAreRefusedWithTheMend(t *testing.T) {
	for s, mend := range map[string]string{
		"status=>3": "status>=3", "status =< -3.5": "status<=-3.5", "status=!3": "status!=3", "status===3": "status=3", "status==>3": "status>=3", "status!==0x5": "status!=0x5",
		"comm=~^nginx": "comm~^nginx", "comm==~x": "comm~x", "comm!=~x": "comm!~x",
	} {
		if c, err := ParseCondition(s); err == nil || !strings.HasSuffix(err.Error(), "; write "+mend) {
			t.Errorf("%q is %v, %v; want the mend %s", s, c, err, mend)
		}
		if _, err := ParseCondition(mend); err != nil {
			t.Error(err)
		}
	}
	for _, s := range []string{"comm=<idle>", "comm=>", "comm=!important", "comm!=<idle>", "comm==<...>", "comm~=3", "comm!=>3"} {
		if _, err := ParseCondition(s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestInfinitiesAreBeyondAllNumbersAndNaNIsNone(t *testing.T) {
	for _, c := range []struct {
		v    float64
		s    string
		want bool
	}{
		{math.Inf(1), "x>1e300", true}, {math.Inf(1), "x>=0", true}, {math.Inf(1), "x<1e300", false},
		{math.Inf(-1), "x<-1e300", true}, {math.Inf(-1), "x>0", false},
		{math.NaN(), "x<1", false}, {math.NaN(), "x>=1", false}, {math.NaN(), "x=1", false}, {math.NaN(), "x!=1", true}, {math.NaN(), "x=NaN", true},
	} {
		v, scratch := trace.OfFloat(c.v), []byte(nil)
		condition := condition(t, c.s)
		if got := condition.holds(&v, &trace.Type{Kind: trace.Float}, &scratch); got != c.want {
			t.Errorf("%v: %s is %v", c.v, c.s, got)
		}
	}
}

func TestWhatIsTooLongForANumberIsComparedAsText(t *testing.T) {
	for s, want := range map[string]bool{
		"0.5": true, "0.5" + strings.Repeat("0", 37): true, "0.5" + strings.Repeat("0", 38): false,
		"1e400": false, "inf": false, "NaN": false, "": false, "five": false, "0x": false, "123456789012345678901234567890": true,
	} {
		if got := number(s) != nil; got != want {
			t.Errorf("%q is a number: %v", s, got)
		}
	}
	for _, s := range []string{"x<inf", "x>=NaN", "x<=1e400"} {
		if _, err := ParseCondition(s); err == nil {
			t.Errorf("%q was taken", s)
		}
	}
}

func TestTheFirstOperatorDividesFieldFromValue(t *testing.T) {
	for s, want := range map[string][3]string{
		"a<b=c": {"a", "", ""}, "a=b<c": {"a", "=", "b<c"}, "a!=b=c": {"a", "!=", "b=c"}, "a>=3": {"a", ">=", "3"}, "a=>x": {"a", "=", ">x"},
		"a~b~c": {"a", "~", "b~c"}, "a~b!~c": {"a", "~", "b!~c"}, "a.b = x": {"a.b", "=", "x"},
	} {
		c, err := ParseCondition(s)
		if want[1] == "" {
			if err == nil {
				t.Errorf("%q was taken: an order is between numbers", s)
			}
			continue
		}
		if err != nil || [3]string{c.Field, c.Op, c.Value} != want {
			t.Errorf("%q was read as %q %q %q, %v", s, c.Field, c.Op, c.Value, err)
		}
	}
}

func TestTextThatIsNoNumberHasNoOrder(t *testing.T) {
	v, scratch := trace.OfText("7"), []byte(nil)
	for s, want := range map[string]bool{"x<8": false, "x>6": false, "x=7": true, "x!=7": false, "x!=8": true, "x~^7$": true, "x!~7": false} {
		c := condition(t, s)
		if got := c.holds(&v, &trace.Type{Kind: trace.Text}, &scratch); got != want {
			t.Errorf("%s of the text 7 is %v", s, got)
		}
	}
}

func TestValuesThatDoNotFitTheirTypeAreAbsent(t *testing.T) {
	integer := trace.Type{Kind: trace.Uint}
	alternatives := trace.Type{Kind: trace.Variant, Fields: []trace.Field{{Name: "n", Type: integer}, {Name: "t", Type: trace.Type{Kind: trace.Text}}}}
	fields := []trace.Field{
		{Name: "s", Type: trace.Type{Kind: trace.Struct, Fields: []trace.Field{{Name: "a", Type: integer}, {Name: "b", Type: integer}}}},
		{Name: "c", Type: alternatives},
	}
	structure := func(items ...trace.Value) trace.Value { return trace.Value{Kind: trace.Struct, Items: items} }
	choice := func(which uint64, items ...trace.Value) trace.Value {
		return trace.Value{Kind: trace.Variant, Bits: which, Items: items}
	}
	one, two := trace.OfUint(1), trace.OfUint(2)
	for _, test := range []struct {
		name   string
		values []trace.Value
		want   string // as it is read, "-" for an absent one
	}{
		{"s.a", []trace.Value{structure(one, two)}, "1"},
		{"s.b", []trace.Value{structure(one, two)}, "2"},
		{"s.b", []trace.Value{structure(one)}, "-"},
		{"s.a", []trace.Value{structure()}, "-"},
		{"s.a", []trace.Value{one}, "-"},
		{"s.b", []trace.Value{structure(one, trace.Value{})}, "-"},
		{"c", []trace.Value{structure()}, "-"},
		{"c", []trace.Value{{}, choice(0, one)}, "1"},
		{"c", []trace.Value{{}, choice(1, trace.OfText("x"))}, "x"},
		{"c", []trace.Value{{}, choice(2, one)}, ""},
		{"c", []trace.Value{{}, choice(0, one, two)}, ""},
		{"c", []trace.Value{{}, two}, "2"},
		{"c.n", []trace.Value{{}, choice(0, one)}, "1"},
		{"c.t", []trace.Value{{}, choice(0, one)}, "-"},
		{"c.n", []trace.Value{{}, choice(0)}, "-"},
		{"c.n", []trace.Value{{}, choice(0, one, two)}, "-"},
		{"c.n", []trace.Value{{}, one}, "-"},
	} {
		v, of := find(fields, test.name).of(fields, test.values)
		got := "-"
		if v != nil {
			got = string(v.Append(nil, of))
		}
		if v != nil && v.Kind == trace.Variant && test.want != "" {
			t.Errorf("%s of %s is a variant and not what it holds", test.name, fmt.Sprint(test.values))
		}
		if got != test.want {
			t.Errorf("%s of %s is %q, want %q", test.name, fmt.Sprint(test.values), got, test.want)
		}
	}
}
