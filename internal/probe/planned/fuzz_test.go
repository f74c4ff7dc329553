package planned

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"meridian/internal/testseed"
)

const fuzzKey = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

// FuzzRead reads plans as a hostile server could give them to an agent. One that is believed keeps its limits, and is read back as it was
// written.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"key":"` + fuzzKey + `","listen":"127.0.0.1:0","ask":[{"name":"b","address":"127.0.0.1:9","rate":2.5}]}`))
	f.Add([]byte(`{"key":"` + fuzzKey + `","ask":[{"name":"b","address":"b:9","rate":1e99}]}`))
	f.Add([]byte(`{"unknown":1}`))
	f.Add([]byte(`{}`))
	dir := f.TempDir()
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		path := filepath.Join(dir, "plan")
		for _, name := range []string{path, StateFile(path)} {
			if err := os.WriteFile(name, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = ReadState(path) // it ends, and is only shown
		p, err := Read(path)
		if err != nil {
			return
		}
		if len(p.Ask) > maxPeers {
			t.Errorf("%d hosts to ask", len(p.Ask))
		}
		for _, a := range p.Ask {
			if r := a.rate(); !(r > 0 && r <= maxRate) {
				t.Errorf("%s is asked %v times a second", a.Name, r)
			}
		}
		if err := p.Write(path); err != nil {
			t.Fatal(err)
		}
		if again, err := Read(path); err != nil || !reflect.DeepEqual(p, again) {
			t.Errorf("%+v becomes %+v, %v", p, again, err)
		}
	})
}
