package main

import "testing"

func TestNearestWordIsTheOneWithTheFewestTypos(t *testing.T) {
	known := []string{"align", "convert", "clock", "evaluate", "record", "simulate", "view", "version"}
	for word, want := range map[string]string{
		"algin": "align", "aling": "align", "alig": "align", "aligns": "align", "recrod": "record", "clokc": "clock",
		"vew": "view", "versoin": "version", "cnvrt": "convert", "xx": "", "v": "", "": "", "show": "", "vi": "", "cost": "",
	} {
		if got := nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}

func TestTyposCountInsertionsDeletionsReplacementsAndSwaps(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"abc", "xbc", 1},
		{"abc", "bca", 2}, {"kitten", "sitting", 3}, {"ca", "abc", 3},
	} {
		if got := typos(c.a, c.b); got != c.want {
			t.Errorf("typos(%q, %q) is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
