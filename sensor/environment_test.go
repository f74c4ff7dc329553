package sensor

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/sensor/internal/testtrace"
	"meridian/sensor/ring"
)

// beUnderEnvironment is a program for which the environment has started recording. It prints what the test compares.
func beUnderEnvironment(program string) {
	dir := os.Getenv("MERIDIAN_SENSOR_TEST_DIR")
	switch program {
	case "start":
		fmt.Println(Start(Options{}))
		testNumbered.Emit(0, 1)
		fmt.Println(errors.Is(Start(Options{}), ErrStarted))
		path := Ring()
		fmt.Println(Stop(), Ring() == "", path != "")
		fmt.Println(Start(Options{Dir: filepath.Dir(path)}), Stop())
	case "contradict":
		fmt.Println(Start(Options{Program: "shop", Dir: dir, Buffers: 32, BufferSize: 64 << 10, Overwrite: true, Events: "test:num*"}))
		fmt.Println(testNothing.Enabled(), testNumbered.Enabled())
		fmt.Println(Stop())
	case "record":
		recordItself(dir)
	case "busy":
		reader, err := ring.Open(Ring()) // as a recorder has it
		fmt.Println(err)
		recordItself(dir)
		fmt.Println(reader.Closed(), reader.Close())
	case "started":
		fmt.Println(Start(Options{}))
		reader, err := ring.Open(Ring())
		fmt.Println(err)
		_, err = Record(filepath.Join(dir, "trace"), Options{})
		fmt.Println(errors.Is(err, ring.ErrBusy), strings.Contains(err.Error(), "exclude each other"))
		fmt.Println(reader.Close(), Stop())
	}
	os.Exit(0)
}

func recordItself(dir string) {
	testNumbered.Emit(0, 1)
	stop, err := Record(filepath.Join(dir, "trace"), Options{Dir: dir})
	fmt.Println(err)
	testNumbered.Emit(0, 2)
	fmt.Println(stop())
}

// underEnvironment runs such a program and returns what it printed, its rings' directory and its own.
func underEnvironment(t *testing.T, program string) (stdout, stderr, rings, dir string) {
	t.Helper()
	rings, dir = t.TempDir(), t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "MERIDIAN_SENSOR_TEST_PROGRAM="+program, "MERIDIAN_SENSOR_TEST_DIR="+dir, "MERIDIAN="+rings, "MERIDIAN_EVENTS=")
	var out, errs strings.Builder
	c.Stdout, c.Stderr = &out, &errs
	if err := c.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, &out, &errs)
	}
	return out.String(), errs.String(), rings, dir
}

func TestStartIsNoErrorAfterTheEnvironmentsStart(t *testing.T) {
	stdout, stderr, rings, _ := underEnvironment(t, "start")
	if want := "<nil>\ntrue\n<nil> true true\n<nil> <nil>\n"; stdout != want || stderr != "" {
		t.Errorf("it says %q and %q, want %q", stdout, stderr, want)
	}
	if found, err := ring.Find(rings); err != nil || len(found) != 2 { // of the environment, and of the second Start
		t.Errorf("rings %v: %v", found, err)
	}
}

func TestOptionsThatComeAfterTheEnvironmentsStartAreNamed(t *testing.T) {
	stdout, stderr, _, _ := underEnvironment(t, "contradict")
	if want := "<nil>\nfalse true\n<nil>\n"; stdout != want {
		t.Errorf("it says %q, want %q", stdout, want)
	}
	if !strings.HasSuffix(stderr, "these options of Start have no effect: Program, Dir, Buffers, Overwrite\n") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("stderr: %q", stderr)
	}
}

func TestRecordTakesOverWhatTheEnvironmentStarted(t *testing.T) {
	for _, c := range []struct {
		program, stdout string
		own, before     int // events in the program's own trace, and in the ring of the environment
	}{
		{"record", "<nil>\n<nil>\n", 2, 0},
		{"busy", "<nil>\n<nil>\n<nil>\ntrue <nil>\n", 1, 1},
	} {
		t.Run(c.program, func(t *testing.T) {
			stdout, stderr, rings, dir := underEnvironment(t, c.program)
			if stdout != c.stdout || stderr != "" {
				t.Errorf("it says %q and %q, want %q", stdout, stderr, c.stdout)
			}
			if n := len(testtrace.Read(t, filepath.Join(dir, "trace")).Named("test:numbered")); n != c.own {
				t.Errorf("%d events in the program's trace, want %d", n, c.own)
			}
			found, err := ring.Find(rings)
			if err != nil || len(found) != 1 {
				t.Fatalf("rings %v: %v", found, err)
			}
			into := filepath.Join(t.TempDir(), "before")
			if err := Recover(found[0], into, Options{}); err != nil {
				t.Fatal(err)
			}
			if n := len(testtrace.Read(t, into).Named("test:numbered")); n != c.before {
				t.Errorf("%d events from before Record, want %d", n, c.before)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "*.ring")); len(left) > 0 {
				t.Errorf("rings are left: %v", left)
			}
		})
	}
}

func TestRecordOfAStartedRingThatARecorderReadsSaysWhatToDo(t *testing.T) {
	stdout, stderr, _, _ := underEnvironment(t, "started")
	if want := "<nil>\n<nil>\ntrue true\n<nil> <nil>\n"; stdout != want || stderr != "" {
		t.Errorf("it says %q and %q, want %q", stdout, stderr, want)
	}
}
