package daemons

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestWhatIperf3SaysIsReadOrRefused(t *testing.T) {
	t.Parallel()
	whole := `{"end":{"sum_sent":{"bytes":9,"bits_per_second":72.5,"retransmits":2},"sum_received":{"bytes":8,"bits_per_second":64}}}`
	for _, test := range []struct {
		text   string
		failed error
		says   string // of the error; "" for none
	}{
		{whole, nil, ""},
		{whole, errors.New("exit status 1"), "exit status 1"},
		{`{"error":"unable to connect to server"}`, errors.New("exit status 1"), "unable to connect"},
		{`{"error":"interrupt"}`, nil, "interrupt"},
		{`{"end":{}}`, nil, "no sum_sent"},
		{`{"end":{"sum_sent":{"bytes":9}}}`, nil, "no sum_received"},
		{`{"end":{"sum_sent":{"bytes":"9"}}}`, nil, "cannot unmarshal"},
		{``, nil, "unexpected end"},
		{``, errors.New("signal: killed"), "killed"},
	} {
		got, err := readIperf([]byte(test.text), test.failed)
		switch {
		case test.says == "" && (err != nil || *got != iperfSent{9, 8, 72.5, 64, 2}):
			t.Errorf("%s: %+v, %v", test.text, got, err)
		case test.says != "" && (err == nil || got != nil || !strings.Contains(err.Error(), test.says)):
			t.Errorf("%s, %v: %+v, %v; want %q", test.text, test.failed, got, err, test.says)
		}
	}
}

func TestCountersThatAreMissingAreNotZero(t *testing.T) {
	t.Parallel()
	counter := func(name string) string { return `{"counter":{"name":"` + name + `","packets":7,"bytes":700}}` }
	for text, right := range map[string]bool{
		`{"nftables":[{"metainfo":{}},` + counter("dropped") + `,` + counter("probes") + `]}`: true,
		`{"nftables":[` + counter("dropped") + `]}`:                                           false,
		`{"nftables":[` + counter("probes") + `,` + counter("other") + `]}`:                   false,
		`{"nftables":[{"counter":{"name":"dropped","packets":-1}}]}`:                          false,
		`{}`: false,
		``:   false,
	} {
		got, err := readCounters([]byte(text))
		if right != (err == nil) || right && (*got.Dropped != 7 || *got.Probes != 7) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

// TestOnlyDaemonsOfThisHostAreStopped: a number in a file is no daemon's if the process is not a sibling that leads its group.
func TestOnlyDaemonsOfThisHostAreStopped(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MERIDIAN_RUN_PIDS", dir)
	t.Setenv("MERIDIAN_RUN_DAEMON", "fault")
	for name, text := range map[string]string{"init": "1\n", "kernel": "2\n", "word": "x\n", "negative": "-1\n", "empty": "", "none": "4194305\n", "fault": "7\n"} {
		if err := os.WriteFile(dir+"/"+name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"init", "kernel", "word", "negative", "empty", "none", "fault", "absent", "../passwd", "a/b", ".", ""} {
		if pid, err := daemonProcess(name); err == nil || pid != 0 {
			t.Errorf("%q: process %d", name, pid)
		}
	}
}

func TestAProgramsNameDoesNotConfuseItsState(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]stat{
		"12 (cat) T 3 12 12 0":              {"T", 3, 12},
		"12 (a b) S 4 (x) R 5 9 0":          {"R", 5, 9},
		"12 (odd) T 1 2) Z 6 12 12 0 -1 80": {"Z", 6, 12},
	} {
		if got, err := parseStat(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "12", "12 (x", "12 (x)", "12 (x) S", "12 (x) S 1", "12 (x) S a b"} {
		if got, err := parseStat(text); err == nil {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
