package kernel

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
	"meridian/trace"
)

// told is what the rows say, a line an event, "12 nginx 7: begin read fd=3", without the fields of sched_switch.
func told(t interface{ Fatal(...any) }, src trace.Source) (lines, warnings []string) {
	var w trace.Warnings
	r := Rows(src, &w)
	var e trace.Event
	open := make(map[uint64]string)
	for {
		if err := r.Next(&e); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		c := &r.Classes()[e.Class]
		phase := [...]string{"at", "begin", "end", "count"}[e.Phase]
		at := fmt.Sprintf("%d/%s", e.Stream, c.Name)
		switch {
		case e.Phase == trace.Begin && e.Slice != 0:
			if open[e.Slice] != "" {
				t.Fatal("two slices of one number")
			}
			open[e.Slice] = at
		case e.Phase == trace.End && e.Slice != 0:
			if open[e.Slice] != at {
				t.Fatal("a slice ends as ", at, " and began as ", open[e.Slice])
			}
			delete(open, e.Slice)
		}
		line := fmt.Sprintf("%d %s: %s %s", e.Time, r.Streams()[e.Stream].Name, phase, c.Name)
		values := r.Values()
		if len(values) > len(c.Fields) {
			t.Fatal("more values than fields")
		}
		var fields []byte
		for i := range values {
			if name := c.Fields[i].Name; name == "cpu_id" || strings.HasPrefix(name, "prev_") || strings.HasPrefix(name, "next_") {
				continue
			}
			fields = fmt.Appendf(fields, " %s=", c.Fields[i].Name)
			fields = values[i].Append(fields, &c.Fields[i].Type)
		}
		lines = append(lines, line+string(fields))
	}
	if len(open) > 0 {
		t.Fatal(len(open), " slices did not end")
	}
	return lines, w.Lines()
}

func expect(t *testing.T, src trace.Source, want string, wanted ...string) {
	t.Helper()
	lines, warnings := told(t, src)
	var expected []string
	for _, l := range strings.Split(strings.TrimSpace(want), "\n") {
		expected = append(expected, strings.TrimSpace(l))
	}
	if !slices.Equal(lines, expected) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(expected, "\n"))
	}
	if !slices.EqualFunc(warnings, wanted, strings.Contains) {
		t.Errorf("warnings %q, want %q", warnings, wanted)
	}
}

func (s *script) switchTo(time clock.HostTime, cpu int, prev string, prevTID int64, next string, nextTID int64) {
	s.add(time, cpu, "sched_switch", text2("prev_comm", prev), i("prev_tid", prevTID), text2("next_comm", next), i("next_tid", nextTID))
}

// text2 is a name as the kernel has it, in 16 bytes.
func text2(name, v string) field { return s(name, v+"\x00junk") }

func TestThreadsRunWhereSchedSwitchSaysAndCallTheSystem(t *testing.T) {
	var z script
	z.cpus(1)
	z.add(1, 0, "syscall_entry_read", u("fd", 3)) // its thread is not known yet
	z.switchTo(2, 0, "swapper/0", 0, "sh", 7)
	z.add(3, 0, "syscall_exit_close", i("ret", 0)) // of a call from before the trace
	z.add(4, 0, "syscall_entry_read", u("fd", 4))
	z.switchTo(5, 0, "sh", 7, "swapper/0", 0)
	z.add(6, 0, "kmem_kfree", u("ptr", 1))
	z.switchTo(7, 0, "swapper/0", 0, "sh", 7)
	z.add(8, 0, "syscall_exit_read", i("ret", 9))
	z.add(9, 0, "kmem_kfree", u("ptr", 2))
	z.switchTo(10, 0, "sh", 7, "ls", 8)
	expect(t, &z, `
		1 CPU 0: at syscall_entry_read fd=3
		2 sh 7: begin running
		2 CPU 0: begin sh
		4 sh 7: begin read fd=4
		5 sh 7: end running
		5 CPU 0: end sh
		6 CPU 0: at kmem_kfree ptr=1
		7 sh 7: begin running
		7 CPU 0: begin sh
		8 sh 7: end read ret=9
		9 sh 7: at kmem_kfree ptr=2
		10 sh 7: end running
		10 CPU 0: end sh
		10 ls 8: begin running
		10 CPU 0: begin ls
		10 CPU 0: end ls
		10 ls 8: end running`)
}

func TestFieldsStayWithTheirEvents(t *testing.T) {
	var z script
	z.cpus(2).switchTo(1, 1, "swapper/1", 0, "sh", 7)
	z.add(2, 1, "sched_waking", s("comm", "sh"), i("tid", 7), i("cpu_id", 5))
	r := Rows(&z, nil)
	var e trace.Event
	var got []string
	for r.Next(&e) == nil {
		c := r.Classes()[e.Class]
		line := []byte(c.Name)
		values := r.Values()
		for k := range values {
			line = append(append(append(line, ' '), c.Fields[k].Name...), '=')
			line = values[k].Append(line, &c.Fields[k].Type)
		}
		got = append(got, strings.ReplaceAll(string(line), "\x00junk", ""))
	}
	switched := " prev_comm=swapper/1 prev_tid=0 next_comm=sh next_tid=7 cpu_id=1"
	want := []string{"running" + switched, "sh" + switched, "sched_waking comm=sh tid=7 cpu_id=5", "sh", "running"}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
}

func TestSwitchThatContradictsTheOneBeforeEndsItsSlices(t *testing.T) {
	var z script
	z.cpus(2)
	z.switchTo(1, 0, "a", 1, "b", 2)
	z.switchTo(3, 0, "c", 3, "d", 4) // the switch from b to c was lost
	z.switchTo(4, 1, "x", 9, "d", 4) // and that away from d
	z.add(5, 1, "irq_handler_entry", i("irq", 27), s("name", "eth0"))
	z.switchTo(6, 1, "d", 4, "swapper/1", 0) // and the handler's return
	expect(t, &z, `
		1 b 2: begin running
		1 CPU 0: begin b
		3 b 2: end running
		3 CPU 0: end b
		3 d 4: begin running
		3 CPU 0: begin d
		4 d 4: end running
		4 CPU 0: end d
		4 d 4: begin running
		4 CPU 1: begin d
		5 CPU 1 interrupts: begin irq 27 eth0 irq=27 name=eth0
		6 CPU 1 interrupts: end irq 27 eth0
		6 d 4: end running
		6 CPU 1: end d`, "(5 times)")
}

func TestInterruptsAreAboveWhateverThreadIsInterrupted(t *testing.T) {
	var z script
	z.cpus(1).switchTo(1, 0, "sh", 7, "ls", 8)
	z.add(2, 0, "irq_handler_entry", i("irq", 27), s("name", "eth0"))
	z.add(3, 0, "irq_softirq_raise", u("vec", 3))
	z.add(4, 0, "irq_handler_exit", i("irq", 27), i("ret", 1))
	z.add(5, 0, "irq_softirq_entry", u("vec", 3))
	z.add(6, 0, "net_if_receive_skb", u("skbaddr", 1), s("name", "eth0"))
	z.add(7, 0, "x86_irq_vectors_local_timer_entry", u("vector", 239))
	z.add(8, 0, "hrtimer_expire_entry", u("hrtimer", 1))
	z.add(9, 0, "hrtimer_expire_exit", u("hrtimer", 1))
	z.add(10, 0, "x86_irq_vectors_local_timer_exit", u("vector", 239))
	z.add(11, 0, "irq_softirq_exit", u("vec", 3))
	z.add(12, 0, "irq_softirq_exit", u("vec", 3)) // no such thing
	z.add(13, 0, "block_rq_issue", u("dev", 8))
	expect(t, &z, `
		1 ls 8: begin running
		1 CPU 0: begin ls
		2 CPU 0 interrupts: begin irq 27 eth0 irq=27 name=eth0
		3 CPU 0 interrupts: at irq_softirq_raise vec=3
		4 CPU 0 interrupts: end irq 27 eth0 irq=27 ret=1
		5 CPU 0 interrupts: begin softirq NET_RX vec=3
		6 eth0: at net_if_receive_skb skbaddr=1 name=eth0
		7 CPU 0 interrupts: begin local_timer vector=239
		8 CPU 0 interrupts: begin hrtimer_expire hrtimer=1
		9 CPU 0 interrupts: end hrtimer_expire hrtimer=1
		10 CPU 0 interrupts: end local_timer vector=239
		11 CPU 0 interrupts: end softirq NET_RX vec=3
		13 ls 8: at block_rq_issue dev=8
		13 CPU 0: end ls
		13 ls 8: end running`)
}

func TestThreadsBelongToProcessesAsForkAndStateSay(t *testing.T) {
	var z script
	z.cpus(1)
	state := func(tid, pid int64, name string, kind int64) {
		z.add(1, 0, "lttng_statedump_process_state", i("tid", tid), i("pid", pid), text2("name", name), i("type", kind))
	}
	state(100, 100, "nginx", 0)
	state(101, 100, "worker", 0)
	state(5, 5, "kworker/0:1", 1)
	z.switchTo(2, 0, "swapper/0", 0, "worker", 101)
	z.switchTo(3, 0, "worker", 101, "kworker/0:1", 5)
	z.switchTo(4, 0, "kworker/0:1", 5, "nginx", 100)
	fork := func(time clock.HostTime, tid, pid int64) {
		z.add(time, 0, "sched_process_fork", text2("parent_comm", "nginx"), i("parent_tid", 100), i("parent_pid", 100),
			text2("child_comm", "nginx"), i("child_tid", tid), i("child_pid", pid))
	}
	fork(5, 200, 200)
	fork(6, 102, 100)
	z.switchTo(7, 0, "nginx", 100, "nginx", 200)
	z.add(8, 0, "sched_process_exec", s("filename", "/usr/bin/a-very-long-name"), i("tid", 200), i("old_tid", 200))
	z.add(8, 0, "syscall_entry_exit_group", i("error_code", 0))
	z.add(9, 0, "sched_process_exit", text2("comm", "a-very-long-name"), i("tid", 200), i("prio", 0))
	z.switchTo(10, 0, "a-very-long-na", 200, "nginx", 102)
	z.add(11, 0, "sched_process_free", text2("comm", "x"), i("tid", 200), i("prio", 0))
	fork(12, 200, 200) // the number is used again
	z.switchTo(13, 0, "nginx", 102, "again", 200)
	r := Rows(&z, nil)
	var e trace.Event
	rows := make(map[string]bool)
	for r.Next(&e) == nil {
	}
	for _, s := range r.Streams() {
		parent := ""
		if s.Parent >= 0 {
			parent = " of " + r.Streams()[s.Parent].Kind.String() + " " + r.Streams()[s.Parent].Name
		}
		rows[s.Kind.String()+" "+s.Name+parent] = true
	}
	want := []string{"thread worker 101 of process nginx 100", "thread kworker/0:1 5", "thread nginx 100 of process nginx 100", "process nginx 100",
		"thread a-very-long-na 200 of process a-very-long-na 200", "thread nginx 102 of process nginx 100",
		"thread again 200 of process again 200", "cpu CPU 0", "other state at the beginning",
		"process a-very-long-na 200", "process again 200"}
	for _, w := range want {
		if !rows[w] {
			t.Errorf("no row %q in %v", w, rows)
		}
		delete(rows, w)
	}
	if len(rows) > 0 {
		t.Errorf("rows too many: %v", rows)
	}
}

// The events that a program records of itself are on the row of its process, with those of the kernel. A later process of the
// same number has a row of its own.
func TestAProgramsOwnEventsAreWithItsThreads(t *testing.T) {
	var z script
	z.cpus(1)
	z.streams = append(z.streams, trace.Stream{Name: "app", Kind: trace.Process, ID: 50, Parent: -1},
		trace.Stream{Name: "other", Kind: trace.Process, ID: 60, Parent: -1})
	fork := func(time clock.HostTime) {
		z.add(time, 0, "sched_process_fork", text2("parent_comm", "sh"), i("parent_tid", 7), i("parent_pid", 7),
			text2("child_comm", "app"), i("child_tid", 50), i("child_pid", 50))
	}
	fork(1)
	z.switchTo(2, 0, "sh", 7, "app", 50)
	z.add(3, 1, "app:note", u("n", 1))
	z.switchTo(4, 0, "app", 50, "sh", 7)
	fork(5)
	z.switchTo(6, 0, "sh", 7, "app", 50)
	z.switchTo(7, 0, "app", 50, "other", 60) // created before the trace
	r := Rows(&z, nil)
	var e trace.Event
	note := none
	for r.Next(&e) == nil {
		if r.Classes()[e.Class].Name == "app:note" {
			note = e.Stream
		}
	}
	var of []string
	for _, s := range r.Streams() {
		if s.Kind == trace.Thread && s.ID >= 50 {
			of = append(of, fmt.Sprint(r.Streams()[s.Parent].Name, " ", s.Parent == note))
		}
	}
	if want := []string{"app true", "app 50 false", "other false"}; !slices.Equal(of, want) {
		t.Errorf("threads of %q, want %q", of, want)
	}
}

func TestContextNamesTheThreadWhereSwitchesAreNotRecorded(t *testing.T) {
	var z script
	z.cpus(1)
	z.add(1, 0, "sys_read", u("fd", 3), i("tid", 7), i("pid", 6), text2("procname", "sh"))
	z.add(2, 0, "exit_syscall", i("ret", 3), i("tid", 7), i("pid", 6), text2("procname", "sh"))
	z.add(3, 0, "sys_write", u("fd", 3), i("tid", 0), i("pid", 0), text2("procname", "swapper"))
	for i := range z.classes {
		z.classes[i].Context = 3
	}
	lines, _ := told(t, &z)
	for i, want := range []string{"1 sh 7: begin read", "2 sh 7: end read", "3 CPU 0: at sys_write"} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("%q, want %q", lines[i], want)
		}
	}
}

func TestProgramsEventsAreOnTheirThreadsAndTwosMakeSlices(t *testing.T) {
	var z script
	z.cpus(2)
	add := func(time clock.HostTime, cpu int, name string, tid int64, f ...field) {
		z.add(time, cpu, name, append(f, i("vpid", 50), i("vtid", tid), text2("procname", "app"))...)
	}
	add(1, 0, "app:request_start", 50, u("n", 1))
	add(2, 1, "app:request_start", 51, u("n", 2))
	add(3, 0, "app:request_start", 50, u("n", 3)) // within the first
	add(4, 0, "app:tick", 50)
	add(5, 1, "app:request_end", 50, u("n", 3)) // of 50, whatever processor it is on now
	add(6, 0, "app:request_end", 51, u("n", 2))
	add(7, 0, "app:request_end", 51, u("n", 9)) // began before the trace
	add(8, 0, "lttng_ust_cyg_profile:func_entry", 50, u("addr", 0x401136), u("call_site", 2))
	add(9, 0, "lttng_ust_cyg_profile:func_exit", 50, u("addr", 0x401136), u("call_site", 2))
	add(10, 0, "app:lonely_start", 50)
	for i := range z.classes {
		z.classes[i].Context = 3
	}
	lines, warnings := told(t, &z)
	for i := range lines {
		lines[i] = strings.ReplaceAll(strings.ReplaceAll(lines[i], " vpid=50", ""), " procname=app\x00junk", "")
		if at := strings.Index(lines[i], " vtid="); at >= 0 {
			lines[i] = lines[i][:at]
		}
	}
	want := []string{"1 app 50: begin app:request n=1", "2 app 51: begin app:request n=2", "3 app 50: begin app:request n=3", "4 app 50: at app:tick",
		"5 app 50: end app:request n=3", "6 app 51: end app:request n=2", "7 app 51: at app:request_end n=9",
		"8 app 50: begin 0x401136 addr=4198710 call_site=2", "9 app 50: end 0x401136 addr=4198710 call_site=2", "10 app 50: at app:lonely_start",
		"10 app 50: end app:request"}
	if !slices.Equal(lines, want) || len(warnings) > 0 {
		t.Errorf("%s\nwant\n%s\n%q", strings.Join(lines, "\n"), strings.Join(want, "\n"), warnings)
	}
}

func TestEventsOfNeitherStayWhereTheyWere(t *testing.T) {
	z := script{
		classes: []trace.Class{{Name: "work_begin"}, {Name: "work_end"}, {Name: "span"}},
		streams: []trace.Stream{{Name: "service", Kind: trace.Process, Parent: -1}, {Name: "worker", Kind: trace.Thread, Parent: 0}},
		events: []scripted{
			{trace.Event{Time: 1, Stream: 1, Class: 0}, nil},
			{trace.Event{Time: 2, Stream: 1, Class: 2, Phase: trace.Begin, Slice: 5}, nil},
			{trace.Event{Time: 3, Stream: 1, Class: 1}, nil},
			{trace.Event{Time: 4, Stream: 1, Class: 2, Phase: trace.End, Slice: 5}, nil},
		},
	}
	expect(t, &z, `
		1 worker: begin work
		2 worker: begin span
		3 worker: end work
		4 worker: end span`)
	r := Rows(&script{streams: z.streams, classes: z.classes, events: z.events}, nil)
	var e trace.Event
	for r.Next(&e) == nil {
	}
	if s := r.Streams()[1]; s.Kind != trace.Thread || r.Streams()[s.Parent].Name != "service" {
		t.Errorf("%+v", r.Streams())
	}
}

// The queue of a processor is polled as that of a device without a name.
func TestAPollOfNoDeviceHasARowWithAName(t *testing.T) {
	z := new(script).cpus(1)
	z.add(0, 0, "irq_softirq_entry", u("vec", 3))
	z.add(1, 0, "napi_poll", s("dev_name", ""), i("work", 3))
	z.add(2, 0, "napi_poll", s("dev_name", "eth0"), i("work", 4))
	expect(t, z, `
		0 CPU 0 interrupts: begin softirq NET_RX vec=3
		1 (no device): at napi_poll dev_name= work=3
		2 eth0: at napi_poll dev_name=eth0 work=4
		2 CPU 0 interrupts: end softirq NET_RX`)
}

func TestWhateverIsLostSlicesEndOnceAndInTheirRows(t *testing.T) {
	names := []string{"irq_handler_entry", "irq_handler_exit", "softirq_entry", "softirq_exit", "syscall_entry_read", "syscall_exit_read",
		"work_start", "work_end", "sched_wakeup", "sched_process_exit", "sched_process_free", "sched_process_fork", "kmem_kfree"}
	testseed.Check(t, func(t *rapid.T) {
		var z script
		z.cpus(2)
		var switched int
		for k := range clock.HostTime(rapid.IntRange(0, 60).Draw(t, "events")) {
			tid := func(label string) int64 { return rapid.Int64Range(-1, 4).Draw(t, label) }
			cpu := rapid.IntRange(0, 1).Draw(t, "cpu")
			if rapid.Bool().Draw(t, "switch") {
				switched++
				z.switchTo(k, cpu, "c", tid("prev"), "c", tid("next"))
				continue
			}
			z.add(k, cpu, rapid.SampledFrom(names).Draw(t, "name"), s("comm", "c"), i("tid", tid("tid")), i("irq", 3), i("pid", tid("pid")),
				i("child_tid", tid("child")), i("parent_tid", tid("parent")))
		}
		if switched == 0 {
			return
		}
		told(t, &z) // which checks that every slice ends, once, on its row, by its name
	})
}

func TestRowsAllocateNothingPerEvent(t *testing.T) {
	var z script
	z.cpus(1)
	for k := clock.HostTime(0); k < 4000; k += 8 {
		z.switchTo(k, 0, "a", 1, "b", 2)
		z.add(k+1, 0, "syscall_entry_read", u("fd", 3))
		z.add(k+2, 0, "irq_handler_entry", i("irq", 27), s("name", "eth0"))
		z.add(k+3, 0, "irq_handler_exit", i("irq", 27))
		z.add(k+4, 0, "syscall_exit_read", u("ret", 3))
		z.add(k+5, 0, "net_dev_queue", s("name", "eth0"))
		z.add(k+6, 0, "kmem_kfree", u("ptr", 3))
		z.switchTo(k+7, 0, "b", 2, "a", 1)
	}
	n := testing.AllocsPerRun(3, func() {
		z.at = 0
		r := Rows(&z, nil)
		var e trace.Event
		for r.Next(&e) == nil {
			r.Values()
		}
	})
	if n > 150 {
		t.Errorf("%v allocations for 4000 events", n)
	}
}

func BenchmarkRows(b *testing.B) {
	var z script
	z.cpus(1)
	for k := clock.HostTime(0); k < 40_000; k += 4 {
		z.switchTo(k, 0, "a", 1, "b", 2)
		z.add(k+1, 0, "syscall_entry_read", u("fd", 3))
		z.add(k+2, 0, "syscall_exit_read", u("ret", 3))
		z.switchTo(k+3, 0, "b", 2, "a", 1)
	}
	for b.Loop() {
		z.at = 0
		r := Rows(&z, nil)
		var e trace.Event
		for r.Next(&e) == nil {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/40_000, "ns/event")
}
