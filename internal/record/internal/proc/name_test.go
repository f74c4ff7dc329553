package proc

import "testing"

func TestNamesOfProgramsMatchWholeOrByTheirBeginning(t *testing.T) {
	for _, test := range []struct {
		pattern, comm string
		want          bool
	}{
		{"nginx", "nginx", true}, {"nginx", "nginx-2", false}, {"nginx", "ngin", false}, {"ngi*", "nginx", true}, {"ngi*", "ng", false},
		{"fifteen-letters", "fifteen-letters", true}, {"fifteen-letter", "fifteen-letters", false}, {"fifteen-letter*", "fifteen-letters", true},
		{"", "nginx", false}, {"", "", false}, {"eightlet", "eightlet", true}, {"eightlet", "eightlett", false},
	} {
		p, err := ParseNamePattern(test.pattern)
		if err != nil || p.Matches(test.comm) != test.want {
			t.Errorf("%q matches %q: %v, %v", test.pattern, test.comm, !test.want, err)
		}
	}
	for _, bad := range []string{"*", "a*b", "a name that is longer", "sixteen-letters-"} {
		if _, err := ParseNamePattern(bad); err == nil {
			t.Errorf("%q is a name", bad)
		}
	}
}
