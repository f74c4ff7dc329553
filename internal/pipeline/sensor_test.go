//go:build unix

package pipeline_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"meridian/internal/pipeline"
	"meridian/internal/pipeline/input"
	"meridian/internal/traceprocessor"
	"meridian/sensor"
)

var (
	sensorRequest = sensor.NewMark("rpc", "request")
	sensorWork    = sensor.NewSlice1[int64]("rpc", "work", "id")
	sensorDone    = sensor.NewCounter("rpc", "done")
)

const sensorRounds = 50

// sensorPeer is the program of the test below, which the test binary becomes where the environment says so: it records
// itself while it answers tags by tags.
func sensorPeer(name, dir string) error {
	rings, err := os.MkdirTemp("", "rings") // its own: another recorder of this machine looks at the usual place
	if err != nil {
		return err
	}
	defer os.RemoveAll(rings)
	stop, err := sensor.Record(dir, sensor.Options{Dir: rings, Host: name, Program: name + "-program"})
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	receive := func() error {
		if !in.Scan() {
			return fmt.Errorf("the other end is gone: %v", in.Err())
		}
		tag, err := sensor.ParseTag(in.Text())
		if err != nil {
			return err
		}
		sensorRequest.Receive(tag.ID())
		return nil
	}
	for i := range int64(sensorRounds) {
		if name == "db" {
			if err := receive(); err != nil {
				return err
			}
		}
		work := sensorWork.Begin(i)
		tag := sensor.NewTag()
		sensorRequest.Send(tag.ID())
		fmt.Println(tag)
		if name == "web" {
			if err := receive(); err != nil {
				return err
			}
		}
		work.End()
		sensorDone.Add(1)
	}
	return stop()
}

// TestTagsOfTwoProgramsAreMessagesWhereverTheirTracesLie runs two programs that answer each other.
func TestTagsOfTwoProgramsAreMessagesWhereverTheirTracesLie(t *testing.T) {
	dirs := map[string]string{"web": filepath.Join(t.TempDir(), "web"), "db": filepath.Join(t.TempDir(), "elsewhere", "db")}
	toDB, fromWeb, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	toWeb, fromDB, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	program := func(name string, in, out *os.File) *exec.Cmd {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "MERIDIAN_TEST_PEER="+name, "MERIDIAN_TEST_DIR="+dirs[name])
		c.Stdin, c.Stdout, c.Stderr = in, out, os.Stderr
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		return c
	}
	web, db := program("web", toWeb, fromWeb), program("db", toDB, fromDB)
	for _, f := range []*os.File{toDB, fromWeb, toWeb, fromDB} {
		f.Close()
	}
	if err := web.Wait(); err != nil {
		t.Error("web: ", err)
	}
	if err := db.Wait(); err != nil {
		t.Error("db: ", err)
	}
	if t.Failed() {
		return
	}

	inputs, err := input.Parse([]string{"web=" + dirs["web"], "db=" + dirs["db"]})
	if err != nil {
		t.Fatal(err)
	}
	perfetto := filepath.Join(t.TempDir(), "x.pftrace")
	out, err := pipeline.Run(context.Background(), inputs, pipeline.Options{Outputs: []string{perfetto}})
	if err != nil {
		t.Fatal(err)
	}
	warnings := slices.DeleteFunc(out.Warnings, func(line string) bool {
		// As delays can look that follow a machine's load.
		return strings.Contains(line, "show that a clock wanders") || strings.Contains(line, "as their messages show") || strings.Contains(line, "their skew is more than") || strings.Contains(line, "narrower than the least round trip")
	})
	if len(out.Broken) > 0 || len(warnings) > 0 {
		t.Errorf("%v %v", out.Broken, warnings)
	}
	if q := out.Report.Quality; q.Messages != 2*sensorRounds || q.Inversions != 0 {
		t.Errorf("%d messages, %d of them inverted", q.Messages, q.Inversions)
	}
	for i, a := range traceprocessor.Query(t, perfetto,
		"select count(*) from flow",
		"select count(*) from slice where name = 'rpc:work' and dur > 0",
		"select max(value) from counter c join track t on c.track_id = t.id where t.name glob '*done*'") {
		if want := []string{fmt.Sprintln(2 * sensorRounds), fmt.Sprintln(2 * sensorRounds), fmt.Sprintln(sensorRounds)}[i]; a.String() != want {
			t.Errorf("answer %d is %q, not %q", i, a.String(), want)
		}
	}
}
