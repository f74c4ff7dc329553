package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/internal/netlab"
	"meridian/internal/show"
	"meridian/internal/testneed"
)

// steeredLine is what the test reads of an event.
type steeredLine struct {
	Time int64  `json:"time_ns"`
	Low  *int64 `json:"low_ns"`
	High *int64 `json:"high_ns"`
	Host string
	Row  string
	Name string `json:"event"`
	At   int64  `json:"recorded_ns"`
}

// eachLine calls f for the lines of a file, each with a key that is the same live and offline.
func eachLine(t *testing.T, path string, f func(key string, x steeredLine)) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := bufio.NewScanner(file)
	s.Buffer(nil, 1<<20)
	seen := make(map[string]int)
	for s.Scan() {
		var x steeredLine
		if err := json.Unmarshal(s.Bytes(), &x); err != nil {
			t.Fatalf("%v: %s", err, s.Text())
		}
		key := fmt.Sprint(x.Host, " ", x.At, " ", x.Name, " ", x.Row)
		seen[key]++
		f(fmt.Sprint(key, " ", seen[key]), x)
	}
	if err := s.Err(); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// TestTailHasTheErrorOfTheReadingsAsAlignHas records two namespaces, with tail beside it, and aligns what they left. Live and offline
// intervals overlap. The two timelines are scaled by the readings that each has, which differ by the error of the first ones.
func TestTailHasTheErrorOfTheReadingsAsAlignHas(t *testing.T) {
	testneed.Root(t, "recording kernel events and packets")
	lab := netlab.TwoHosts(t)
	dir := everybodys(t)
	meridian := installed(t, dir, "meridian")
	var recorders []*exec.Cmd
	var recorded [2]strings.Builder
	for i, name := range []string{"web", "db"} {
		c := exec.Command(meridian, "record", "-q", "-o", name, "--host", name, "--rings", ".", "--netns", lab.Namespace(name), "--packets", "--kernel", "net")
		c.Dir, c.Stderr = dir, &recorded[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		recorders = append(recorders, c)
		t.Cleanup(func() { _ = c.Process.Kill() })
	}
	for _, name := range []string{"web", "db"} {
		untilContains(t, filepath.Join(dir, name, "metadata"), "meridian:steering")
	}
	out, err := os.Create(filepath.Join(dir, "live.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	var said strings.Builder
	tail := exec.Command(meridian, "tail", "web=web", "db=db", "--all", "--format", "json")
	tail.Dir, tail.Stdout, tail.Stderr = dir, out, &said
	if err := tail.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tail.Process.Kill() })
	lab.Run(netlab.Traffic{From: "web", To: "db", Requests: 1000, Datagrams: 3000, Pings: 100, Over: 2 * time.Second})
	lost := false // on a busy machine; counted, and said by all with exit code 3
	for i, c := range recorders {
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			lost = c.ProcessState.ExitCode() == 3 && countedLoss(recorded[i].String())
			if !lost {
				t.Errorf("%v: %s", err, recorded[i].String())
			}
		}
	}
	if err := tail.Process.Signal(os.Interrupt); err != nil { // it reads the end first
		t.Fatal(err)
	}
	if err := tail.Wait(); err != nil && !(lost && tail.ProcessState.ExitCode() == 3 && strings.Contains(said.String(), "lost before they were recorded")) {
		t.Errorf("tail: %v: %s", err, said.String())
	}
	if o := ran(t, dir, meridian, "convert", "web=web", "db=db", "-o", "offline.jsonl", "-o", "report.json"); o.code != 0 {
		t.Fatalf("exit code %d: %s", o.code, o.stderr)
	}
	offline := make(map[string]steeredLine)
	eachLine(t, filepath.Join(dir, "offline.jsonl"), func(key string, x steeredLine) { offline[key] = x })
	both, apart, exact := 0, int64(0), 0
	first, last := int64(math.MaxInt64), int64(math.MinInt64)
	eachLine(t, filepath.Join(dir, "live.jsonl"), func(key string, x steeredLine) {
		y, known := offline[key]
		if !known || x.Low == nil || y.Low == nil {
			return
		}
		both++
		first, last = min(first, x.At), max(last, x.At)
		if *x.High-*x.Low < 20 && *y.High-*y.Low >= 20 {
			exact++
		}
		apart = max(apart, *x.Low-*y.High, *y.Low-*x.High)
	})
	t.Logf("%d events in %v, intervals at most %d ns apart; tail: %s", both, time.Duration(last-first), apart, said.String())
	if exact > 0 {
		t.Errorf("tail has no error for %d events that have one offline", exact)
	}
	if allowed := int64(float64(last-first) * scaleError(t, filepath.Join(dir, "report.json"))); both < 1000 || apart > allowed {
		t.Errorf("%d events live and offline, intervals up to %d ns apart, of %d that the scales explain", both, apart, allowed)
	}
}

// scaleError returns by what part the scale of a timeline may be wrong in its begin: two readings, a fifth of a second apart, are wrong by the worst error of
// any. It is some tenths of a ppm, more on a busy machine.
func scaleError(t *testing.T, path string) float64 {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	report, err := show.ReadReport(file)
	if err != nil {
		t.Fatal(err)
	}
	worst := int64(0)
	for _, h := range report.Hosts {
		if h.Clock == nil {
			t.Fatalf("%s has no readings", h.Name)
		}
		worst = max(worst, h.Clock.GreatestErrorNs)
	}
	return max(0.5e-6, 2*float64(worst)/0.2e9)
}
