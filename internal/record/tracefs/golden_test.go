package tracefs

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"meridian/internal/record/kernel"
)

// A captured directory holds header_page, header_event, NAME.format of each event, cpuN.raw with the pages of a
// processor's ring, and cpuN.txt with what the kernel itself prints of them. That in
// testdata is of Linux 6.18 on x86-64, made by go test -run TestPagesOfThisKernel -capture.

func TestPagesSayWhatTheKernelPrints(t *testing.T) {
	dir := filepath.Join("testdata", "linux")
	count := compare(t, dir)
	for _, name := range []string{"net_dev_queue", "netif_receive_skb", "sched_switch", "sched_waking", "sched_process_fork", "sched_process_exec",
		"sched_process_exit", "softirq_entry", "softirq_exit", "sys_enter", "sys_exit"} {
		if count[name] == 0 {
			t.Errorf("no %s in %v", name, count)
		}
	}
}

func nobody(int32) (task, bool) { return task{}, false }

// printed is a line of the kernel's.
var printed = regexp.MustCompile(`^ *.*-(\d+) +(?:\( *[-\d]+\) +)?\[(\d+)\] +\S+ +(\d+)\.(\d{6}): (\w+): (.*)$`)

// states are the letters of prev_state.
var states = map[uint64]string{0: "R", 1: "S", 2: "D", 4: "T", 8: "t", 0x10: "X", 0x20: "Z", 0x40: "P", 0x80: "I", 0x100: "R+"}

// line writes an event as the kernel prints it.
func line(d *decoder, k kernel.Kind, e *kernel.Event) string {
	v := e.Values
	number := e.Class - d.first[k]
	if number == kernel.CallIndex(math.MaxUint64) {
		number = -1 // at the end of rt_sigreturn
	}
	switch k {
	case kernel.NetDevQueue, kernel.NetifReceive:
		return fmt.Sprintf("dev=%s skbaddr=%016x len=%d", v[2].Data, v[0].Bits, v[1].Bits)
	case kernel.NapiPoll:
		device := string(v[1].Data)
		if device == "" {
			device = noDevice
		}
		return fmt.Sprintf("napi poll on napi struct %016x for device %s work %d budget %d", v[0].Bits, device, v[2].Int(), v[3].Int())
	case kernel.SoftirqEntry, kernel.SoftirqExit:
		return fmt.Sprintf("vec=%d [action=%s]", v[0].Bits, map[uint64]string{netTX: "NET_TX", netRX: "NET_RX"}[v[0].Bits])
	case kernel.IRQEntry:
		return fmt.Sprintf("irq=%d name=%s", v[0].Int(), v[1].Data)
	case kernel.IRQExit:
		return fmt.Sprintf("irq=%d ret=%s", v[0].Int(), map[bool]string{true: "handled", false: "unhandled"}[v[1].Int() != 0])
	case kernel.SchedSwitch:
		return fmt.Sprintf("prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s ==> next_comm=%s next_pid=%d next_prio=%d",
			v[0].Data, v[1].Int(), v[2].Int(), states[v[3].Bits], v[4].Data, v[5].Int(), v[6].Int())
	case kernel.SchedWaking, kernel.SchedWakeup, kernel.SchedWakeupNew:
		return fmt.Sprintf("comm=%s pid=%d prio=%d target_cpu=%03d", v[0].Data, v[1].Int(), v[2].Int(), v[3].Int())
	case kernel.ProcessFork:
		return fmt.Sprintf("comm=%s pid=%d child_comm=%s child_pid=%d", v[0].Data, v[1].Int(), v[3].Data, v[4].Int())
	case kernel.ProcessExec:
		return fmt.Sprintf("filename=%s pid=%d old_pid=%d", v[0].Data, v[2].Int(), v[3].Int())
	case kernel.ProcessExit, kernel.ProcessFree:
		return fmt.Sprintf("comm=%s pid=%d prio=%d", v[0].Data, v[1].Int(), v[2].Int())
	case kernel.SysEnter:
		return fmt.Sprintf("NR %d (%x, %x, %x, %x, %x, %x)", number, v[0].Bits, v[1].Bits, v[2].Bits, v[3].Bits, v[4].Bits, v[5].Bits)
	case kernel.SysExit:
		return fmt.Sprintf("NR %d = %d", number, v[0].Int())
	}
	return ""
}

// load reads what capture wrote, but for the processors.
func load(t testing.TB, dir string) *layouts {
	t.Helper()
	read := func(name string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	var l layouts
	var err error
	if l.page, err = parsePageLayout(read("header_page"), read("header_event")); err != nil {
		t.Fatal(err)
	}
	for k := kernel.Kind(1); k < kinds; k++ {
		if known[k].event == "" || k.Group() == kernel.Disk { // of which no capture was made
			continue
		}
		f, err := parseFormat(read(filepath.Base(known[k].event) + ".format"))
		if err == nil {
			err = l.add(k, f)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return &l
}

// pages reads a file of pages one by one.
func pages(t testing.TB, file string) func([]byte) (int, error) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return func(b []byte) (int, error) {
		n, err := io.ReadFull(f, b)
		if err == io.EOF {
			err = nil
		}
		return n, err
	}
}

// compare holds what we read of a captured directory against what the kernel printed.
func compare(t *testing.T, dir string) (count map[string]int) {
	t.Helper()
	layouts := load(t, dir)
	texts, err := filepath.Glob(filepath.Join(dir, "cpu*.txt"))
	if err != nil || len(texts) == 0 {
		t.Fatalf("%v, %v", texts, err)
	}
	count = map[string]int{}
	for _, text := range texts {
		d := newDecoder(kernel.Net|kernel.Sched|kernel.IRQ|kernel.Syscalls, false, 2, layouts, newTasks(nobody))
		kindOf := map[string]kernel.Kind{}
		for k := range kernel.Kinds {
			if d.first[k] >= 0 {
				kindOf[filepath.Base(known[k].event)] = k
			}
		}
		c := newCursor(0, layouts.page)
		c.readPage = pages(t, strings.TrimSuffix(text, ".txt")+".raw")
		f, err := os.Open(text)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			m := printed.FindStringSubmatch(s.Text())
			if m == nil {
				if !strings.HasPrefix(s.Text(), "#") {
					t.Errorf("%s: %q is not understood", text, s.Text())
				}
				continue
			}
			k, ok := kindOf[m[5]]
			if !ok {
				continue
			}
			var e *kernel.Event
			for e == nil { // records of kinds that make no events
				ok, err := c.advance()
				if err != nil || !ok {
					t.Fatalf("%s: no record for %q: %v", text, s.Text(), err)
				}
				e = d.decode(c.stamp, 0, true, c.record)
			}
			us, _ := strconv.ParseUint(m[3]+m[4], 10, 64)
			got := line(d, k, e)
			if at := e.Stamp; (at+500)/1000 != us || !strings.HasPrefix(m[6], got) || got == "" {
				t.Fatalf("%s:\n%d %s, where the kernel prints\n%s", text, e.Stamp, got, s.Text())
			}
			if k == kernel.SysEnter || k == kernel.SysExit {
				if tid := d.values[k][len(d.classes[e.Class].Fields)-d.classes[e.Class].Context]; strconv.FormatInt(tid.Int(), 10) != m[1] {
					t.Fatalf("thread %d: %s", tid.Int(), s.Text())
				}
			}
			count[m[5]]++
		}
		for {
			ok, err := c.advance()
			if err != nil {
				t.Fatal(err)
			}
			if !ok {
				break
			}
			if e := d.decode(c.stamp, 0, true, c.record); e != nil {
				t.Errorf("%s: the kernel does not print an event at %d", text, e.Stamp)
			}
		}
		if d.damaged != 0 || c.damaged.Load() != 0 {
			t.Errorf("%s: %d records and %d pages damaged", text, d.damaged, c.damaged.Load())
		}
	}
	return count
}
