package show

import (
	"bytes"
	"testing"

	"meridian/internal/testseed"
)

// FuzzReadReport reads reports of other versions and other programs. One that is believed is written as JSON that is read back the same.
func FuzzReadReport(f *testing.F) {
	f.Add([]byte(`{"version":1,"reference":"a","hosts":[{"name":"a","map":[{"host_ns":1,"timeline_ns":2,"low_ns":1,"high_ns":null}],"skew_ppm":1e3}],"pairs":[{"a":"a","b":"b","fit":"exact"}],"quality":{"messages":3},"warnings":[]}`))
	f.Add([]byte(`{"hosts":[{}],"pairs":[{"stretches":[{}],"regression":[{}]}],"steps":[{}],"routes":[{}]} {}`))
	f.Add([]byte(`null`))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		r, err := ReadReport(bytes.NewReader(data))
		if err != nil {
			return
		}
		var first, second bytes.Buffer
		if err := r.Write(&first); err != nil {
			t.Fatal(err)
		}
		if r, err = ReadReport(bytes.NewReader(first.Bytes())); err != nil {
			t.Fatal(err)
		}
		if err := r.Write(&second); err != nil || first.String() != second.String() {
			t.Errorf("%v\n%s\nbecomes\n%s", err, &first, &second)
		}
	})
}
