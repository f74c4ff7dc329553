package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"meridian/internal/dirlock"
	"meridian/sensor/ring"
)

// lastLookFlag is the flag of recorders that record what is in the rings when they begin, and end. They need no signal for that, which could come
// before they catch it.
const lastLookFlag = "last-look"

// How often a last look is tried, and how many rings a message names.
const (
	maxLastLooks  = 3
	maxRingsNamed = 3
)

// interruptedBefore ends a recording that was interrupted before its recorder had begun.
func (r *recorder) interruptedBefore() (code int, err error) {
	if r.hasCommand() {
		r.wrong = append(r.wrong, "COMMAND was not run: the agent was interrupted before that")
	}
	return r.lastLook()
}

// lastLook records what is in the rings, and returns the exit code of the recorder that does. There is none where no ring is, or where another recorder
// of the directory goes on. That rings are left unread is in r.wrong. It takes at most [endWithin] for each try, and as long for a recorder that hangs.
func (r *recorder) lastLook() (code int, err error) {
	args := r.args
	if at := slices.Index(args, "--"); at >= 0 {
		args = args[:at]
	}
	dir, ok := ringsOf(args)
	if !ok {
		return code, nil // no recorder begins with these flags
	}
	how := notBegun
	for range maxLastLooks {
		if len(unreadRings(dir)) == 0 {
			return code, nil
		}
		lock, err := dirlock.Lock(r.dir)
		if err == nil {
			err = lock.Close()
		} else if errors.Is(err, dirlock.ErrLocked) {
			if !recorderOf(r.dir).ofAgent {
				return code, nil // r.wrong says that it goes on
			}
			err = r.endOther() // that of an agent that was killed had begun meanwhile
		}
		if err != nil {
			return 0, errors.Join(err, errors.New(r.leftUnread(dir)))
		}
		ctx, cancel := context.WithTimeout(context.Background(), endWithin)
		code, how, err = r.once(ctx, append([]string{"--" + lastLookFlag}, args...))
		cancel()
		if err != nil {
			return 0, errors.Join(err, errors.New(r.leftUnread(dir)))
		}
		if how == endedItself && code != exitFailed {
			return code, nil
		}
		if how == endedItself && !recorderOf(r.dir).ofAgent {
			break
		}
	}
	if len(unreadRings(dir)) > 0 {
		r.wrong = append(r.wrong, r.leftUnread(dir))
	}
	if how != endedItself {
		code = exitDone // r.wrong says it
	}
	return code, nil
}

// leftUnread says which rings are left.
func (r *recorder) leftUnread(dir string) string {
	paths := unreadRings(dir)
	text := strings.Join(paths[:min(len(paths), maxRingsNamed)], ", ")
	if n := len(paths) - maxRingsNamed; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Sprintf("rings were left unread (%s): to record them, run the agent with -o %s again", text, r.dir)
}

// ringsOf returns the directory in which a recorder with these flags looks for rings; "" is the system's. It is false where no recorder begins with them.
func ringsOf(args []string) (dir string, ok bool) {
	flags := newRecord().Flags()
	if flags.Parse(args) != nil {
		return "", false
	}
	dir, err := flags.GetString("rings")
	if err == nil && dir != "" {
		dir, err = filepath.Abs(dir)
	}
	return dir, err == nil
}

// unreadRings returns the rings in a directory, also of programs that a recorder would not select. Rings that were read, and whose programs have ended, are
// removed.
func unreadRings(dir string) []string {
	paths, _ := ring.Find(dir) // a directory that is not there has none
	return paths
}
