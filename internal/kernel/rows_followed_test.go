package kernel

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"meridian/clock"
	"meridian/internal/testseed"
)

// switchOf is switchTo where only some threads are followed.
func (s *script) switchOf(time clock.HostTime, cpu int, prev, next int64, isFollowed func(tid int64) bool) {
	yes := func(name string, tid int64) field {
		if isFollowed(tid) {
			return u(name, 1)
		}
		return u(name, 0)
	}
	s.add(time, cpu, "sched_switch", text2("prev_comm", threadName(prev)), i("prev_tid", prev), text2("next_comm", threadName(next)), i("next_tid", next),
		yes("prev_followed", prev), yes("next_followed", next))
}

func threadName(tid int64) string {
	if tid == 0 {
		return "swapper"
	}
	return string(rune('a' + tid))
}

func TestWhoIsNotFollowedIsNotDrawnRunning(t *testing.T) {
	var z script
	z.cpus(2)
	three := func(tid int64) bool { return tid == 3 }
	z.switchOf(1, 0, 3, 7, three) // 3 ran before the trace
	z.switchOf(2, 0, 8, 3, three) // 7 gave way to 8 meanwhile
	z.add(3, 0, "kmem_kfree", u("ptr", 1))
	z.switchOf(4, 0, 3, 7, three)
	z.add(5, 0, "kmem_kfree", u("ptr", 2)) // of 7 or of another one
	z.add(6, 0, "sched_waking", text2("comm", "d"), i("tid", 3))
	z.switchOf(7, 1, 0, 3, three)
	z.switchOf(8, 1, 3, 0, three)
	expect(t, &z, `
		2 d 3: begin running
		2 CPU 0: begin d
		3 d 3: at kmem_kfree ptr=1
		4 d 3: end running
		4 CPU 0: end d
		5 CPU 0: at kmem_kfree ptr=2
		6 d 3: at sched_waking comm=d`+"\x00junk"+` tid=3
		7 d 3: begin running
		7 CPU 1: begin d
		8 d 3: end running
		8 CPU 1: end d`)
}

// TestFollowedThreadsHaveTheRowsThatTheyHaveAmongAll takes away of any schedule what a recorder does that follows some threads.
func TestFollowedThreadsHaveTheRowsThatTheyHaveAmongAll(t *testing.T) {
	testseed.Check(t, func(t *rapid.T) {
		var all, some script
		all.cpus(2)
		some.cpus(2)
		isFollowed := func(tid int64) bool { return tid == 1 || tid == 2 }
		everybody := func(int64) bool { return true }
		on := [2]int64{}
		ready := []int64{1, 2, 3, 4, 5}
		count := rapid.IntRange(0, 60).Draw(t, "switches")
		for k := range clock.HostTime(count + 2) {
			cpu, at := int(k)%2, -1 // in the end both are idle
			if k < clock.HostTime(count) {
				cpu, at = rapid.IntRange(0, 1).Draw(t, "cpu"), rapid.IntRange(-1, len(ready)-1).Draw(t, "next")
			}
			prev, next := on[cpu], int64(0)
			if at >= 0 {
				next = ready[at]
				ready = slices.Delete(ready, at, at+1)
			}
			if prev == next {
				continue
			}
			if prev != 0 {
				ready = append(ready, prev)
			}
			on[cpu] = next
			all.switchOf(k, cpu, prev, next, everybody)
			if isFollowed(prev) || isFollowed(next) {
				some.switchOf(k, cpu, prev, next, isFollowed)
			}
		}
		before, warnings := told(t, &all)
		after, more := told(t, &some)
		if len(warnings)+len(more) > 0 {
			t.Fatalf("%q", append(warnings, more...))
		}
		before = slices.DeleteFunc(before, func(l string) bool { return !strings.Contains(l, "b 1: ") && !strings.Contains(l, "c 2: ") })
		for _, l := range after {
			if strings.Contains(l, "d 3") || strings.Contains(l, "e 4") || strings.Contains(l, "f 5") || strings.Contains(l, "CPU") && !strings.HasSuffix(l, " b") && !strings.HasSuffix(l, " c") {
				t.Fatalf("%q of threads that are not followed", l)
			}
		}
		after = slices.DeleteFunc(after, func(l string) bool { return strings.Contains(l, "CPU") })
		if !slices.Equal(before, after) {
			t.Fatalf("got\n%s\nwant\n%s", strings.Join(after, "\n"), strings.Join(before, "\n"))
		}
	})
}

func TestAThreadThatExecutesAProgramGoesOnUnderTheNumberOfTheFirst(t *testing.T) {
	var z script
	z.cpus(1)
	z.switchTo(1, 0, "swapper/0", 0, "tool", 8)
	z.add(2, 0, "syscall_entry_execve", u("filename", 1))
	z.add(3, 0, "sched_process_exec", s("filename", "/bin/new"), i("tid", 7), i("old_tid", 8))
	z.add(4, 0, "syscall_exit_execve", i("ret", 0))
	z.switchTo(5, 0, "new", 7, "swapper/0", 0)
	expect(t, &z, `
		1 tool 8: begin running
		1 CPU 0: begin tool
		2 tool 8: begin execve filename=1
		3 tool 8: end execve
		3 tool 8: end running
		3 CPU 0: end tool
		3 new 7: begin running filename=/bin/new tid=7 old_tid=8
		3 CPU 0: begin new filename=/bin/new tid=7 old_tid=8
		3 new 7: at sched_process_exec filename=/bin/new tid=7 old_tid=8
		5 new 7: end running
		5 CPU 0: end new`)
}

// TestAThreadThatIsAboutToExecuteAProgramIsTheFirstAlready has the number change before the event that tells of it, and the number's
// former owner forgotten under the new one.
func TestAThreadThatIsAboutToExecuteAProgramIsTheFirstAlready(t *testing.T) {
	var z script
	z.cpus(1)
	z.add(1, 0, "sched_process_fork", text2("parent_comm", "tool"), i("parent_tid", 7), text2("child_comm", "tool"), i("child_tid", 8), i("child_pid", 7))
	z.switchTo(2, 0, "swapper/0", 0, "tool", 8)
	z.add(3, 0, "sched_process_free", s("comm", "tool"), i("tid", 8))
	z.switchTo(4, 0, "tool", 7, "swapper/0", 0)
	z.switchTo(5, 0, "swapper/0", 0, "tool", 7)
	z.add(6, 0, "sched_process_exec", s("filename", "/bin/new"), i("tid", 7), i("old_tid", 8))
	z.switchTo(7, 0, "new", 7, "swapper/0", 0)
	lines, warnings := told(t, &z)
	var ran []string
	for _, l := range lines {
		if strings.HasSuffix(l, " running") && !strings.Contains(l, "CPU") {
			ran = append(ran, l)
		}
	}
	if got := strings.Join(ran, ", "); got != "2 tool 8: begin running, 4 tool 8: end running, 5 tool 7: begin running, 7 new 7: end running" || len(warnings) > 0 {
		t.Errorf("%s; %q", got, warnings)
	}
}

// TestTheFirstThreadMayRunOnWhileItsNumberIsAnothers has the first thread of a process exit, and be switched away from under
// the number of the thread that executes a program, before that runs under the first one's number or after.
func TestTheFirstThreadMayRunOnWhileItsNumberIsAnothers(t *testing.T) {
	for name, late := range map[string]bool{"before": false, "after": true} {
		t.Run(name, func(t *testing.T) {
			var z script
			z.cpus(2)
			z.add(1, 0, "sched_process_fork", text2("parent_comm", "tool"), i("parent_tid", 1), text2("child_comm", "tool"), i("child_tid", 7), i("child_pid", 7))
			z.add(2, 0, "sched_process_fork", text2("parent_comm", "tool"), i("parent_tid", 7), text2("child_comm", "tool"), i("child_tid", 8), i("child_pid", 7))
			z.switchTo(3, 0, "swapper/0", 0, "tool", 7)
			z.switchTo(4, 1, "swapper/1", 0, "tool", 8)
			z.add(5, 0, "sched_process_exit", s("comm", "tool"), i("tid", 7))
			z.switchTo(6, 1, "tool", 7, "swapper/1", 0)
			if !late {
				z.switchTo(7, 0, "tool", 8, "swapper/0", 0)
			}
			z.switchTo(8, 1, "swapper/1", 0, "tool", 7)
			z.add(9, 1, "sched_process_exec", s("filename", "/bin/new"), i("tid", 7), i("old_tid", 8))
			if late {
				z.switchTo(10, 0, "tool", 8, "swapper/0", 0)
			}
			z.switchTo(11, 1, "new", 7, "swapper/1", 0)
			if lines, warnings := told(t, &z); len(warnings) > 0 {
				t.Errorf("%q\n%s", warnings, strings.Join(lines, "\n"))
			}
		})
	}
}

func TestWithoutSwitchesAContextSpeaksForItsEventAlone(t *testing.T) {
	var z script
	z.cpus(1)
	z.add(1, 0, "syscall_entry_read", u("fd", 3), i("tid", 7))
	z.add(2, 0, "syscall_exit_read", i("ret", 3), i("tid", 7))
	for i := range z.classes {
		z.classes[i].Context = 1
	}
	z.add(3, 0, "kmem_kfree", u("ptr", 1))
	lines, _ := told(t, &z)
	if got := lines[len(lines)-1]; got != "3 CPU 0: at kmem_kfree ptr=1" {
		t.Error(got)
	}
}
