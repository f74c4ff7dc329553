package captures

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"testing"

	"meridian/internal/testseed"
)

// FuzzReadLine reads what the other end of a stream says. Reading ends, takes a line at most, and what was read is written and read the
// same.
func FuzzReadLine(f *testing.F) {
	f.Add([]byte("{\"op\":\"read\",\"path\":\"/tmp/a.pcap\",\"name\":\"a.pcap\"}\nbehind"), true)
	f.Add([]byte("{\"files\":[{\"path\":\"/tmp/a.pcap\",\"size\":7}]}\n{\"refused\":\"no\"}\n"), false)
	f.Add([]byte("{\"files\":["), false)
	f.Add([]byte("null\n"), true)
	testseed.Fuzz(f, func(t *testing.T, data []byte, asks bool) {
		if asks {
			lines[request](t, data)
		} else {
			lines[answer](t, data)
		}
	})
}

// lines reads lines until one is refused.
func lines[T any](t *testing.T, data []byte) {
	in := bufio.NewReaderSize(bytes.NewReader(data), 16)
	for n := 0; ; n++ {
		var first, second T
		if err := readLine(in, &first); err != nil {
			if rest, _ := io.ReadAll(in); n == 0 && errors.Is(err, io.EOF) && (len(rest) > 0 || bytes.Contains(data, []byte("\n"))) {
				t.Errorf("an end before %q", rest)
			}
			return
		}
		var once, twice bytes.Buffer
		if err := writeLine(&once, first); err != nil {
			t.Fatal(err)
		}
		if err := readLine(bufio.NewReader(bytes.NewReader(once.Bytes())), &second); err != nil {
			t.Fatal(err)
		}
		if err := writeLine(&twice, second); err != nil || !bytes.Equal(once.Bytes(), twice.Bytes()) {
			t.Errorf("%s becomes %s, %v", &once, &twice, err)
		}
	}
}
