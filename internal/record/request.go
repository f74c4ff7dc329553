package record

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"meridian/internal/private"
)

// A request for a snapshot is a file in the directory of the trace, so that those may ask who may write there:
//
//	.snapshot          16 hexadecimal digits that name the request; the recorder removes it
//	.snapshot-DIGITS   the answer: "made " and the snapshot's directory, or "failed " and why
const requestFile = ".snapshot"

// Times of a request.
const (
	requestPoll    = 20 * time.Millisecond
	requestTimeout = 5 * time.Second // in which a recorder takes a request
)

// requests answers requests.
type requests struct {
	dir string
}

// poll returns the request that has come since the last call; "" for none.
func (r *requests) poll() string {
	path := filepath.Join(r.dir, requestFile)
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() != 16 {
		return ""
	}
	id, err := os.ReadFile(path)
	if os.Remove(path) != nil || err != nil || len(id) != 16 {
		return ""
	}
	if _, err := hex.DecodeString(string(id)); err != nil {
		return ""
	}
	return string(id)
}

// answer answers a request.
func (r *requests) answer(id, text string) error {
	return writeNew(filepath.Join(r.dir, requestFile+"-"+id), text)
}

// writeNew writes a file that appears with all of its content, and must not be there.
func writeNew(path, text string) error {
	f, err := os.CreateTemp(filepath.Dir(path), requestFile+"-new-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Chmod(private.File()), f.Close()); err != nil {
		return err
	}
	return os.Link(f.Name(), path)
}

// RequestSnapshot asks the recorder that records to a directory for a snapshot, waits for it, and returns its directory.
func RequestSnapshot(ctx context.Context, dir string) (string, error) {
	if err := mayBeRecorded(dir); err != nil {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	if recorderGone(dir) {
		return "", noRecorder(dir)
	}
	id := make([]byte, 8)
	rand.Read(id)
	name := hex.EncodeToString(id)
	path, answer := filepath.Join(dir, requestFile), filepath.Join(dir, requestFile+"-"+name)
	taken := time.Now().Add(requestTimeout)
	err := writeNew(path, name)
	for ; errors.Is(err, fs.ErrExist) && time.Now().Before(taken); err = writeNew(path, name) { // another request
		if err := pauseFor(ctx); err != nil {
			return "", err
		}
	}
	if errors.Is(err, fs.ErrPermission) {
		return "", fmt.Errorf("snapshot: a request needs the right to write in %s: ask as the recorder's user or as root", dir)
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("snapshot: %w", err)
	}
	for look := time.Now().Add(time.Second); ; {
		if text, err := os.ReadFile(answer); err == nil {
			os.Remove(answer)
			if made, ok := strings.CutPrefix(string(text), "made "); ok {
				return made, nil
			}
			return "", fmt.Errorf("snapshot: %s", strings.TrimPrefix(string(text), "failed "))
		}
		if _, err := os.Lstat(path); err == nil && time.Now().After(taken) {
			os.Remove(path)
			return "", noRecorder(dir)
		}
		if now := time.Now(); now.After(look) {
			if look = now.Add(time.Second); recorderGone(dir) {
				os.Remove(path)
				return "", fmt.Errorf("snapshot: the recorder of %s ended before it made one", dir)
			}
		}
		if err := pauseFor(ctx); err != nil {
			return "", err
		}
	}
}

// mayBeRecorded returns an error for what is no directory with a trace.
func mayBeRecorded(dir string) error {
	const want = "want the DIR of a running meridian record -o DIR --keep"
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such directory; %s", dir, want)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is a file; %s", dir, want)
	case err != nil:
		return err
	}
	_, err = readMetadata(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s holds no trace; %s", dir, want)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("a request needs the right to read and to write in %s: ask as the recorder's user or as root", dir)
	case err != nil:
		return fmt.Errorf("%s is not being recorded: %w", dir, err)
	}
	return nil
}

// recorderGone reports whether nobody records to a directory.
func recorderGone(dir string) bool {
	lock, err := lockTrace(dir)
	if err != nil {
		return false
	}
	lock.Close()
	return true
}

func noRecorder(dir string) error {
	return fmt.Errorf("snapshot: nothing records to %s: meridian record -o %s --keep must be running", dir, dir)
}

func pauseFor(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(requestPoll):
		return nil
	}
}
