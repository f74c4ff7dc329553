// Package spool is what an agent writes into the directory of a trace that it sends: for each file what servers have of it, and what became of
// files that are gone. The agent reads it when it is started again. A recorder reads it to drop first what servers have.
//
//	DIR/.sent       a JSON object, replaced as a whole once a second
//	DIR/.released   a line for each file that is gone and that servers had (released.go)
//
// It is true of one instant, so a reader finds what has happened since: a file that it names and that is not there any more went in between.
// It is not synced: after a power cut it may be missing.
package spool

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// File has the account, beside the files of the trace. Its name begins with a dot, so it is none of them.
const File = ".sent"

const version = 1

// Account is the content of the file. All numbers are bytes unless they say otherwise.
type Account struct {
	Version int    `json:"version"`
	Trace   string `json:"trace"` // its UUID
	// Settled is what became of files that are not there any more.
	Settled Sum `json:"settled"`
	// Before is what recorders had dropped when the account began, and Dropped what they have since, as far as it was seen or counted.
	Before  int64           `json:"dropped_before"`
	Dropped int64           `json:"dropped"`
	Files   map[string]Part `json:"files"`
	// Gone are files that are not there any more, of which servers may still have more than they have acknowledged.
	Gone map[string]Part `json:"gone,omitempty"`
	// Counted are files of which the trace tells that they were dropped, or is about to, and that are in Settled, Gone or Files, or in Before.
	Counted map[string]bool `json:"counted,omitempty"`
	// Unseen is how much of Settled.Lost no name is known of: recorders dropped it, and what named it was dropped too. Servers may have some of it.
	Unseen int64 `json:"unseen,omitempty"`
	// Named says that [ReleasedFile] has all files that are in Settled.
	Named bool `json:"named,omitempty"`
	// Servers have all that others have of files that are not there any more, as it was recorded.
	Servers []string `json:"servers,omitempty"`
	// Document is the CRC-32C of the metadata that as many servers as are wanted had when they were there last; 0 if they did not have it as it was.
	Document uint32 `json:"document,omitempty"`
}

// Sum is what became of a trace.
type Sum struct {
	Recorded     int64 `json:"recorded"`
	Acknowledged int64 `json:"acknowledged"` // of these, on the disks of as many servers as are wanted
	Lost         int64 `json:"lost"`         // of these, removed before as many servers had them
	LostPackets  int64 `json:"lost_packets"` // in these, at least; of a chunk that was removed in the agent's absence all count if one was not acknowledged
	// Away is how many bytes are neither acknowledged nor lost, and not in the directory any more: servers had them that are not there now.
	Away int64 `json:"away,omitempty"`
}

// Part is how much servers have of a file.
type Part struct {
	Size         int64 `json:"size"` // of its whole packets
	Packets      int64 `json:"packets"`
	Acknowledged int64 `json:"acknowledged"` // that as many servers as are wanted had when they were there last
	Lacking      int64 `json:"lacking"`      // packets beyond these
	// Servers had what is acknowledged when they were there last.
	Servers []string `json:"servers,omitempty"`
	// Had is how much servers acknowledged that had more than what is acknowledged, or that are not among Servers any more.
	Had map[string]int64 `json:"had,omitempty"`
}

// By returns how much of the file a server has acknowledged.
func (p *Part) By(server string) int64 {
	n := p.Had[server]
	if slices.Contains(p.Servers, server) {
		n = max(n, p.Acknowledged)
	}
	return n
}

// New returns the account of a trace of which nothing is known.
func New(trace string) Account {
	return Account{Version: version, Trace: trace, Files: make(map[string]Part), Gone: make(map[string]Part), Counted: make(map[string]bool)}
}

// ErrUnknown is wrapped by the error of [Read] for a file that is no account.
var ErrUnknown = errors.New("not an account of what was sent")

// Read reads the account in a directory. The error wraps [os.ErrNotExist] where there is none.
func Read(dir string) (Account, error) {
	path := filepath.Join(dir, File)
	b, err := os.ReadFile(path)
	if err != nil {
		return Account{}, err
	}
	a := New("")
	if err := json.Unmarshal(b, &a); err != nil {
		return Account{}, fmt.Errorf("%s: %w: %w", path, ErrUnknown, err)
	}
	if a.Version != version {
		return Account{}, fmt.Errorf("%s: %w of this version: it has version %d, not %d", path, ErrUnknown, a.Version, version)
	}
	if a.Files == nil || a.Gone == nil || a.Counted == nil { // null: the caller could not add to it
		return Account{}, fmt.Errorf("%s: %w: files, gone or counted is null", path, ErrUnknown)
	}
	return a, nil
}

// Write puts the account in the place of the one before.
func (a *Account) Write(dir string) error {
	path := filepath.Join(dir, File)
	b, err := json.Marshal(a)
	if err == nil {
		err = os.WriteFile(path+".new", b, 0o666)
	}
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return fmt.Errorf("the account of what was sent: %w", err)
	}
	return nil
}
