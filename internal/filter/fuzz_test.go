package filter

import "testing"

// FuzzParse: any condition or pair that a person or a page writes is parsed or refused with a reason.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"pid=1234", "length>=1500", "comm~^nginx", "x~(", "read=begin..end,key=id/other,max=5ms", "a=b..c,min=1s,max=0", "=..,", "a=9223372036854775808"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if _, err := ParseCondition(s); err != nil && err.Error() == "" {
			t.Error("refused without a reason")
		}
		if _, err := ParsePair(s); err != nil && err.Error() == "" {
			t.Error("refused without a reason")
		}
	})
}
