package clock

import (
	"bufio"
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
	file, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return m
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if name, value, ok := strings.Cut(lines.Text(), ":"); ok && strings.TrimSpace(name) == "model name" {
			m.Processor = strings.TrimSpace(value)
			break
		}
	}
	return m
}
