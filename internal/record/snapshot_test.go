package record

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"meridian/format/ctf"
	"meridian/internal/retention"
	"meridian/sensor/tsdl"
	"meridian/trace"
)

func trigger(t *testing.T, text string) Trigger {
	t.Helper()
	x, err := ParseTrigger(text)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// recorded runs a recorder until end is called, which returns its summary.
func recorded(t *testing.T, o Options) (r *Recorder, end func() Summary) {
	t.Helper()
	ready := make(chan struct{})
	o.Ready = func() { close(ready) }
	r, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan Summary, 1)
	go func() {
		s, err := r.Run(ctx)
		if err != nil {
			t.Error(err)
		}
		over <- s
	}()
	<-ready
	return r, func() Summary {
		cancel()
		return <-over
	}
}

func TestEventsThatMeetATriggerAreInItsSnapshot(t *testing.T) {
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	k := &trickle{next: make(chan struct{})}
	made := make(chan Snapshot, 10)
	o := Options{Dir: dir, Rings: []string{rings}, Sources: []Source{k}, Keep: Keep{Time: time.Hour}, Packets: &fakeCapture{frames: 50},
		Trigger:  []Trigger{trigger(t, "test:num*,n=700"), trigger(t, "sched_switch,prev_comm~^we,prev_tid>0"), trigger(t, "nothing,n=1")},
		Snapshot: func(s Snapshot) { made <- s }}
	_, end := recorded(t, o)
	p := program(t, "web", rings, "GOROUTINES=1", "EVENTS=2000", "BUFFERS=64")
	p.emitted(t)
	of := <-made
	k.next <- struct{}{}
	second := <-made
	p.in.Close()
	p.Wait()
	s := end()
	if of.Error != "" || of.Reason != "trigger test:num*,n=700" || of.Asked != 1 || second.Reason != "trigger sched_switch,prev_comm~^we,prev_tid>0" {
		t.Fatalf("%+v, %+v", of, second)
	}
	if len(s.Snapshots) != 2 || s.Snapshots[0] != of || s.Total.Lost > 0 {
		t.Errorf("%+v", s)
	}
	found := map[[2]int]int{}
	numbers(read(t, of.Dir), p.Process.Pid, found)
	for i := range 701 {
		if found[[2]int{0, i}] != 1 {
			t.Fatalf("event %d is in the snapshot %d times", i, found[[2]int{0, i}])
		}
	}
	switches := 0
	for _, e := range read(t, second.Dir) {
		if e.class.Name == "sched_switch" {
			switches++
		}
	}
	if switches != 1 || babeltrace(t, of.Dir) == 0 || babeltrace(t, second.Dir) == 0 {
		t.Errorf("%d switches", switches)
	}
	if stamps, w := captured(t, filepath.Join(second.Dir, packetFiles, filepath.Base(hostFile(t, dir)))); len(stamps) == 0 || len(w) > 0 {
		t.Errorf("%d packets, %q", len(stamps), w)
	}
	tr, err := ctf.Open(of.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if env := tr.Env(); env["snapshot"] != of.Reason || env["snapshot_asked"] != "1" {
		t.Errorf("%v", env)
	}
}

// hostFile returns the path of the one file of packets.
func hostFile(t *testing.T, dir string) string {
	t.Helper()
	paths, _ := filepath.Glob(filepath.Join(dir, packetFiles, "*"+packetSuffix))
	if len(paths) != 1 {
		t.Fatal(paths)
	}
	return paths[0]
}

// TestSnapshotsOfARecordingThatDropsAreWholeAroundTheInstant asks again and again while chunks are dropped.
func TestSnapshotsOfARecordingThatDropsAreWholeAroundTheInstant(t *testing.T) {
	rings, dir := t.TempDir(), filepath.Join(t.TempDir(), "trace")
	_, end := recorded(t, Options{Dir: dir, Rings: []string{rings}, Keep: Keep{Bytes: MinKeepBytes}, SnapshotAfter: 50 * time.Millisecond})
	p := program(t, "victim", rings, "GOROUTINES=2", "BUFFERS=64")
	for some, end := false, time.Now().Add(2*time.Minute); !some; time.Sleep(time.Millisecond) {
		if _, some, _ = retention.Of(dir); !some && time.Now().After(end) {
			t.Fatal("nothing is dropped")
		}
	}
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			for range 4 {
				if _, err := RequestSnapshot(context.Background(), dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	p.in.Close()
	p.emitted(t)
	p.Wait()
	s := end()
	if s.Dropped == nil || len(s.Snapshots) < 4 {
		t.Fatalf("%+v", s)
	}
	asked := 0
	for _, x := range s.Snapshots {
		asked += x.Asked
		events := read(t, x.Dir)
		d, _, err := retention.Of(x.Dir)
		m, wrong := readMetadata(x.Dir)
		if err != nil || wrong != nil {
			t.Fatal(err, wrong)
		}
		// What was emitted before the instant is there up to that, of each goroutine.
		until := map[int64]int{}
		for _, e := range events {
			if e.class.Name == "test:number" && int64(e.Time) <= x.At.UnixNano() {
				g := e.values[0].Int()
				until[g] = max(until[g], int(e.values[1].Int())+1)
			}
		}
		if len(until) == 2 {
			wholeFrom(t, events, p.Process.Pid, []int{until[0], until[1]}, int64(d.Until)+originOf(m), discardedIn(t, x.Dir))
		}
		babeltraceWithLoss(t, x.Dir)
	}
	if asked != 12 {
		t.Errorf("%d snapshots for %d requests", len(s.Snapshots), asked)
	}
	if rest, _ := filepath.Glob(filepath.Join(dir, requestFile+"*")); len(rest) > 0 {
		t.Errorf("left behind: %q", rest)
	}
}

func TestRequestsWithoutARecorderThatKeepsFail(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	if _, err := RequestSnapshot(context.Background(), dir); err == nil || err.Error() != "snapshot: "+dir+": no such directory; want the DIR of a running meridian record -o DIR --keep" {
		t.Error(err)
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if _, err := RequestSnapshot(context.Background(), dir); err == nil || err.Error() != "snapshot: "+dir+" holds no trace; want the DIR of a running meridian record -o DIR --keep" {
		t.Error(err)
	}
	_, end := recorded(t, Options{Dir: dir, Rings: []string{t.TempDir()}})
	if _, err := RequestSnapshot(context.Background(), dir); err == nil || !strings.Contains(err.Error(), "has no --keep") {
		t.Error(err)
	}
	end()
	if _, err := RequestSnapshot(context.Background(), dir); err == nil || !strings.Contains(err.Error(), "nothing records to") {
		t.Error(err)
	}
}

func TestTriggersThatEventsMeetAllTheTimeMakeFewSnapshots(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "trace")
	k := &trickle{next: make(chan struct{})}
	made, asked := make(chan Snapshot), make(chan os.Signal, 1)
	r, end := recorded(t, Options{Dir: dir, Rings: []string{t.TempDir()}, Sources: []Source{k}, Keep: Keep{Time: time.Hour}, Flush: MinFlush,
		Trigger: []Trigger{trigger(t, "*")}, SnapshotAt: asked, Snapshot: func(s Snapshot) { made <- s }})
	for range maxTriggered {
		k.next <- struct{}{}
		<-made
	}
	for range 5 {
		k.next <- struct{}{}
	}
	asked <- os.Interrupt
	last := <-made // which the fifth event may share
	if last.Reason != "signal SIGINT" || last.Error != "" {
		t.Errorf("%+v", last)
	}
	if s := end(); len(s.Snapshots) != maxTriggered+1 {
		t.Errorf("%d snapshots", len(s.Snapshots))
	}
	if lines := r.o.Warnings.Lines(); len(lines) != 1 || !strings.Contains(lines[0], fmt.Sprintf("(%d times)", 6-last.Asked)) {
		t.Errorf("%q", lines)
	}
}

// TestATriggerNamesAnEventAsFiltersDo gives names of sensors' events, which are PROVIDER:NAME, and of sources'.
func TestATriggerNamesAnEventAsFiltersDo(t *testing.T) {
	sensor, source := &trace.Class{Name: "test:number"}, &trace.Class{Name: "number", Category: "test"}
	for text, want := range map[string]bool{
		"number": true, "test:number": true, "num*": true, "test:*": true, "*": true, "test": false, "umber": false, "other:number": false, "numbers": false,
	} {
		trigger := trigger(t, text)
		if got := trigger.names(sensor); got != want {
			t.Errorf("%s names test:number: %v", text, got)
		}
		if got := trigger.names(source); got != want {
			t.Errorf("%s names number of test: %v", text, got)
		}
	}
}

// TestTriggersReadTheFieldsOfRings compares the values that a trigger reads with those that were encoded.
func TestTriggersReadTheFieldsOfRings(t *testing.T) {
	var text tsdl.Metadata
	text.Event(tsdl.Event{Name: "e", ID: 0, Fields: tsdl.Struct(1, tsdl.Type("integer { size = 8; align = 8; signed = true; }").Named("a"), tsdl.String.Named("s"), tsdl.Uint16.Named("u"),
		tsdl.Int64.Named("i"), tsdl.Type("floating_point { exp_dig = 11; mant_dig = 53; align = 8; }").Named("f"), tsdl.Type("floating_point { exp_dig = 8; mant_dig = 24; align = 8; }").Named("g"))})
	m, err := parsed(newUUID(), ringStream+text.String(), "test")
	if err != nil {
		t.Fatal(err)
	}
	b := []byte{0x85, 'h', 'i', 0, 0x34, 0xff, 0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0x20, 0xc0}
	for text, want := range map[string]bool{
		"e": true, "e,a=-123": true, "e,a>0": false, "e,s=hi": true, "e,s~^h.$": true, "e,s=h": false, "e,u=65332": true, "e,u<0": false,
		"e,i=-2": true, "e,i>-2": false, "e,f=1.5": true, "e,g=-2.5": true, "e,g>=-2.5,f>1,s=hi": true, "e,f>1,s=ho": false, "e,x=1": false, "other": false,
	} {
		s := &m.Streams[0]
		r := triggersOfRing([]Trigger{trigger(t, text)}, s, &s.Events[0], nil)
		if got := r != nil && r.met(b) != nil; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
	for _, wrong := range []string{"", ",a=1", "e,a", "e,a~(", "e,a>x", "[,a=1"} {
		if x, err := ParseTrigger(wrong); err == nil {
			t.Errorf("%q is taken for %v", wrong, x)
		}
	}
}
