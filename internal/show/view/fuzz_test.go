package view

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"meridian/internal/testseed"
)

// FuzzRequest: any request below the secret path is answered or refused with a reason, and no more than an answer may have is sent.
func FuzzRequest(f *testing.F) {
	for _, q := range []string{"about", "events?from=0&count=5", "tiles?keys=0.0.0", "search?q=x&after=-1", "time?at=9223372036854775807", "live?since=1", "../about", "events?from=-1&count=1000000000"} {
		path, query, _ := strings.Cut(q, "?")
		f.Add(path, query)
	}
	h := Handler(&fake{title: "T", hosts: 1, top: 10, tileBytes: 4, count: 5})
	testseed.Fuzz(f, func(t *testing.T, path, query string) {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Path: "/api/" + path, RawQuery: query}, Host: "127.0.0.1:1234", Header: http.Header{}}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(t.Context()))
		if w.Code == http.StatusInternalServerError || w.Body.Len() > 64<<20 {
			t.Errorf("%q?%q: %d, %d bytes: %.200s", path, query, w.Code, w.Body.Len(), w.Body)
		}
	})
}

// FuzzPutNotes: whatever a page sends as notes is refused with a reason and leaves the file as it was, or is what the file has from then on.
func FuzzPutNotes(f *testing.F) {
	f.Add(`[{"at":5,"row":-1,"text":"x"},{"at":5,"to":7,"row":0,"text":"y"}]`, true)
	f.Add(`[{"at":-5,"row":9,"text":"\u001b[2J"}]`, true)
	f.Add(`{"version":"x","notes":[]}`, false)
	path := filepath.Join(f.TempDir(), "notes")
	d := &fake{hosts: 1, top: 10}
	n, err := OpenNotes(path)
	if err != nil {
		f.Fatal(err)
	}
	h := HandlerWithNotes(d, n)
	ask := func(t *testing.T, method, body string) (int, *heldNotes) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(method, notesPath, strings.NewReader(body)))
		held := new(heldNotes)
		if w.Code == http.StatusOK && json.Unmarshal(w.Body.Bytes(), held) != nil {
			t.Fatalf("%s %q is answered by %q", method, body, w.Body)
		}
		return w.Code, held
	}
	testseed.Fuzz(f, func(t *testing.T, body string, wrap bool) {
		_, before := ask(t, http.MethodGet, "")
		if wrap {
			body = `{"version":"` + before.Version + `","notes":` + body + `}`
		}
		code, put := ask(t, http.MethodPut, body)
		want := before
		switch code {
		case http.StatusOK:
			want = put
		case http.StatusBadRequest, http.StatusConflict:
		default:
			t.Errorf("%q: %d", body, code)
		}
		if code, now := ask(t, http.MethodGet, ""); code != http.StatusOK || !reflect.DeepEqual(now, want) {
			t.Errorf("%q: %+v, then %d, %+v", body, want, code, now)
		}
	})
}
