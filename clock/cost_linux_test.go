package clock

import (
	"os"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestTheProcessorIsTheFirstModelThatIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ cpuinfo, want string }{
		"two processors": {"processor\t: 0\nvendor_id\t: GenuineIntel\nmodel\t\t: 85\nmodel name\t: Intel(R) Xeon(R) CPU @ 2.00GHz\nstepping\t: 3\n\nprocessor\t: 1\nmodel name\t: another\n", "Intel(R) Xeon(R) CPU @ 2.00GHz"},
		"arm64":          {"processor\t: 0\nBogoMIPS\t: 48.00\nFeatures\t: fp asimd\nCPU part\t: 0xd0c\n", ""},
		"a colon in it":  {"model name\t: ARM: rev 4\n", "ARM: rev 4"},
		"no colon":       {"model name\n\nprocessor\n", ""},
		"nothing":        {"", ""},
	} {
		if got := processorName(strings.NewReader(c.cpuinfo)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestTheMachineIsThisOne(t *testing.T) {
	var kernel unix.Utsname
	if err := unix.Uname(&kernel); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		t.Skip(err)
	}
	want := Machine{
		Processor: processorName(strings.NewReader(string(text))), Processors: runtime.NumCPU(), Architecture: runtime.GOARCH,
		System: "linux", Kernel: unix.ByteSliceToString(kernel.Release[:]), Go: runtime.Version(),
	}
	if got := thisMachine(); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
