package sensor

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"meridian/sensor/ring"
)

var testNumbered = NewEvent2[int64, int64]("test", "numbered", "writer", "n")

// beVictim is a program that emits, says so, and waits for its death.
func beVictim(dir string) {
	if err := Start(Options{Dir: dir}); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	for i := range int64(1000) {
		testNumbered.Emit(0, i)
	}
	fmt.Println("emitted")
	select {}
}

func TestWhatAKilledProgramLeftIsRecovered(t *testing.T) {
	dir := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "MERIDIAN_SENSOR_TEST_VICTIM="+dir)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "emitted\n" {
		t.Errorf("the victim says %q: %v", line, err)
	}
	rings, err := ring.Find(dir)
	if err != nil || len(rings) != 1 {
		t.Fatalf("rings %v: %v", rings, err)
	}
	if err := Recover(rings[0], filepath.Join(t.TempDir(), "early"), Options{}); err == nil || !strings.Contains(err.Error(), "still runs") {
		t.Errorf("recovered from a program that runs: %v", err)
	}
	c.Process.Kill()
	c.Wait()
	into := filepath.Join(t.TempDir(), "trace")
	if err := Recover(rings[0], into, Options{}); err != nil {
		t.Fatal(err)
	}
	got := named(read(t, into, ""), "test:numbered")
	for i, e := range got {
		if e.values[1].Int() != int64(i) {
			t.Fatalf("event %d is %v", i, e.values)
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
