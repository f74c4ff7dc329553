package clock

import (
	"bufio"
	"io"
	"os"
	"runtime"
	"strings"
	"syscall"
)

// quickWay is how the runtime reads its clocks.
const quickWay = "vDSO"

// systemCalls are the paper's gettimeofday, and the least that any system call costs.
func systemCalls() []way {
	return []way{
		{name: "gettimeofday", way: quickWay, clock: Realtime, read: timeOfDay, loop: func(n int) (v uint64) {
			for range n {
				v += timeOfDay()
			}
			return v
		}},
		{name: "getppid", way: "system call", loop: func(n int) (v uint64) {
			for range n {
				r, _, _ := syscall.RawSyscall(syscall.SYS_GETPPID, 0, 0, 0)
				v += uint64(r)
			}
			return v
		}},
	}
}

func timeOfDay() uint64 {
	var t syscall.Timeval
	if err := syscall.Gettimeofday(&t); err != nil {
		return 0
	}
	return uint64(t.Nano())
}

func thisMachine() Machine {
	m := Machine{Processors: runtime.NumCPU(), Architecture: runtime.GOARCH, System: runtime.GOOS, Go: runtime.Version()}
	if text, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(text))
	}
	if file, err := os.Open("/proc/cpuinfo"); err == nil {
		defer file.Close()
		m.Processor = processorName(file)
	}
	return m
}

// processorName returns the first model name in a file as /proc/cpuinfo is: "key : value" lines, those of one processor after
// those of another. Not all architectures name the model.
func processorName(cpuinfo io.Reader) string {
	for lines := bufio.NewScanner(cpuinfo); lines.Scan(); {
		if key, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
