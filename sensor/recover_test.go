package sensor

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/sensor/internal/testtrace"
	"meridian/sensor/ring"
)

var testNumbered = NewEvent2[int64, int64]("test", "numbered", "writer", "n")

// beVictim is a program that emits, says so, and waits for its death.
func beVictim(dir string) {
	if running.Load() == nil { // unless the environment has asked for it
		if err := Start(Options{Dir: dir}); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	testNothing.Emit()
	for i := range int64(1000) {
		testNumbered.Emit(0, i)
	}
	fmt.Println("emitted")
	select {}
}

// victim runs beVictim until it has emitted, and returns it and its ring.
func victim(t *testing.T, dir string, environment ...string) (*exec.Cmd, string) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), "MERIDIAN_SENSOR_TEST_VICTIM="+dir), environment...)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "emitted\n" {
		t.Fatalf("the victim says %q: %v", line, err)
	}
	rings, err := ring.Find(dir)
	if err != nil || len(rings) != 1 {
		t.Fatalf("rings %v: %v", rings, err)
	}
	return c, rings[0]
}

func TestWhatAKilledProgramLeftIsRecovered(t *testing.T) {
	dir := t.TempDir()
	c, left := victim(t, dir)
	if err := Recover(left, filepath.Join(t.TempDir(), "early"), Options{}); err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Errorf("recovered from a program that runs: %v", err)
	}
	c.Process.Kill()
	c.Wait()
	into := filepath.Join(t.TempDir(), "trace")
	if err := Recover(left, into, Options{}); err != nil {
		t.Fatal(err)
	}
	got := testtrace.Read(t, into).Named("test:numbered")
	for i, e := range got {
		if e.Int(1) != int64(i) {
			t.Fatalf("event %d is %v", i, e.Values)
		}
	}
	if len(got) != 1000 {
		t.Errorf("%d events of 1000", len(got))
	}
	if rings, _ := ring.Find(dir); len(rings) > 0 {
		t.Errorf("%v are still there", rings)
	}
	babeltrace(t, into)
}

func TestTheEnvironmentStartsAndSwitches(t *testing.T) {
	dir := t.TempDir()
	c, left := victim(t, dir, "MERIDIAN="+dir, "MERIDIAN_EVENTS=test:num*")
	c.Process.Kill()
	c.Wait()
	into := filepath.Join(t.TempDir(), "trace")
	if err := Recover(left, into, Options{}); err != nil {
		t.Fatal(err)
	}
	all := testtrace.Read(t, into)
	if n := len(all.Named("test:numbered")); n != 1000 || len(all) != n {
		t.Errorf("%d events, %d of them of the class that is on", len(all), n)
	}
}
