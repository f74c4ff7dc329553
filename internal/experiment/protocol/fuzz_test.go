package protocol

import (
	"testing"

	"meridian/internal/testseed"
)

// FuzzParseAnswer: any line of a daemon, which may be anybody's program, is an answer or an error.
func FuzzParseAnswer(f *testing.F) {
	for _, line := range []string{`{"ready":true}`, `{"id":1,"result":{"a":[1]}}`, `{"id":2,"error":"no"}`, `{"log":"x"}`, `{"id":1e99}`, `[`, ``} {
		f.Add([]byte(line))
	}
	testseed.Fuzz(f, func(t *testing.T, line []byte) {
		_, _ = ParseAnswer(line)
	})
}
