package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"meridian/internal/testneed"
)

// TestScripts runs the real command as the scripts in testdata/script say. Beside testscript's own commands, scripts have
//
//	exits CODE COMMAND...     run a command, which must end with exactly this code
//	world FILE                make the captures of a world (world_test.go)
//	truth REPORT [DURATION]   every captured frame lies within its bounds, none of which is wider
//	merged FILE REPORT        a merged capture holds the frames of all captures, as they should be
//	field FILE PATH VALUE     a field of a JSON file, such as hosts.1.name, reads VALUE (null where it is absent)
//	near FILE PATH VALUE REACH   a field is a number within REACH of VALUE
//	narrower FILE FILE PATH LEAST   a field of the first is less than the second's by at least so much
//	unwarned                  the last command said nothing on stderr but which files it wrote
//	need PROGRAM              skip where a program is missing, fail if MERIDIAN_CI is 1
//
// and those of clock_words_test.go, files_test.go, lttng_test.go, objects_test.go and view_test.go. $PORT is an unused UDP port of 127.0.0.1.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			e.Values["bench"] = &bench{t: e.T()}
			port, err := freePort()
			e.Setenv("PORT", port)
			return err
		},
		Condition: func(condition string) (bool, error) {
			switch condition {
			case "root":
				return os.Geteuid() == 0, nil
			}
			return false, fmt.Errorf("unknown condition %s", condition)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "world": makeWorld, "truth": checkTruth, "merged": checkMerged, "field": checkField,
			"near": checkNear, "narrower": checkNarrower, "unwarned": unwarned, "need": need, "snapshot": snapshot, "unchanged": unchanged, "cut": cut, "compress": compress,
			"noise": noise, "viewed": viewed, "interrupt": interrupt, "smalldisk": smallDisk, "lttng": writeLTTng, "flip": flip, "objects": objects, "requests": requests, "archived": archived,
			"serveclock": serveClock, "endclock": endClock, "asks": asks, "says": says,
		},
	})
}

// freePort returns an unused UDP port below those that systems choose when a program asks for any.
func freePort() (string, error) {
	for tries := 0; ; tries++ {
		port := fmt.Sprint(10_000 + rand.IntN(20_000))
		c, err := net.ListenPacket("udp", "127.0.0.1:"+port)
		if err == nil {
			return port, c.Close()
		}
		if tries == 100 {
			return "", err
		}
	}
}

// arguments ends the script unless there are from least to most of them and the word is not negated.
func arguments(ts *testscript.TestScript, neg bool, args []string, least, most int) {
	if neg || len(args) < least || len(args) > most {
		ts.Fatalf("from %d to %d arguments, and no !", least, most)
	}
}

func exits(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 99)
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var ended *exec.ExitError
		if !errors.As(err, &ended) {
			ts.Fatalf("%v", err)
		}
		got = ended.ExitCode()
	}
	if got != want {
		ts.Fatalf("exit code %d, not %d", got, want)
	}
}

// bench is what a script's words share.
type bench struct {
	t     testscript.T
	world *world
	files map[string]string // at the last snapshot, by name
	store *store            // nil without one
	clock *servedClock      // likewise
}

func benchOf(ts *testscript.TestScript) *bench { return ts.Value("bench").(*bench) }

func makeWorld(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, 1)
	w, err := newWorld(ts.ReadFile(args[0]), ts.MkAbs("."))
	ts.Check(err)
	benchOf(ts).world = w
}

func checkTruth(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, 2)
	a, err := benchOf(ts).world.aligned(ts.MkAbs(args[0]))
	ts.Check(err)
	most := time.Hour
	if len(args) > 1 {
		most, err = time.ParseDuration(args[1])
		ts.Check(err)
	}
	ts.Check(a.check(most))
}

func checkMerged(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 2, 2)
	a, err := benchOf(ts).world.aligned(ts.MkAbs(args[1]))
	ts.Check(err)
	ts.Check(a.checkMerged(ts.MkAbs(args[0])))
}

func checkField(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 3, 3)
	if got := field(ts, args[0], args[1]); fmt.Sprint(got) != args[2] {
		ts.Fatalf("%s of %s is %v, not %s", args[1], args[0], got, args[2])
	}
}

func checkNear(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 4, 4)
	var numbers [3]float64
	for i, text := range []string{fmt.Sprint(field(ts, args[0], args[1])), args[2], args[3]} {
		var err error
		numbers[i], err = strconv.ParseFloat(text, 64)
		ts.Check(err)
	}
	if distance := math.Abs(numbers[0] - numbers[1]); distance > numbers[2] {
		ts.Fatalf("%s of %s is %v, which is %v from %s", args[1], args[0], numbers[0], distance, args[2])
	}
}

func checkNarrower(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 4, 4)
	var numbers [3]float64
	for i, text := range []string{fmt.Sprint(field(ts, args[0], args[2])), fmt.Sprint(field(ts, args[1], args[2])), args[3]} {
		var err error
		numbers[i], err = strconv.ParseFloat(text, 64)
		ts.Check(err)
	}
	if numbers[1]-numbers[0] < numbers[2] {
		ts.Fatalf("%s is %v in %s and %v in %s", args[2], numbers[0], args[0], numbers[1], args[1])
	}
}

func unwarned(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 0, 0)
	for line := range strings.Lines(ts.ReadFile("stderr")) {
		if !strings.HasPrefix(line, "meridian: wrote ") {
			ts.Fatalf("stderr has %q", line)
		}
	}
}

// field returns a field of a JSON file; numbers keep their digits.
func field(ts *testscript.TestScript, file, path string) any {
	var value any
	d := json.NewDecoder(strings.NewReader(ts.ReadFile(file)))
	d.UseNumber()
	ts.Check(d.Decode(&value))
	for _, name := range strings.Split(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i >= len(v) {
				ts.Fatalf("%s of %s: no %s among %d", path, file, name, len(v))
			}
			value = v[i]
		default:
			ts.Fatalf("%s of %s: nothing has a %s", path, file, name)
		}
	}
	if value == nil {
		return "null"
	}
	return value
}

func need(ts *testscript.TestScript, neg bool, args []string) {
	arguments(ts, neg, args, 1, 1)
	if testing.Short() {
		benchOf(ts).t.Skip("left out with -short: needs " + args[0])
	}
	if _, err := exec.LookPath(args[0]); err == nil {
		return
	}
	if os.Getenv("MERIDIAN_CI") == "1" {
		ts.Fatalf("%s is not installed", args[0])
	}
	benchOf(ts).t.Skip(fmt.Sprintf("%s is not installed (apt-get install %s)", args[0], testneed.Package(args[0])))
}
