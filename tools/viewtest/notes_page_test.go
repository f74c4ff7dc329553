//go:build !race

package viewtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"meridian/clock"
	"meridian/internal/show/view"
)

// TestNotes runs what is remembered of a timeline: words at instants, and views.
func TestNotes(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"ANoteIsInTheAddress", b.ANoteIsInTheAddress},
		{"ANoteOfTheCommandIsThereUntilChanged", b.ANoteOfTheCommandIsThereUntilChanged},
		{"DamagedNotesAreLeftOut", b.DamagedNotesAreLeftOut},
		{"NotesOfAFileAreSavedAndSharedByPages", b.NotesOfAFileAreSavedAndSharedByPages},
		{"NotesThatCannotBeSavedStayInTheAddress", b.NotesThatCannotBeSavedStayInTheAddress},
		{"WhoCannotWriteTheFileIsTold", b.WhoCannotWriteTheFileIsTold},
	})
}

const noted = `[...document.querySelectorAll("#panel-notes tbody tr")].map((r) => r.innerText.replaceAll("\t", " ").replaceAll("\n", " ")).join("; ")`

func (b *panelBrowser) ANoteIsInTheAddress(t *testing.T) {
	const hostile = `<img src=x onerror="document.title='run'"> 1,2&q=x`
	p := b.open(t, newScene(""), "light", viewed+"&a=309")
	p.until(`meridian.selection.a?.event === 309`, "nothing is selected")
	row, at := value[int](p.logic, `meridian.selection.a.row`), value[int64](p.logic, `meridian.selection.a.at`)
	p.key("N")
	p.until(`document.activeElement.matches("#panel-notes input")`, "N does not ask for the words")
	p.clear("#panel-notes input") // the N itself
	p.key(hostile + kb.Enter)
	p.until(noted+`.startsWith(`+literal(hostile)+`)`, "the note is not listed")
	p.until(`/notes=/.test(location.hash)`, "the address does not have it")
	p.typed(`#panel-notes input`, "the slow one")
	p.click(`#panel-notes button[title="keep this view under these words"]`, "")
	p.until(`document.querySelectorAll("#panel-notes tbody tr").length === 2`, "the view is not kept")
	p.until(`/the%2520slow/.test(location.hash)`, "the address does not have the bookmark")
	hash := value[string](p.logic, `location.hash`)

	q := b.open(t, newScene(""), "dark", hash)
	q.key("N")
	q.clear("#panel-notes input")
	q.until(`document.querySelectorAll("#panel-notes tbody tr").length === 2`, "the address does not bring the notes")
	if got := value[string](q.logic, `meridian.about.title && document.title`); strings.Contains(got, "run") {
		t.Errorf("a note ran a script: %s", got)
	}
	value[bool](q.logic, `(meridian.setView(0, 1_000_000), meridian.select(null), true)`)
	q.click(`#panel-notes tbody tr:nth-child(1) .pick`, "")
	q.until(`Math.abs(meridian.view.to - meridian.view.from - 1.2e6) < 1e4 || meridian.view.from > 1e6`, "a press does not go there")
	q.click(`#panel-notes button[aria-label="remove the note the slow one"]`, "")
	q.until(`document.querySelectorAll("#panel-notes tbody tr").length === 1 && !/slow/.test(location.hash)`, "a note is not removed")
	value[bool](q.logic, fmt.Sprintf(`(meridian.setView(%d, %d), true)`, int64(viewFrom), int64(viewTo)))
	q.still()
	x := value[float64](q.logic, `meridian.x(`+literal(at)+`, meridian.clockOf(`+literal(row)+`))`)
	if flag := value[int](q.logic, `(() => { const c = document.getElementById("over"), r = devicePixelRatio, d = c.getContext("2d").getImageData(Math.round(`+literal(x)+` * r) - 2, 10 * r, 5, 1).data; let n = 0; for (let i = 3; i < d.length; i += 4) if (d[i] > 100) n++; return n; })()`); flag == 0 {
		t.Error("no flag stands where the note is")
	}
	q.shots("notes")
}

func (b *panelBrowser) ANoteOfTheCommandIsThereUntilChanged(t *testing.T) {
	timeline := twoHosts(t, filepath.Join(t.TempDir(), "two.mvx"), 50, func(s string) string { return s })
	about := timeline.About()
	if err := timeline.Note(about.Origin+clock.TimelineTime(about.Span/2), "half of it"); err != nil {
		t.Fatal(err)
	}
	p := b.serve(t, timeline, "light", "")
	p.key("N")
	p.until(noted+`.startsWith("half of it")`, "the note is not there")
	p.clear("#panel-notes input")
	p.typed("#panel-notes input", "mine")
	p.key(kb.Enter)
	p.until(noted+`.includes("mine") && /notes=/.test(location.hash)`, "a note is not added to it")
	p.click(`#panel-notes button[aria-label="remove the note mine"]`, "")
	p.until(noted+`.startsWith("half of it") && !/notes=/.test(location.hash)`, "the address says what is known anyway")
	p.click(`#panel-notes button[aria-label="remove the note half of it"]`, "")
	p.until(`/notes=(&|$)/.test(location.hash)`, "that it was removed is not in the address")
}

// keeps serves a timeline whose notes are kept in a file, as the command does.
func (b *panelBrowser) keeps(t *testing.T, listen, file string) (address string) {
	t.Helper()
	notes, err := view.OpenNotes(file)
	if err != nil {
		t.Fatal(err)
	}
	s, err := view.Listen(listen, newScene(""), notes)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	return s.URL()
}

// add writes a note into the box and presses Enter.
func (p *panelPage) add(words string) {
	p.t.Helper()
	p.clear("#panel-notes input")
	p.typed("#panel-notes input", words)
	p.key(kb.Enter)
}

func (b *panelBrowser) NotesOfAFileAreSavedAndSharedByPages(t *testing.T) {
	const hostile = `<img src=x onerror="document.title='run'"> & "quoted"`
	file := filepath.Join(t.TempDir(), "trace.notes.json")
	address := b.keeps(t, "127.0.0.1:0", file)
	p := b.address(t, address+viewed+"&a=309&notes=5:of%2520the%2520address", "light")
	p.until(`meridian.selection.a?.event === 309`, "nothing is selected")
	p.key("N")
	p.until(noted+`.startsWith("of the address")`, "the note of the address is not there")
	if _, err := os.Stat(file); !os.IsNotExist(err) {
		t.Errorf("a note of an address was saved without a word: %v", err)
	}
	p.add(hostile)
	p.until(`/2 notes, kept in the file of notes/.test(document.querySelector("#panel-notes .said").textContent)`, "it is not saved")
	p.until(`!/notes=/.test(location.hash)`, "the address has what is saved")
	q := b.address(t, address+viewed, "dark") // another page of the same server
	q.key("N")
	q.until(`document.querySelectorAll("#panel-notes tbody tr").length === 2`, "another page does not have them")
	q.clear("#panel-notes input") // the N itself
	q.typed(`#panel-notes input`, "a view")
	q.click(`#panel-notes button[title="keep this view under these words"]`, "")
	q.until(`/3 notes, kept/.test(document.querySelector("#panel-notes .said").textContent)`, "the bookmark is not saved")
	p.bears(409) // its list is of an older version
	p.click(`#panel-notes button[aria-label="remove the note of the address"]`, "")
	p.until(`/2 notes, kept/.test(document.querySelector("#panel-notes .said").textContent) && `+noted+`.includes("a view")`, "what two pages changed is not joined")
	if got := value[string](q.logic, `document.title`); strings.Contains(got, "run") {
		t.Errorf("a note ran a script: %s", got)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var saved struct{ Notes []struct{ Row, Text string } }
	if err := json.Unmarshal(text, &saved); err != nil || len(saved.Notes) != 2 || saved.Notes[0].Text != hostile || saved.Notes[0].Row == "" || saved.Notes[1].Text != "a view" {
		t.Errorf("%s, %v", text, err)
	}
	p.shots("notes-file")
}

func (b *panelBrowser) NotesThatCannotBeSavedStayInTheAddress(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p := b.address(t, b.keeps(t, "127.0.0.1:0", filepath.Join(dir, "notes")), "light")
	p.key("N")
	p.until(`/0 notes, kept/.test(document.querySelector("#panel-notes .said").textContent)`, "the file is not there")
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	p.bears(500)
	p.add("mine")
	p.until(`/Not saved/.test(document.querySelector("#panel-notes .said").textContent) && /notes=/.test(location.hash)`, "that it is not saved is not told, or it is lost")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p.add("more")
	p.until(`/2 notes, kept/.test(document.querySelector("#panel-notes .said").textContent) && !/notes=/.test(location.hash)`, "the next change does not save both")
}

func (b *panelBrowser) WhoCannotWriteTheFileIsTold(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes")
	if err := os.WriteFile(file, []byte(`{"version":1,"notes":[{"at":"`+fmt.Sprint(sceneOrigin+1000)+`","text":"of the team"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	notes, err := view.OpenNotes(file)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(view.HandlerWithNotes(newScene(""), notes)) // without the connection's peer, nobody is here
	t.Cleanup(server.Close)
	p := b.address(t, server.URL+"/"+viewed, "light")
	p.key("N")
	p.until(noted+`.startsWith("of the team") && /is written on its own machine alone/.test(document.querySelector("#panel-notes .said").textContent)`, "a reader is not told")
	p.add("of a reader")
	p.until(`/notes=/.test(location.hash)`, "it is not in the address")
	if text, err := os.ReadFile(file); err != nil || strings.Contains(string(text), "of a reader") {
		t.Errorf("%s, %v", text, err)
	}
}

func (b *panelBrowser) DamagedNotesAreLeftOut(t *testing.T) {
	l := b.load(t)
	for text, want := range map[string]string{
		"":                                      `[]`,
		"5:a":                                   `[{"at":5,"row":-1,"text":"a"}]`,
		"5.2:a%2Cb,7-9:c":                       `[{"at":5,"row":2,"text":"a,b"},{"at":7,"to":9,"row":-1,"text":"c"}]`,
		"5.3:no row":                            `[]`,
		"9-7:back,5:,x:y,5:%E0%A4%A,:z,1e3:q":   `[]`,
		"-5:before,99999999999999999999:beyond": `[{"at":-5,"row":-1,"text":"before"}]`,
	} {
		if got := value[string](l, `JSON.stringify(Notes.read(`+literal(text)+`, 3))`); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	if got := value[int](l, `Notes.read(Array(1000).fill("1:" + "x".repeat(900)).join(","), 3).map((n) => n.text.length).reduce((a, b) => a + b)`); got != 200*500 {
		t.Errorf("%d characters of a thousand long notes", got)
	}
}
