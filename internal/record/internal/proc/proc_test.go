package proc

import (
	"slices"
	"testing"
)

func TestChildrenOfChildrenAreFound(t *testing.T) {
	var all []Process
	for _, s := range []string{"1 (init) S 0 1", "5 (a) b (c)) R 1 5", "6 (sh) S 5 1", "7 (x y) S 6 1", "8 (other) S 1 1"} {
		p, ok := parseStat(s)
		if !ok {
			t.Fatal(s)
		}
		all = append(all, p)
	}
	if all[1] != (Process{PID: 5, Parent: 1, Comm: "a) b (c)"}) {
		t.Errorf("%+v", all[1])
	}
	if p, ok := parseStat("9 (gone) Z 5 1"); !ok || !p.Ended {
		t.Errorf("%+v", p)
	}
	slices.Reverse(all)
	got := Descendants(all, func(p *Process) bool { return p.Comm == "a) b (c)" })
	if slices.Sort(got); !slices.Equal(got, []int{5, 6, 7}) {
		t.Error(got)
	}
	for _, bad := range []string{"", "5", "5 )x( S 1", "x (y) S 1", "5 (y) S", "1 init S 0", ")(", "1 (y) S z"} {
		if p, ok := parseStat(bad); ok {
			t.Errorf("%q is %+v", bad, p)
		}
	}
}

func TestListsOfProcessorsAreUnderstood(t *testing.T) {
	if got, ok := parseList("0-3,6\n"); !ok || !slices.Equal(got, []int{0, 1, 2, 3, 6}) {
		t.Error(got)
	}
	for _, bad := range []string{"", "a", "0-", "3-1", "0-9999999"} {
		if got, ok := parseList(bad); ok {
			t.Errorf("%q is %v", bad, got)
		}
	}
}
