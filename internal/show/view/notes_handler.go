package view

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"

	"meridian/internal/show/index"
)

// notesPath is the one path that may be written to.
const notesPath = "/api/notes"

// noted is About of a timeline whose notes are in a file.
type noted struct {
	*index.About
	NoteFile bool `json:"noteFile"`
}

// keepNotes answers what the notes are, and replaces them. Who may ask, and write, is the [guard]'s affair.
func (h *handler) keepNotes(w http.ResponseWriter, r *http.Request) {
	if !h.ready() {
		refuse(w, http.StatusServiceUnavailable, errNothing.Error())
		return
	}
	about := h.data.About()
	var held *heldNotes
	var err error
	if r.Method == http.MethodPut {
		held, err = h.putNotes(w, r, about)
	} else {
		h.notes.mu.Lock()
		held, _, err = h.notes.held(about)
		h.notes.mu.Unlock()
	}
	var wrong *wrongRequest
	switch {
	case errors.Is(err, errChanged):
		refuse(w, http.StatusConflict, err.Error())
	case errors.As(err, &wrong):
		refuse(w, http.StatusBadRequest, wrong.reason)
	case err != nil:
		refuse(w, http.StatusInternalServerError, err.Error())
	default:
		held.Writable = ofPeer(r.Context()).here
		b, _, err := marshalled(held, nil)
		if err != nil { // they are texts and numbers
			refuse(w, http.StatusInternalServerError, err.Error())
			return
		}
		reply(w, r, kindJSON, b)
	}
}

// putNotes replaces the notes by those of a request.
func (h *handler) putNotes(w http.ResponseWriter, r *http.Request, about *index.About) (*heldNotes, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxNotesFile))
	if err != nil {
		return nil, wrong("the notes could not be read, at most %d bytes of them: %v", maxNotesFile, err)
	}
	var asked struct {
		Version string       `json:"version"`
		Notes   []index.Note `json:"notes"`
	}
	if err := json.Unmarshal(b, &asked); err != nil {
		return nil, wrong("not a list of notes: %v", err)
	}
	if err := checkNotes(asked.Notes, about); err != nil {
		return nil, err
	}
	return h.notes.replace(about, asked.Notes, asked.Version)
}
