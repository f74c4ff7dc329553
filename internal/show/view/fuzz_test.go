package view

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// FuzzRequest: any request below the secret path is answered or refused with a reason, and no more than an answer may have is sent.
func FuzzRequest(f *testing.F) {
	for _, q := range []string{"about", "events?from=0&count=5", "tiles?keys=0.0.0", "search?q=x&after=-1", "time?at=9223372036854775807", "live?since=1", "../about", "events?from=-1&count=1000000000"} {
		path, query, _ := strings.Cut(q, "?")
		f.Add(path, query)
	}
	h := Handler(&fake{title: "T", hosts: 1, top: 10, tileBytes: 4, count: 5})
	f.Fuzz(func(t *testing.T, path, query string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/api/" + path, RawQuery: query}, Host: "127.0.0.1:1234", Header: http.Header{}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(t.Context()))
		if w.Code == http.StatusInternalServerError || w.Body.Len() > 64<<20 {
			t.Errorf("%q?%q: %d, %d bytes: %.200s", path, query, w.Code, w.Body.Len(), w.Body)
		}
	})
}
