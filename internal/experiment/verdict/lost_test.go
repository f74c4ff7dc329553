//go:build unix

package verdict

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"meridian/internal/experiment/file"
	"meridian/internal/experiment/schedule"
	"meridian/internal/filter"
	"meridian/internal/pipeline/input"
)

// TestBesideLostEventsNoCheckOverEventsIsYes: the pair or the message that breaks a check may be among the lost.
func TestBesideLostEventsNoCheckOverEventsIsYes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name       string
		lost       []Loss
		result     filter.Result
		inversions int64
		want       Answer
		says       string
	}{
		{"nothing was lost", nil, filter.Result{Count: 3}, 0, Yes, ""},
		{"events", []Loss{{Host: "a", Events: 7}}, filter.Result{Count: 3}, 0, Undecided, "7 events were lost at a"},
		{"packets", []Loss{{Host: "b", Packets: 2}}, filter.Result{Count: 3}, 0, Undecided, "2 packets of events were lost at b"},
		{"at two hosts", []Loss{{Host: "a", Events: 7}, {Host: "b", Events: 1, Packets: 1}}, filter.Result{Count: 3}, 0, Undecided,
			"7 events were lost at a, 1 events and 1 packets of events were lost at b"},
		{"no stays no", []Loss{{Host: "a", Events: 7}}, filter.Result{Count: 3, AboveMax: 1, Beyond: &filter.Case{To: "a"}}, 1, No, ""},
	} {
		r := ran(t)
		r.Timeline.Lost, r.Timeline.Quality.Contradicting = test.lost, test.inversions
		for _, c := range []file.Check{{Kind: "pair", Pair: filter.Pair{Name: "p", Begin: "a", End: "b"}}, {Kind: "inversions"}} {
			got := r.check(&c, map[string]*filter.Result{"check 1": &test.result})
			if got.Answer != test.want || !strings.Contains(got.Reason, test.says) {
				t.Errorf("%s, %s: %s, %s; want %s, %s", test.name, c.Kind, got.Answer, got.Reason, test.want, test.says)
			}
		}
		var one, table strings.Builder
		if err := Print(&one, []*Report{r}); err != nil {
			t.Fatal(err)
		}
		if err := Print(&table, []*Report{r, r}); err != nil {
			t.Fatal(err)
		}
		for _, l := range test.lost {
			if want := "warning: " + l.String(); !strings.Contains(one.String(), want) || !strings.Contains(table.String(), want) {
				t.Errorf("%s: %q is not in\n%s\nor\n%s", test.name, want, one.String(), table.String())
			}
		}
	}
}

func TestLossesAreOfTracesAndOfRecordersByHost(t *testing.T) {
	t.Parallel()
	run := &file.Run{Hosts: []file.Host{{Name: "a"}, {Name: "b"}, {Name: "c"}}, Daemons: []file.Daemon{{Name: "rec", Use: "record"}, {Name: "net"}}}
	said := func(host, daemon, result string) *schedule.Call {
		return &schedule.Call{Host: host, Daemon: daemon, Result: json.RawMessage(result)}
	}
	r := ran(t)
	r.Run.Blocks = []*schedule.Block{{Calls: []*schedule.Call{said("a", "rec", `{"lost":5}`), said("a", "rec", `{"lost":1}`), said("b", "rec", `{"lost":0}`),
		said("c", "net", `{"lost":9}`), said("b", "rec", "")}}}
	r.lose(run, map[string]input.Lost{"a": {Events: 4}, "b": {Packets: 3}})
	if want := []Loss{{Host: "a", Events: 6}, {Host: "b", Packets: 3}}; !slices.Equal(r.Timeline.Lost, want) {
		t.Errorf("%+v, want %+v", r.Timeline.Lost, want)
	}
}
