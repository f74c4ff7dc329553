package pipeline_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"meridian/internal/filetest"
	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/testneed"
)

// talkList writes a list of messages and collectives that really happened, on hosts whose clocks are seconds apart: as recorded,
// many arrive before they were sent.
func talkList(seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 7))
	hosts := []string{"a", "b b", "c:d", "e"}[:2+random.IntN(3)]
	var b strings.Builder
	// Names in lists hold no blanks.
	name := func(h int) string { return strings.ReplaceAll(hosts[h], " ", "_") }
	stamp := func(h int, at int) string { return fmt.Sprintf("%d.%03d", 1000+7*h+at/1000, at%1000) }
	fmt.Fprintln(&b, len(hosts))
	at := 0
	next := func() int { at += 1 + random.IntN(9); return at }
	for k := range 5 + random.IntN(40) {
		if random.IntN(5) == 0 {
			entered := make([]int, len(hosts))
			for h := range hosts {
				entered[h] = next()
			}
			for _, h := range random.Perm(len(hosts)) {
				fmt.Fprintf(&b, "@collective op%d %s %s %s\n", k, name(h), stamp(h, entered[h]), stamp(h, next()))
			}
			continue
		}
		from := random.IntN(len(hosts))
		to := (from + 1 + random.IntN(len(hosts)-1)) % len(hosts)
		sent := next()
		if random.IntN(2) == 0 { // another message crosses it
			fmt.Fprintf(&b, "%s %s %s %s\n", name(to), name(from), stamp(to, next()), stamp(from, next()))
		}
		fmt.Fprintf(&b, "%s %s %s %s\n", name(from), name(to), stamp(from, sent), stamp(to, next()))
	}
	return b.String()
}

// logicalRow is an event of a table.
type logicalRow struct{ host, event, flow, operation, time string }

func logicalRows(t *testing.T, list, clock string, o pipeline.Options) []logicalRow {
	t.Helper()
	dir := t.TempDir()
	in, out := filepath.Join(dir, "messages.txt"), filepath.Join(dir, "out.csv")
	if err := os.WriteFile(in, []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	traces, err := input.Parse([]string{in})
	if err != nil {
		t.Fatal(err)
	}
	o.Logical, o.Outputs = clock, []string{out}
	if _, err := pipeline.Run(context.Background(), traces, o); err != nil {
		t.Fatal(err)
	}
	table := filetest.CSV(t, out)
	column := make(map[string]int)
	for i, name := range table[0] {
		column[name] = i + 1
	}
	var rows []logicalRow
	for _, r := range table[1:] {
		at := func(name string) string {
			if i := column[name]; i > 0 {
				return r[i-1]
			}
			return ""
		}
		time := at("vector_time")
		if clock == "lamport" {
			time = at("lamport_time")
		}
		rows = append(rows, logicalRow{at("host"), at("event"), at("flow"), at("operation"), time})
	}
	return rows
}

// happenedBefore is the definition: earlier on a host, sent and received, entered by one and left by another, and on from there.
func happenedBefore(rows []logicalRow) [][]bool {
	before := make([][]bool, len(rows))
	for i, a := range rows {
		before[i] = make([]bool, len(rows))
		for k, b := range rows {
			before[i][k] = a.host == b.host && i < k ||
				a.event == "send" && b.event == "receive" && a.flow == b.flow ||
				a.event == "enters" && b.event == "leaves" && a.operation == b.operation && a.host != b.host
		}
	}
	for m := range rows {
		for i := range rows {
			for k := range rows {
				before[i][k] = before[i][k] || before[i][m] && before[m][k]
			}
		}
	}
	return before
}

func TestLogicalTimesOfOutputsSayWhatHappenedBefore(t *testing.T) {
	inverted := 0
	for seed := range uint64(testneed.Cases(25)) {
		list := talkList(seed)
		o := pipeline.Options{}
		o.Align.Method = pipeline.AsRecorded
		rows := logicalRows(t, list, "vector", o)
		before := happenedBefore(rows)
		for _, clock := range []string{"vector", "tree"} {
			got := logicalRows(t, list, clock, o)
			for i := range got {
				known := make(map[string]int)
				for k := range rows {
					if before[k][i] || k == i {
						known[rows[k].host]++
					}
				}
				vector := parseVector(t, got[i].time)
				if len(vector) != len(known) || !strings.HasPrefix(strings.TrimPrefix(got[i].time, "\""), got[i].host) {
					t.Fatalf("seed %d, %s: event %d of %s knows of %q, not of %v", seed, clock, i, got[i].host, got[i].time, known)
				}
				for host, n := range known {
					if vector[host] != n {
						t.Fatalf("seed %d, %s: event %d of %s knows of %q, not of %v", seed, clock, i, got[i].host, got[i].time, known)
					}
				}
			}
		}
		// Lamport's number is one more than the longest chain of events before.
		numbers := logicalRows(t, list, "lamport", o)
		for i := range numbers {
			longest := 0
			for k := range numbers {
				if before[k][i] {
					n, _ := strconv.Atoi(numbers[k].time)
					longest = max(longest, n)
					if k > i {
						inverted++
					}
				}
			}
			if numbers[i].time != strconv.Itoa(longest+1) {
				t.Fatalf("seed %d: event %d has number %s, not %d", seed, i, numbers[i].time, longest+1)
			}
		}
	}
	if inverted == 0 {
		t.Error("nothing arrived before it was sent, which is no test")
	}
}

// parseVector reads HOST:COUNT HOST:COUNT ..., hosts quoted where they hold a blank or a colon.
func parseVector(t *testing.T, text string) map[string]int {
	t.Helper()
	out := make(map[string]int)
	for text != "" {
		host := text
		if quoted, err := strconv.QuotedPrefix(text); err == nil {
			host, _ = strconv.Unquote(quoted)
			text = text[len(quoted):]
		} else {
			host, _, _ = strings.Cut(text, ":")
			text = text[len(host):]
		}
		var count string
		count, text, _ = strings.Cut(strings.TrimPrefix(text, ":"), " ")
		n, err := strconv.Atoi(count)
		if err != nil || out[host] != 0 {
			t.Fatalf("%q of %q", count, host)
		}
		out[host] = n
	}
	return out
}

func TestLogicalTimesDoNotDependOnWhatIsSelected(t *testing.T) {
	list := talkList(3)
	o := pipeline.Options{}
	o.Align.Method = pipeline.AsRecorded
	all := logicalRows(t, list, "vector", o)
	o.Select.Hosts = []string{"a"}
	part := logicalRows(t, list, "vector", o)
	var want []logicalRow
	for _, r := range all {
		if r.host == "a" {
			want = append(want, r)
		}
	}
	if len(want) == 0 || len(want) == len(all) || !slices.Equal(part, want) {
		t.Errorf("%v, of all %v", part, want)
	}
}
