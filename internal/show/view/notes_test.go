package view

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"meridian/clock"
	"meridian/internal/show/index"
	"meridian/internal/testseed"
)

// rowsOf is a timeline of an origin and a span whose hosts have rows of these names.
func rowsOf(origin clock.TimelineTime, span int64, rows ...string) *index.About {
	a := &index.About{Version: 1, Origin: origin, Span: span}
	hosts := make(map[string]int)
	for _, name := range rows {
		host, row, _ := strings.Cut(name, "/")
		if _, is := hosts[host]; !is {
			hosts[host] = len(a.Hosts)
			a.Hosts = append(a.Hosts, index.Host{Name: host})
		}
		a.Rows = append(a.Rows, index.Row{Host: hosts[host], Kind: "thread", Name: row, ID: int64(len(row)), Parent: -1})
	}
	return a
}

func notesIn(t *testing.T, text string) *NoteFile {
	t.Helper()
	path := filepath.Join(t.TempDir(), "notes.json")
	if text != "" {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	n, err := OpenNotes(path)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNotesStayWithTheirRowsAndInstantsInAnotherIndex(t *testing.T) {
	n := notesIn(t, "")
	whole := rowsOf(1000, 500, "web/a", "web/b", "db/a")
	all := []index.Note{{At: 5, Row: -1, Text: "all"}, {At: 400, Row: 2, Text: "of db"}, {At: -100, To: 700, Row: -1, Text: "a view"}, {At: 20, Row: 1, Text: "of b"}}
	if err := n.Add(whole, all); err != nil {
		t.Fatal(err)
	}
	part := rowsOf(1100, 350, "db/a", "web/a") // from +100, other numbers, without a row
	held, _, err := n.held(part)
	want := []index.Note{{At: 300, Row: 0, Text: "of db"}, {At: -200, To: 600, Row: -1, Text: "a view"}}
	if err != nil || !reflect.DeepEqual(held.Notes, want) || held.Elsewhere != 2 {
		t.Fatalf("%+v, %v, want %+v and 2 elsewhere", held, err, want)
	}
	if held, err = n.replace(part, []index.Note{{At: 7, Row: 1, Text: "new"}}, held.Version); err != nil || held.Elsewhere != 2 {
		t.Fatalf("%+v, %v", held, err)
	}
	got, err := n.Notes(whole)
	if want := []index.Note{{At: 107, Row: 0, Text: "new"}, all[0], all[3]}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v, want %+v", got, err, want)
	}
	if err := n.Add(whole, got); err != nil { // what is there is not added again
		t.Fatal(err)
	}
	if again, err := n.Notes(whole); err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("%+v, %v", again, err)
	}
}

func TestAFileOfNotesIsTheUsersAloneAndWholeAtAnyTime(t *testing.T) {
	n := notesIn(t, "")
	a := rowsOf(0, 1000, "web/a")
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
			}
			b, err := os.ReadFile(n.path)
			if os.IsNotExist(err) {
				continue
			}
			if err != nil || !json.Valid(b) {
				t.Errorf("half a file: %q, %v", b, err)
				return
			}
		}
	})
	for i := range int64(50) {
		if err := n.Add(a, []index.Note{{At: i, Row: -1, Text: strings.Repeat("x", 400)}}); err != nil {
			t.Fatal(err)
		}
	}
	close(done)
	group.Wait()
	s, err := os.Stat(n.path)
	if err != nil || s.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", s.Mode(), err)
	}
	if err := os.Chmod(n.path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := n.Add(a, []index.Note{{At: 999, Row: 0, Text: "more"}}); err != nil {
		t.Fatal(err)
	}
	if s, err = os.Stat(n.path); err != nil || s.Mode().Perm() != 0o640 {
		t.Errorf("the mode that its user gave it is now %v, %v", s.Mode(), err)
	}
	before, _, err := n.held(a)
	if err != nil {
		t.Fatal(err)
	}
	many := make([]index.Note, maxNotes+1)
	for i := range many {
		many[i] = index.Note{At: 1, Row: -1, Text: "x"}
	}
	if _, err := n.replace(a, many, before.Version); err == nil {
		t.Error("more notes are written than a file may have")
	}
	if after, _, err := n.held(a); err != nil || after.Version != before.Version {
		t.Errorf("a write that was refused has changed the file: %v", err)
	}
	if names, err := filepath.Glob(filepath.Join(filepath.Dir(n.path), "*")); err != nil || len(names) != 1 {
		t.Errorf("left behind: %v, %v", names, err)
	}
	if names, err := filepath.Glob(filepath.Join(filepath.Dir(n.path), ".*.*")); err != nil || len(names) != 0 {
		t.Errorf("left behind: %v, %v", names, err)
	}
}

func TestFilesThatAreNoNotesAreRefusedAndStay(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"blank":       "\n",
		"another's":   `{"traceEvents":[]}`,
		"cut short":   `{"version":1,"notes":[{"at":"5","te`,
		"two":         `{"version":1,"notes":[]} {}`,
		"newer":       `{"version":2,"notes":[]}`,
		"no words":    `{"version":1,"notes":[{"at":"5","text":""}]}`,
		"a terminal":  `{"version":1,"notes":[{"at":"5","text":"\u001b[2J"}]}`,
		"turned":      `{"version":1,"notes":[{"at":"5","text":"\u202eabc"}]}`,
		"long":        `{"version":1,"notes":[{"at":"5","text":"` + strings.Repeat("x", 501) + `"}]}`,
		"too many":    `{"version":1,"notes":[` + strings.Repeat(`{"at":"5","text":"x"},`, maxNotes) + `{"at":"5","text":"x"}]}`,
		"too large":   `{"version":1,"notes":[]}` + strings.Repeat(" ", maxNotesFile),
		"far numbers": `{"version":1,"notes":[{"at":"99999999999999999999","text":"x"}]}`,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := OpenNotes(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: %v", name, err)
		}
		if b, err := os.ReadFile(path); err != nil || string(b) != text {
			t.Errorf("%s was changed, %v", name, err)
		}
	}
	for _, path := range []string{dir, filepath.Join(dir, "nowhere", "notes"), "/dev/null"} {
		if _, err := OpenNotes(path); err == nil || !strings.Contains(err.Error(), "notes") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestNotesAreWrittenByTheirOwnPageOnThisMachineAlone sends what pages of other sites, other users and other machines can.
func TestNotesAreWrittenByTheirOwnPageOnThisMachineAlone(t *testing.T) {
	n := notesIn(t, "")
	d := &fake{hosts: 1, top: 10, count: 5}
	g := newGuard("127.0.0.1", HandlerWithNotes(d, n))
	g.writes = true
	held, _, err := n.held(d.About())
	if err != nil {
		t.Fatal(err)
	}
	put := func(change func(*http.Request)) int {
		return ask(g, g.path()+"api/notes", func(r *http.Request) {
			r.Method = http.MethodPut
			r.Body = io.NopCloser(strings.NewReader(`{"version":"` + held.Version + `","notes":[{"at":5,"row":-1,"text":"x"}]}`))
			r.Header.Set("Origin", "http://127.0.0.1:1234")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
			r.Header.Set("Content-Type", "application/json")
			*r = *r.WithContext(context.WithValue(r.Context(), peerKey{}, peer{here: true}))
			change(r)
		}).StatusCode
	}
	header := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	from := func(p peer) func(*http.Request) {
		return func(r *http.Request) { *r = *r.WithContext(context.WithValue(r.Context(), peerKey{}, p)) }
	}
	for name, test := range map[string]struct {
		change func(*http.Request)
		want   int
	}{
		"another site":                 {header("Origin", "https://evil.example"), 403},
		"a sandboxed frame":            {header("Origin", "null"), 403},
		"another port's page":          {header("Origin", "http://127.0.0.1:999"), 403},
		"no page":                      {func(r *http.Request) { r.Header.Del("Origin") }, 403},
		"a link":                       {header("Sec-Fetch-Site", "none"), 403},
		"across sites":                 {header("Sec-Fetch-Site", "cross-site"), 403},
		"what a form can send":         {header("Content-Type", "text/plain"), 403},
		"another machine":              {from(peer{}), 403},
		"another user":                 {from(peer{stranger: true, here: true}), 403},
		"a name that turns":            {func(r *http.Request) { r.Host = "evil.example"; r.Header.Set("Origin", "http://evil.example") }, 421},
		"POST":                         {func(r *http.Request) { r.Method = http.MethodPost }, 405},
		"DELETE":                       {func(r *http.Request) { r.Method = http.MethodDelete }, 405},
		"another path":                 {func(r *http.Request) { r.URL.Path = g.path() + "api/about" }, 405},
		"the notes of another version": {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`{"version":"x","notes":[]}`)) }, 409},
		"no JSON":                      {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(`notes`)) }, 400},
		"too much":                     {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(strings.Repeat(" ", maxNotesFile+1))) }, 400},
		"no such row":                  {func(r *http.Request) { r.Body = bodyOf(held, `{"at":5,"row":0,"text":"x"}`) }, 400},
		"an instant beyond":            {func(r *http.Request) { r.Body = bodyOf(held, `{"at":-5,"row":-1,"text":"x"}`) }, 400},
		"an instant far beyond":        {func(r *http.Request) { r.Body = bodyOf(held, `{"at":9223372036854775807,"to":5,"row":-1,"text":"x"}`) }, 400},
		"a terminal's controls":        {func(r *http.Request) { r.Body = bodyOf(held, `{"at":5,"row":-1,"text":"\u001b[2J"}`) }, 400},
	} {
		if got := put(test.change); got != test.want {
			t.Errorf("%s: %d instead of %d", name, got, test.want)
		}
		if _, err := os.Stat(n.path); !os.IsNotExist(err) {
			t.Fatalf("%s: it was written, %v", name, err)
		}
	}
	if got := put(func(*http.Request) {}); got != 200 {
		t.Errorf("the page itself: %d", got)
	}
	if list, err := n.Notes(d.About()); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	for _, here := range []bool{true, false} { // all who read are told whether they may write
		r := ask(g, g.path()+"api/notes", from(peer{here: here}))
		var answer heldNotes
		if err := json.Unmarshal([]byte(body(t, r)), &answer); err != nil || len(answer.Notes) != 1 || answer.Writable != here {
			t.Errorf("%+v, %v", answer, err)
		}
	}
	g = newGuard("127.0.0.1", Handler(d)) // without a file
	if got := put(func(*http.Request) {}); got != 405 {
		t.Errorf("without a file: %d", got)
	}
}

func bodyOf(held *heldNotes, note string) io.ReadCloser {
	return io.NopCloser(strings.NewReader(`{"version":"` + held.Version + `","notes":[` + note + `]}`))
}

// FuzzNoteFile: whatever a file of notes has, it is refused, or its notes are what is written again.
func FuzzNoteFile(f *testing.F) {
	f.Add(`{"version":1,"notes":[{"at":"1005","to":"1010","text":"x"},{"at":"1005","host":"web","kind":"thread","row":"a","id":1,"text":"y"}]}`)
	f.Add(`{"version":1,"notes":[{"at":"-9223372036854775808","to":"9223372036854775807","text":"x"}]}`)
	a := rowsOf(1000, 500, "web/a", "db/a")
	path := filepath.Join(f.TempDir(), "notes")
	testseed.Fuzz(f, func(t *testing.T, text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		n, err := OpenNotes(path)
		if err != nil {
			return
		}
		held, rest, err := n.held(a)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		again, err := n.replace(a, held.Notes, held.Version)
		if err != nil && !strings.Contains(err.Error(), "at most") {
			t.Fatal(err)
		}
		if err == nil && (again.Elsewhere != len(rest) || !reflect.DeepEqual(again.Notes, held.Notes)) {
			t.Errorf("%+v, again %+v", held, again)
		}
		if err := checkNotes(held.Notes, a); err != nil {
			t.Errorf("what is shown could not be saved: %v", err)
		}
		HandlerWithNotes(&fake{hosts: 1, top: 10}, n).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/api/notes", nil))
		if w.Code != http.StatusOK {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}
