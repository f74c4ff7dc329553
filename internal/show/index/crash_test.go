package index

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"meridian/internal/testseed"
)

var kills = flag.Int("kills", 20, "how often TestKilledAtAnyInstantItGoesOn kills the writer")

// failer is a test of any kind.
type failer interface {
	fataler
	Fatalf(format string, args ...any)
}

const crashDir = "MERIDIAN_INDEX_CRASH_DIR"

// crashTimeline is the same in every process.
func crashTimeline() *timeline {
	return rapid.Custom(func(t *rapid.T) *timeline { return drawTimeline(t, 20_000) }).Example(11)
}

// TestMain is the process that TestKilledAtAnyInstantItGoesOn kills, where the environment says so.
func TestMain(m *testing.M) {
	dir := os.Getenv(crashDir)
	if dir == "" {
		os.Exit(m.Run())
	}
	if err := writeToBeKilled(dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// writeToBeKilled seals and merges all the time, and prints what has been sealed.
func writeToBeKilled(dir string) error {
	x := crashTimeline()
	schema := *x.schema
	l, resume, err := OpenLive(dir, &schema, Options{risky: true})
	if err != nil {
		return err
	}
	defer l.Close()
	next := int(number64(resume))
	fmt.Println("sealed", next)
	for i := next; i < len(x.records); i++ {
		if err := l.Write(&x.records[i]); err != nil {
			return err
		}
		if i%31 == 30 || i == len(x.records)-1 {
			if err := l.Seal([]byte(strconv.Itoa(i + 1))); err != nil {
				return err
			}
			fmt.Println("sealed", i+1)
			if _, err := l.Compact(); err != nil {
				return err
			}
		}
	}
	fmt.Println("done")
	return nil
}

// number64 reads what a seal was given: how many records had been written.
func number64(resume []byte) int64 {
	n, _ := strconv.ParseInt(string(resume), 10, 64)
	return n
}

// TestKilledAtAnyInstantItGoesOn kills a process that writes, and starts another: what was sealed is there, nothing else
// is, and in the end all is as if it had been written at once.
//
// It is not parallel: until it executes its program, a child holds the locks of indexes that other tests close.
func TestKilledAtAnyInstantItGoesOn(t *testing.T) {
	r := testseed.New(t)
	x := crashTimeline()
	dir := t.TempDir()
	for n := 0; n < *kills; n++ {
		sealed, done := writeAndKill(t, dir, time.Duration(r.Int64N(int64(30*time.Millisecond))))
		schema := *x.schema
		l, resume, err := OpenLive(dir, &schema, Options{risky: true})
		if err != nil {
			t.Fatalf("after %d kills: %v", n+1, err)
		}
		next := number64(resume)
		if next < sealed || done && next != int64(len(x.records)) {
			t.Fatalf("after %d kills it goes on after record %d, %d were sealed", n+1, next, sealed)
		}
		last := n == *kills-1
		if last {
			writeRest(t, l, x, next)
		}
		if last || done || n%10 == 0 {
			compareEvents(t, l, &timeline{x.schema, x.records[:number64OrAll(last, next, x)]})
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if done {
			dir = t.TempDir()
		}
	}
}

func number64OrAll(all bool, n int64, x *timeline) int64 {
	if all {
		return int64(len(x.records))
	}
	return n
}

func writeRest(t *testing.T, l *Live, x *timeline, next int64) {
	for i := next; i < int64(len(x.records)); i++ {
		if err := l.Write(&x.records[i]); err != nil {
			t.Fatal(err)
		}
	}
}

// writeAndKill runs a writer, and kills it some time after it has begun. It returns what it said was sealed, and whether
// it had come to the end.
func writeAndKill(t *testing.T, dir string, after time.Duration) (sealed int64, done bool) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), crashDir+"="+dir)
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	begun := false
	failed := ""
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var n int64
		switch text := lines.Text(); {
		case text == "done":
			done = true
		case scan(text, &n):
			sealed = n
			if !begun {
				begun = true
				time.AfterFunc(after, func() { _ = c.Process.Kill() })
			}
		case !begun:
			failed += text + "\n"
		}
	}
	_ = c.Wait() // it was killed
	if !begun {
		t.Fatalf("the writer did not begin: %s", failed)
	}
	return sealed, done
}

func scan(text string, n *int64) bool {
	found, _ := fmt.Sscanf(text, "sealed %d", n)
	return found == 1
}

// compareEvents holds about and all events against those of an index that was built at once.
func compareEvents(t *testing.T, l *Live, of *timeline) {
	x := of.build(t, Options{})
	defer x.Close()
	v := l.View()
	defer v.Close()
	if len(of.records) > 0 {
		compareAbout(t, v, x)
	}
	for from := int64(0); from < x.events; from += mostEvents {
		got, err := v.Events(from, mostEvents)
		want, err2 := x.Events(from, mostEvents)
		g, _ := json.Marshal(got)
		if w, _ := json.Marshal(want); err != nil || err2 != nil || string(g) != string(w) {
			t.Fatalf("events from %d on differ (%v, %v)", from, err, err2)
		}
	}
}
