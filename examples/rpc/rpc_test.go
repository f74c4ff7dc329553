package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"meridian/internal/sensortest"
	"meridian/internal/testneed"
	"meridian/internal/traceprocessor"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && (os.Args[1] == "server" || os.Args[1] == "client") {
		main() // the test's own processes
		return
	}
	os.Exit(withCommand(m))
}

// withCommand runs the tests with the command of this checkout in front of PATH.
func withCommand(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rpc")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	// go run keeps what it links.
	if out, err := exec.Command("go", "run", "-exec", "cp", "meridian/cmd/meridian", filepath.Join(dir, "meridian")).CombinedOutput(); err != nil {
		panic(fmt.Sprintf("building the command: %v\n%s", err, out))
	}
	if err := os.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH")); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// report is what the tests ask of report.json.
type report struct {
	Quality struct{ Messages, Inversions int }
	Pairs   []struct {
		AB int `json:"messages_ab"`
		BA int `json:"messages_ba"`
	}
	Hosts []struct {
		Name string
		Map  []struct {
			Host int64  `json:"host_ns"`
			Low  *int64 `json:"low_ns"`
			High *int64 `json:"high_ns"`
		}
	}
	Warnings []string
}

// played lets client and server talk and returns their traces and the report of their alignment. A promise that could not be
// kept is an error of the command.
func played(t *testing.T, calls int) (dir string, r report) {
	t.Helper()
	dir = t.TempDir()
	if err := play(t.Context(), dir, calls); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.json"))
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir, r
}

func TestEveryCallOfTwoProcessesIsTwoMessagesThatNobodyReceivesBeforeTheyAreSent(t *testing.T) {
	testneed.Long(t, "builds and runs the command")
	const calls = 150
	dir, r := played(t, calls)
	warnings := slices.DeleteFunc(r.Warnings, func(line string) bool {
		return strings.Contains(line, "show that they wander") // as delays can look that follow a machine's load
	})
	if len(warnings) > 0 {
		t.Errorf("warnings %q", warnings)
	}
	q := r.Quality
	if q.Messages != 2*2*calls || q.Inversions != 0 {
		t.Errorf("%d messages and %d inversions, want %d and 0", q.Messages, q.Inversions, 2*2*calls)
	}
	if p := r.Pairs; len(p) != 1 || p[0].AB != 2*calls || p[0].BA != 2*calls {
		t.Errorf("pairs %+v, want one with %d messages each way", p, 2*calls)
	}
	client, server := clockOf(t, filepath.Join(dir, "client")), clockOf(t, filepath.Join(dir, "server"))
	for _, h := range r.Hosts {
		of := server
		if h.Name == "client" {
			of = client
		}
		if len(h.Map) == 0 {
			t.Errorf("%s has no map", h.Name)
		}
		for _, k := range h.Map {
			truth := client.show(of.count(k.Host)) // the client's clock is the reference
			if k.Low == nil || k.High == nil || *k.Low-1 > truth || *k.High+1 < truth {
				t.Errorf("%s at %d: the truth %d is not within %v and %v", h.Name, k.Host, truth, k.Low, k.High)
			}
		}
	}
	answers := traceprocessor.Query(t, filepath.Join(dir, "timeline.pftrace"),
		`SELECT count(*) FROM flow`,
		`SELECT count(*) FROM flow JOIN slice o ON o.id = slice_out JOIN slice i ON i.id = slice_in WHERE o.ts > i.ts`,
		`SELECT count(*) FROM slice WHERE name IN ('http:call', 'http:serve', 'grpc:call', 'grpc:serve') AND dur > 0`,
		`SELECT count(*) FROM slice WHERE name = 'example:round' AND dur > 0`)
	for i, want := range []string{strconv.Itoa(4 * calls), "0", strconv.Itoa(4 * calls), strconv.Itoa(calls)} {
		if got := answers[i].Rows[0][0]; got != want {
			t.Errorf("question %d: %s, want %s", i+1, got, want)
		}
	}
}

func TestTheTracesSayWhatWasCalled(t *testing.T) {
	dir := t.TempDir()
	if err := record(t.Context(), dir, 3); err != nil {
		t.Fatal(err)
	}
	all := sensortest.Read(t, filepath.Join(dir, "client"))
	said := 0
	for _, e := range all {
		if e.Name == "answer" && e.Fields["text"] == "hello, Go-http-client/1.1" && e.Fields["bytes"] == "25" {
			said++
		}
	}
	if said != 3 {
		t.Errorf("%d answers of 3", said)
	}
}

func TestAServerThatCannotListenIsAnErrorAndLeavesAWholeTrace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "server")
	if err := server(context.Background(), dir, "localhost:-1", "localhost:0"); err == nil {
		t.Fatal("no error")
	}
	sensortest.Read(t, dir)
}

// counter is the clock of a trace as its metadata declares it: time = base + (offset + count) / frequency. Both processes
// read one counter, so that a count is one instant for both.
type counter struct{ base, offset, frequency *big.Rat }

func clockOf(t *testing.T, dir string) counter {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "metadata"))
	if err != nil {
		t.Fatal(err)
	}
	number := func(name string) *big.Rat {
		m := regexp.MustCompile(`\t` + name + ` = (-?\d+);`).FindSubmatch(text)
		if m == nil {
			t.Fatalf("%s: no %s", dir, name)
		}
		r, _ := new(big.Rat).SetString(string(m[1]))
		return r
	}
	return counter{number("offset_s"), number("offset"), number("freq")}
}

var billion = big.NewRat(1e9, 1)

// count returns what the counter showed at an instant of the clock, ns.
func (c counter) count(ns int64) *big.Rat {
	s := new(big.Rat).Quo(new(big.Rat).SetInt64(ns), billion)
	s.Sub(s, c.base)
	return s.Sub(s.Mul(s, c.frequency), c.offset)
}

// show returns the instant, ns, at which the counter showed a count, rounded down.
func (c counter) show(count *big.Rat) int64 {
	s := new(big.Rat).Add(count, c.offset)
	s.Add(s.Quo(s, c.frequency), c.base)
	s.Mul(s, billion)
	return new(big.Int).Div(s.Num(), s.Denom()).Int64()
}
