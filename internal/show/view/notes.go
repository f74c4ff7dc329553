package view

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"unicode/utf8"

	"meridian/clock"
	"meridian/internal/show/index"
)

const (
	maxNotes     = 1000    // of a file
	maxNotesFile = 1 << 20 // bytes of a file, and of a request that writes it
)

// NoteFile keeps the notes and bookmarks of a timeline in a file:
//
//	{"version":1,"notes":[{"at":"ns since 1970","to":"ns since 1970","host":"name","kind":"thread","row":"name","id":7,"text":"words"}]}
//
// A note without a row is of all rows; one with `to` is a bookmark of a view. Rows are named, not numbered, so that the file outlives
// the index. Notes of rows and instants that a timeline lacks are elsewhere: they are not shown, and stay in the file.
//
// The file is read for each request, so that what others wrote meanwhile is seen. It is written as a whole under another name first.
type NoteFile struct {
	path string
	mu   sync.Mutex // from reading the file to writing it
}

// noteText is a note in the file.
type noteText struct {
	At   clock.TimelineTime `json:"at,string"`
	To   clock.TimelineTime `json:"to,string,omitempty"`
	Host string             `json:"host,omitempty"`
	Kind string             `json:"kind,omitempty"`
	Row  string             `json:"row,omitempty"`
	ID   int64              `json:"id,omitempty"`
	Text string             `json:"text"`
}

// notesText is the file.
type notesText struct {
	Version int        `json:"version"`
	Notes   []noteText `json:"notes"`
}

// heldNotes is what a page gets of the file, and sends to replace it.
type heldNotes struct {
	Version   string       `json:"version"` // of the file and of what in it is elsewhere
	Notes     []index.Note `json:"notes"`
	Elsewhere int          `json:"elsewhere"`
	Writable  bool         `json:"writable"` // by who asks
}

// errChanged says that notes were to replace others than those that are there.
var errChanged = errors.New("the notes were changed meanwhile")

// OpenNotes prepares to keep notes in a file, which need not exist and may be empty. A file that is damaged or none of notes is refused.
func OpenNotes(path string) (*NoteFile, error) {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	n := &NoteFile{path: path}
	if _, err := n.read(); err != nil {
		return nil, err
	}
	if s, err := os.Stat(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("notes: the directory of %s: %w", path, err)
	} else if !s.IsDir() {
		return nil, fmt.Errorf("notes: %s is not in a directory", path)
	}
	return n, nil
}

// Add puts notes into the file, but for those that are there.
func (n *NoteFile) Add(about *index.About, notes []index.Note) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	held, rest, err := n.held(about)
	if err != nil {
		return err
	}
	before := len(held.Notes)
	for _, note := range notes {
		if !containsNote(held.Notes, note) {
			held.Notes = append(held.Notes, note)
		}
	}
	if len(held.Notes) == before {
		return nil
	}
	return n.write(about, held.Notes, rest)
}

func containsNote(list []index.Note, note index.Note) bool {
	for _, n := range list {
		if n == note {
			return true
		}
	}
	return false
}

// Notes returns what of the file is of a timeline.
func (n *NoteFile) Notes(about *index.About) ([]index.Note, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	held, _, err := n.held(about)
	if err != nil {
		return nil, err
	}
	return held.Notes, nil
}

// replace writes notes in the place of those of a version. It returns errChanged if they are of another version by now.
func (n *NoteFile) replace(about *index.About, notes []index.Note, version string) (*heldNotes, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	held, rest, err := n.held(about)
	if err != nil {
		return nil, err
	}
	if held.Version != version {
		return nil, errChanged
	}
	if err := n.write(about, notes, rest); err != nil {
		return nil, err
	}
	held, _, err = n.held(about)
	return held, err
}

// held divides the file into what is of a timeline and the rest.
func (n *NoteFile) held(about *index.About) (held *heldNotes, rest []noteText, err error) {
	all, err := n.read()
	if err != nil {
		return nil, nil, err
	}
	held = &heldNotes{Notes: []index.Note{}}
	sum := sha256.New()
	for _, t := range all {
		note, here := t.on(about)
		if here {
			held.Notes = append(held.Notes, note)
		} else {
			rest = append(rest, t)
		}
		fmt.Fprintf(sum, "%+v %v\n", t, here)
	}
	held.Elsewhere, held.Version = len(rest), hex.EncodeToString(sum.Sum(nil)[:16])
	return held, rest, nil
}

// read returns the notes of the file, none if it does not exist.
func (n *NoteFile) read() ([]noteText, error) {
	s, err := os.Stat(n.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	if !s.Mode().IsRegular() {
		return nil, fmt.Errorf("notes: %s is not a regular file", n.path)
	}
	f, err := os.Open(n.path)
	if err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxNotesFile+1))
	if err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	if len(b) > maxNotesFile {
		return nil, fmt.Errorf("notes: %s has more than %d bytes: not a file of notes", n.path, maxNotesFile)
	}
	if len(b) == 0 {
		return nil, nil // made by touch
	}
	var all notesText
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&all); err != nil || d.More() {
		return nil, fmt.Errorf("notes: %s is damaged or not a file of notes (%v); it stays as it is", n.path, err)
	}
	if all.Version != 1 {
		return nil, fmt.Errorf("notes: %s has version %d, which this program does not know: it knows 1", n.path, all.Version)
	}
	if len(all.Notes) > maxNotes {
		return nil, fmt.Errorf("notes: %s has %d notes, more than %d", n.path, len(all.Notes), maxNotes)
	}
	for i, t := range all.Notes {
		if err := checkWords(t.Text); err != nil {
			return nil, fmt.Errorf("notes: %s: note %d: %w", n.path, i+1, err)
		}
	}
	return all.Notes, nil
}

// write replaces the file by notes of a timeline and others. It is there whole or as it was.
func (n *NoteFile) write(about *index.About, notes []index.Note, rest []noteText) error {
	all := notesText{Version: 1, Notes: []noteText{}}
	for _, note := range notes {
		all.Notes = append(all.Notes, textOf(note, about))
	}
	all.Notes = append(all.Notes, rest...)
	if len(all.Notes) > maxNotes {
		return wrong("%d notes, and a file holds at most %d", len(all.Notes), maxNotes)
	}
	b, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	if len(b) >= maxNotesFile {
		return wrong("the notes take %d bytes, and a file of them at most %d", len(b), maxNotesFile)
	}
	temp, err := os.CreateTemp(filepath.Dir(n.path), "."+filepath.Base(n.path)+".*") // of mode 0600
	if err != nil {
		return fmt.Errorf("notes: %w", err)
	}
	_, err = temp.Write(append(b, '\n'))
	if s, statErr := os.Stat(n.path); err == nil && statErr == nil {
		err = temp.Chmod(s.Mode().Perm()) // as its user has set it
	}
	if err == nil {
		err = temp.Sync()
	}
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), n.path)
	}
	if err != nil {
		os.Remove(temp.Name())
		return fmt.Errorf("notes: %w", err)
	}
	return nil
}

// on finds a note's place on a timeline.
func (t *noteText) on(a *index.About) (note index.Note, here bool) {
	note = index.Note{Row: -1, Text: t.Text}
	reach := a.Origin + clock.TimelineTime(a.Span)
	switch {
	case t.To != 0:
		if t.To <= t.At || t.To < a.Origin || t.At > reach || t.At < a.Origin-maxAside || t.To > reach+maxAside {
			return note, false
		}
		note.To = int64(t.To - a.Origin)
	case t.At < a.Origin || t.At > reach:
		return note, false
	}
	note.At = int64(t.At - a.Origin)
	if t.Row == "" && t.Host == "" {
		return note, true
	}
	for i := range a.Rows {
		r := &a.Rows[i]
		if r.Host < len(a.Hosts) && r.Name == t.Row && r.Kind == t.Kind && r.ID == t.ID && a.Hosts[r.Host].Name == t.Host {
			note.Row = i
			return note, true
		}
	}
	return note, false
}

// maxAside is how far, ns, a bookmarked view reaches beyond its timeline: what a number of the page holds exactly.
const maxAside = 1 << 52

// textOf is a note as the file has it.
func textOf(note index.Note, a *index.About) noteText {
	t := noteText{At: a.Origin + clock.TimelineTime(note.At), Text: note.Text}
	if note.To != 0 {
		t.To = a.Origin + clock.TimelineTime(note.To)
	}
	if note.Row >= 0 {
		r := &a.Rows[note.Row]
		t.Host, t.Kind, t.Row, t.ID = a.Hosts[r.Host].Name, r.Kind, r.Name, r.ID
	}
	return t
}

// checkNotes refuses notes of a page that are not of its timeline.
func checkNotes(notes []index.Note, a *index.About) error {
	for i, note := range notes {
		if err := checkWords(note.Text); err != nil {
			return wrong("note %d: %v", i+1, err)
		}
		if note.Row < -1 || note.Row >= len(a.Rows) {
			return wrong("note %d: row %d does not exist", i+1, note.Row)
		}
		here := max(note.At, note.To) < a.Span+maxAside && min(note.At, note.To) > -maxAside // else the sum with the origin may overflow
		if here {
			t := textOf(note, a)
			_, here = t.on(a)
		}
		if !here {
			return wrong("note %d: its instant is not on the timeline", i+1)
		}
	}
	return nil
}

// checkWords says whether words can be a note's: one line, which neither controls a terminal nor reorders letters.
func checkWords(text string) error {
	if text == "" || utf8.RuneCountInString(text) > longestNote {
		return fmt.Errorf("want 1 to %d characters", longestNote)
	}
	if clean(text) != text {
		return errors.New("a character that controls a terminal, or is not text")
	}
	return nil
}
