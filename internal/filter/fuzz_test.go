package filter

import (
	"testing"

	"meridian/internal/testseed"
)

// FuzzParse: any condition or pair that a person or a page writes is parsed or refused with a reason. A condition is written as
// text that means the same.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"pid=1234", "length>=1500", "comm~^nginx", "x~(", "p===a", "p! = a", " =a", "=x==", "read=begin..end,key=id/other,max=5ms", "a=b..c,min=1s,max=0", "=..,", "a=9223372036854775808"} {
		f.Add(s)
	}
	testseed.Fuzz(f, func(t *testing.T, s string) {
		c, err := ParseCondition(s)
		if err != nil && err.Error() == "" {
			t.Error("refused without a reason")
		}
		if err == nil {
			again, err := ParseCondition(c.String())
			if err != nil || again.Field != c.Field || again.Op != c.Op || again.Value != c.Value {
				t.Errorf("%q is written as %q: %v", s, c.String(), err)
			}
		}
		if _, err := ParsePair(s); err != nil && err.Error() == "" {
			t.Error("refused without a reason")
		}
	})
}
