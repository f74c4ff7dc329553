package ctf

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"meridian/trace"
)

// metadataState is what was last seen of the metadata.
type metadataState struct {
	info    fs.FileInfo
	since   time.Time
	settled bool
	judged  bool
	sum     [sha256.Size]byte // as it was last judged
	err     error             // why it could not be used
	uuid    [16]byte
	hasUUID bool
	told    map[string]bool // warnings
}

// readMetadata reads the metadata if that has changed. Renewed is true if the trace now has other metadata than before.
func (f *Follower) readMetadata() (renewed bool, err error) {
	m := &f.metadata
	name := filepath.Join(f.dir, "metadata")
	now := time.Now()
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // not yet; or being replaced, or the trace is removed
	} else if err != nil {
		return false, err
	}
	if m.info == nil || !os.SameFile(m.info, info) || m.info.Size() != info.Size() || !m.info.ModTime().Equal(info.ModTime()) {
		m.info, m.since, m.settled = info, now, false
	}
	if m.settled {
		return false, m.err
	}
	data, err := readMetadata(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	m.settled = now.Sub(m.since) > coarsestTime(info)
	sum := sha256.Sum256(data)
	if m.judged && sum == m.sum {
		return false, m.err
	}
	m.judged, m.sum = true, sum
	renewed, m.err = f.takeMetadata(data, name)
	return renewed, m.err
}

// takeMetadata makes metadata the trace's, as far as it is whole.
func (f *Follower) takeMetadata(data []byte, name string) (renewed bool, err error) {
	var w trace.Warnings
	parsed, err := parseGrowing(data, name, &w)
	if err != nil || parsed == nil {
		return false, err
	}
	m := &f.metadata
	if m.hasUUID && parsed.HasUUID && m.uuid != parsed.UUID {
		f.replaced = fmt.Errorf("%s: %w: its UUID is %s, that of the trace that was followed is %s; follow it anew", f.dir, ErrReplaced,
			formatUUID(parsed.UUID), formatUUID(m.uuid))
		return false, f.replaced
	}
	if m.hasUUID && !parsed.HasUUID || f.t.plan != nil && lacks(parsed, f.t.Metadata) {
		return false, nil // being written anew
	}
	plan, err := newPlan(parsed, name, &w)
	if err != nil {
		return false, err
	}
	for _, line := range w.Lines() {
		if !m.told[line] {
			if m.told == nil {
				m.told = map[string]bool{}
			}
			m.told[line] = true
			f.w.Add("", line, "")
		}
	}
	m.uuid, m.hasUUID = parsed.UUID, parsed.HasUUID
	f.t.Metadata, f.t.plan = parsed, plan
	if f.src == nil {
		f.src = newSource(f.t)
	}
	f.src.classify()
	f.renew()
	return true, nil
}

// renew gives the new metadata to the readers that stand between packets, so that nothing holds the old one for long. Others take
// it with their next packet, or when they miss a class.
func (f *Follower) renew() {
	f.markQueued()
	for _, file := range f.files {
		if r := file.r; r != nil && !file.queued && r.pos >= r.end && r.end >= r.readable {
			r.ev, r.sp = nil, nil
			r.adopt()
		}
	}
}

// lacks reports whether metadata has fewer classes than it had before.
func lacks(now, before *Metadata) bool {
	events := map[uint64]int{}
	for i := range now.Streams {
		events[now.Streams[i].ID] = 1 + len(now.Streams[i].Events)
	}
	for i := range before.Streams {
		if events[before.Streams[i].ID] < 1+len(before.Streams[i].Events) {
			return true
		}
	}
	return false
}

// parseGrowing parses metadata as far as it is whole; nil if nothing of it is.
func parseGrowing(data []byte, name string, w *trace.Warnings) (*Metadata, error) {
	text := string(data)
	if order := metadataOrder(data); order != nil {
		whole := 0
		for whole < len(data) {
			if _, size, err := metadataPacket(data[whole:], order); err == nil && size <= len(data)-whole {
				whole += size
				continue
			}
			next := nextMetadataPacket(data, whole+1, order)
			if next == len(data) {
				break
			}
			whole = next // what is between is damaged
		}
		if whole == 0 {
			return nil, nil
		}
		var err error
		if text, err = unpackMetadata(data[:whole], order, name, w); err != nil {
			return nil, err
		}
	}
	whole := wholeDeclarations(text)
	m, err := parseMetadataText(whole, name, w)
	if err != nil && (errors.Is(err, errNoTrace) || strings.TrimRight(text[len(whole):], " \t\r\n\x00") != "") {
		return nil, nil // the rest may mend it
	}
	return m, err
}

// wholeDeclarations returns metadata up to its last whole declaration.
func wholeDeclarations(text string) string {
	if begin := strings.TrimLeft(text, " \t\r\n\x00\ufeff"); begin != "" && (begin[0] == recordSeparator || begin[0] == '{') {
		last := strings.LastIndexByte(text, recordSeparator)
		if json.Valid([]byte(strings.TrimSpace(text[last+1:]))) {
			return text
		}
		return text[:max(last, 0)]
	}
	l := newLexer(text)
	depth, whole := 0, 0
	for {
		t := l.next()
		switch {
		case t.kind == tokenEnd:
			return text[:whole]
		case t.kind != tokenSign:
		case t.text == "{":
			depth++
		case t.text == "}":
			depth = max(0, depth-1)
		case t.text == ";" && depth == 0:
			whole = l.at
		}
	}
}
