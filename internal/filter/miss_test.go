package filter

import (
	"slices"
	"testing"

	"meridian/trace"
)

func TestWhatIsNamedAndNotThereIsAMissWithTheNearestNames(t *testing.T) {
	records := []*trace.TimelineEvent{record(10, 0, 0, trace.OfInt(100), trace.OfText("eth0")), record(20, 1, 1, trace.OfInt(12)), record(40, 3, 4)}
	names := world().Classes
	for _, c := range []struct {
		name string
		o    Options
		want []Miss
	}{
		{"nothing asked for", Options{}, nil},
		{"what is there", Options{Streams: []string{"CPU*"}, Events: []string{"net:*"}, Fields: []string{"len"}, Where: []Condition{condition(t, "len=100")}}, nil},
		{"left out", Options{Events: []string{"!nosuch"}, Streams: []string{"!x"}, Fields: []string{"!y"}}, nil},
		{"a row", Options{Streams: []string{"CPU 7"}}, []Miss{{"--stream CPU 7", "matches no row; there are CPU 0, messages, nginx 12", true}}},
		{"an event with a typo", Options{Events: []string{"net_dev_queu"}}, []Miss{{"--event net_dev_queu", "matches no event; there are net_dev_queue, receive, sched_switch, ust:begin, ust:end", true}}},
		{"an event that the sources know, but none came", Options{Events: []string{"ust:end", "sched_switch"}}, []Miss{{"--event ust:end", "matches no event; there are net_dev_queue, receive, sched_switch, ust:begin, ust:end", true}}},
		{"a field", Options{Fields: []string{"pid"}}, []Miss{{"--field pid", "matches no field; there are id, len, name, tid", true}}},
		{"a condition on a field that no event has", Options{Where: []Condition{condition(t, "pid=1"), condition(t, "len=100")}}, []Miss{{"--where pid=1", "no event has the field pid; there are id, len, name, tid", true}}},
		{"a condition that no event meets", Options{Where: []Condition{condition(t, "len = 99")}}, []Miss{{"--where len=99", "no event meets it, of those that the other filters leave", false}}},
		{"two conditions that no event meets", Options{Where: []Condition{condition(t, "len=100"), condition(t, "tid=12")}}, []Miss{{"--where len=100 --where tid=12", "no event meets all, of those that the other filters leave", false}}},
		{"the begin of an interval", Options{From: Edge{Event: "reciev"}}, []Miss{{"--from-event reciev", "no such event comes in what is selected; there are net_dev_queue, receive, sched_switch, ust:begin, ust:end", true}}},
		{"a pair", Options{Pairs: []Pair{pair(t, "p=net_dev_queue..nosuch")}}, []Miss{{"--pair p", "", true}}},
	} {
		_, f := play(t, c.o, records...)
		if got := f.Misses(names); !slices.Equal(got, c.want) {
			t.Errorf("%s: %+v, not %+v", c.name, got, c.want)
		}
	}
	if got := MissedHosts([]string{"web", "d?", "!x", "wbe"}, []string{"web", "db", "web"}); !slices.Equal(got, []Miss{{"--host wbe", "matches no host; there are db, web", true}}) {
		t.Errorf("%+v", got)
	}
}

func TestOfManyNamesTheNearestAreListed(t *testing.T) {
	known := []string{"alpha", "beta", "gamma", "sched_switch", "sched_wakeup", "sched:waking", "net_dev_queue", "syscall_entry_read"}
	for pattern, want := range map[string]string{
		"sched_swich": "; the nearest of 8: sched_switch",
		"SCHED*":      "; the nearest of 8: sched:waking, sched_switch, sched_wakeup",
		"wakin":       "; the nearest of 8: sched:waking",
		"read":        "; the nearest of 8: syscall_entry_read",
		"zzz":         "; there are 8, such as alpha, beta, gamma",
		"*":           "; there are 8, such as alpha, beta, gamma",
	} {
		if got := suggestion("event", pattern, known); got != want {
			t.Errorf("%s: %q, not %q", pattern, got, want)
		}
	}
	if got := Nearest("sched_swich", known); len(got) == 0 || got[0] != "sched_switch" {
		t.Errorf("%q", got)
	}
	if got := suggestion("event", "x", nil); got != "; there is no event" {
		t.Errorf("%q", got)
	}
	if got := suggestion("row", "x", []string{"a", "a"}); got != "; there is a" {
		t.Errorf("%q", got)
	}
}

func TestDistanceIsThatOfEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "", 3}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"abc", "abc", 0}, {"abcd", "acbd", 2}} {
		if got := Distance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q: %d, not %d", c.a, c.b, got, c.want)
		}
	}
}
