//go:build unix

package main_test

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"meridian/internal/testseed"
)

var followKills = flag.Int("follow-kills", 8, "how often TestFollowerAndRecorderThatAreKilledGoOn kills the follower")

// viewing is a command with the page of a timeline that grows.
type viewing struct {
	*exec.Cmd
	url    string
	stderr strings.Builder
}

// follow starts view --follow by a program that is meridian, with more in its environment.
func follow(t *testing.T, program string, env []string, args ...string) *viewing {
	t.Helper()
	v := &viewing{Cmd: exec.Command(program, append([]string{"view", "--follow", "--no-browser"}, args...)...)}
	v.Cmd.Env, v.Cmd.Stderr = append(os.Environ(), env...), &v.stderr
	lines := bufio.NewScanner(started(t, v.Cmd))
	if !lines.Scan() {
		_ = v.Wait()
		t.Fatalf("no address: %s", v.stderr.String())
	}
	v.url = lines.Text()
	return v
}

// events returns how many events the page shows, 0 while it has none.
func (v *viewing) events(t *testing.T) int {
	t.Helper()
	var about struct{ Events int }
	v.get(t, "about", &about)
	return about.Events
}

// get asks the page; it leaves answer as it is while there is nothing to show.
func (v *viewing) get(t *testing.T, what string, answer any) {
	t.Helper()
	r, err := http.Get(v.url + "api/" + what)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	body, err := io.ReadAll(r.Body)
	if err == nil && r.StatusCode == http.StatusOK {
		err = json.Unmarshal(body, answer)
	}
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// numbers returns the numbers of the events that the page shows, in its order.
func (v *viewing) numbers(t *testing.T) (numbers []int) {
	t.Helper()
	for total := v.events(t); len(numbers) < total; {
		var events []struct {
			Fields [][2]string `json:"fields"`
		}
		v.get(t, fmt.Sprintf("events?from=%d&count=1000", len(numbers)), &events)
		if len(events) == 0 {
			t.Fatalf("no event %d of %d", len(numbers), total)
		}
		for _, e := range events {
			n := -1
			if len(e.Fields) > 0 {
				if _, err := fmt.Sscan(e.Fields[0][1], &n); err != nil {
					t.Fatalf("event %d has %q", len(numbers), e.Fields)
				}
			}
			numbers = append(numbers, n)
		}
	}
	return numbers
}

// TestFollowerAndRecorderThatAreKilledGoOn kills the follower at random instants while a program emits numbered events, and the
// recorder at every fourth of them: in the end the page shows every number once.
func TestFollowerAndRecorderThatAreKilledGoOn(t *testing.T) {
	random := testseed.New(t)
	dir := t.TempDir()
	rings, trace, index := filepath.Join(dir, "rings"), filepath.Join(dir, "trace"), filepath.Join(dir, "index")
	if err := os.Mkdir(rings, 0o700); err != nil {
		t.Fatal(err)
	}
	record := func() *exec.Cmd {
		c := exec.Command("meridian", "record", "-q", "-o", trace, "--host", "web", "--rings", rings, "--flush", "10ms")
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Process.Kill() })
		return c
	}
	// emitting starts a program that emits events with numbers from one on; end ends it and returns how many there were.
	emitting := func(from int) (end func() int) {
		number := exec.Command("number")
		number.Env = append(os.Environ(), "NUMBER_RINGS="+rings, fmt.Sprint("NUMBER_FROM=", from))
		told, err := number.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var last strings.Builder
		number.Stdout, number.Stderr = &last, os.Stderr
		if err := number.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = number.Process.Kill() })
		return func() (total int) {
			told.Close()
			if err := number.Wait(); err != nil {
				t.Fatal(err)
			}
			if _, err := fmt.Sscan(last.String(), &total); err != nil || total == 0 {
				t.Fatalf("%q events: %v", last.String(), err)
			}
			return total
		}
	}
	recorder := record()
	end := emitting(0)
	recorders, shown := 1, 0
	for n := 1; n <= *followKills; n++ {
		v := follow(t, "meridian-sealing", nil, trace, "--index", index, "--event", "test:*", "--latency", "20ms")
		time.Sleep(time.Duration(random.Int64N(int64(400 * time.Millisecond))))
		if err := v.Process.Kill(); err != nil {
			t.Fatalf("kill %d: %v: %s", n, err, v.stderr.String())
		}
		if v.Wait(); v.ProcessState.Exited() {
			t.Fatalf("kill %d: it had ended by itself: %s", n, v.stderr.String())
		}
		if n%4 == 0 {
			_ = recorder.Process.Kill()
			_ = recorder.Wait()
			recorder = record()
			recorders++
		}
	}
	total := end()
	v := follow(t, "meridian-sealing", nil, trace, "--index", index, "--event", "test:*", "--latency", "20ms")
	shows := func(least int) {
		t.Helper()
		for limit := time.Now().Add(time.Minute); shown < least; time.Sleep(20 * time.Millisecond) {
			if shown = v.events(t); time.Now().After(limit) {
				t.Fatalf("the page shows %d events, not %d: %s", shown, least, v.stderr.String())
			}
		}
	}
	shows(total)
	end = emitting(total) // what would come twice is there before these
	shows(total + 1)
	end()
	numbers := v.numbers(t)
	times := make([]int, total)
	for _, n := range numbers {
		if n < 0 {
			t.Fatal("an event has no number")
		}
		if n < total { // not of the last program
			times[n]++
		}
	}
	missing, twice := 0, 0
	for _, n := range times {
		if n == 0 {
			missing++
		} else {
			twice += n - 1
		}
	}
	t.Logf("%d kills of the follower, %d recorders: %d events, %d missing, %d more than once", *followKills, recorders, total, missing, twice)
	if missing > 0 || twice > 0 {
		t.Errorf("%d shown of %d, %d missing, %d more than once", len(numbers), total, missing, twice)
	}
	if err := recorder.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = recorder.Wait()
	if err := v.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := v.Wait(); err != nil {
		t.Errorf("%v: %s", err, v.stderr.String())
	}
}
