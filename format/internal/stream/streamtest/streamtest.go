// Package streamtest compresses files for the tests of what reads them.
package streamtest

import (
	"bytes"
	"io"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Compress returns content compressed with gzip or zstd, and as it is for any other kind.
func Compress[T string | []byte](t testing.TB, kind string, content T) T {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser
	var err error
	switch kind {
	case "gzip":
		w = gzip.NewWriter(&b)
	case "zstd":
		w, err = zstd.NewWriter(&b)
	default:
		return content
	}
	if err == nil {
		_, err = w.Write([]byte(content))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return T(b.Bytes())
}
