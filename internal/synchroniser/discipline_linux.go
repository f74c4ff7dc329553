package synchroniser

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// NewSystemClock returns the machine's CLOCK_REALTIME.
func NewSystemClock() (SystemClock, error) { return machine{}, nil }

type machine struct{}

// frequencyUnit is a ppm in struct timex's freq (adjtimex(2): 2^-16 ppm).
const frequencyUnit = 65536

func (machine) Frequency() (float64, bool, error) {
	var t unix.Timex
	if _, err := unix.ClockAdjtime(unix.CLOCK_REALTIME, &t); err != nil {
		return 0, false, fmt.Errorf("clock_adjtime: %w", err)
	}
	return float64(t.Freq) / frequencyUnit, t.Status&unix.STA_UNSYNC == 0, nil
}

func (machine) SetFrequency(ppm float64) error {
	t := unix.Timex{Modes: unix.ADJ_FREQUENCY, Freq: int64(ppm * frequencyUnit)}
	return adjust(&t)
}

func (machine) Step(by time.Duration) error {
	t := unix.Timex{Modes: unix.ADJ_SETOFFSET | unix.ADJ_NANO}
	seconds, rest := by/time.Second, by%time.Second
	if rest < 0 { // the kernel wants a positive fraction
		seconds, rest = seconds-1, rest+time.Second
	}
	t.Time.Sec, t.Time.Usec = int64(seconds), int64(rest)
	return adjust(&t)
}

func adjust(t *unix.Timex) error {
	if _, err := unix.ClockAdjtime(unix.CLOCK_REALTIME, t); err != nil {
		return fmt.Errorf("clock_adjtime: %w (it needs CAP_SYS_TIME)", err)
	}
	return nil
}

// steeringPrograms are those that steer the system clock, as /proc has their names (15 bytes at most).
var steeringPrograms = []string{"chronyd", "ntpd", "openntpd", "systemd-timesyn", "phc2sys", "ptpd"}

func (machine) Daemons() ([]string, error) { return daemonsIn("/proc") }

// daemonsIn returns the names of programs under a /proc that steer the system clock. chronyd -x does not.
func daemonsIn(proc string) (found []string, err error) {
	files, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "comm"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name, err := os.ReadFile(file)
		if err != nil {
			continue // it ended
		}
		program := string(bytes.TrimSpace(name))
		if !slices.Contains(steeringPrograms, program) || slices.Contains(found, program) {
			continue
		}
		line, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "cmdline"))
		if program == "chronyd" && slices.ContainsFunc(bytes.Split(line, []byte{0}), func(a []byte) bool { return string(a) == "-x" }) {
			continue
		}
		found = append(found, program)
	}
	return found, nil
}
