//go:build !race

package viewtest

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"meridian/clock"
)

// TestNotes runs what is remembered of a timeline: words at instants, and views.
func TestNotes(t *testing.T) {
	b := startPanelBrowser(t)
	run(t, []rule{
		{"ANoteIsInTheAddress", b.ANoteIsInTheAddress},
		{"ANoteOfTheCommandIsThereUntilChanged", b.ANoteOfTheCommandIsThereUntilChanged},
		{"DamagedNotesAreLeftOut", b.DamagedNotesAreLeftOut},
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
