package input

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"meridian/format"
	"meridian/internal/pipeline/usage"
	"meridian/internal/scratch"
)

// standardInput is the path that stands for standard input, unless there is a file of that name.
const standardInput = "-"

// Spool copies to files the traces that come through pipes, since traces are read more than once: standard input ("-"),
// named pipes, process substitutions. It returns the arguments of [Parse] with the copies in their places. All pipes are read at
// once, to their ends. A pipe that carries no trace, or one file of several, is refused by its name. Without a host, standard input is that of a host "stdin".
func Spool(ctx context.Context, args []string, dir *scratch.Dir) ([]string, error) {
	out, pipes, err := pipesOf(args, dir, "")
	if err != nil {
		return nil, err
	}
	group, ctx := errgroup.WithContext(ctx)
	for path, to := range pipes {
		group.Go(func() error { return spoolOne(ctx, path, to) })
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	for path, to := range pipes {
		if _, err := format.Detect(to); err != nil {
			return nil, explainPipe(path, to, err)
		}
	}
	return out, nil
}

// explainPipe names the pipe in the refusal of its copy, which nobody can look at. A pipe carries one file, so a CTF trace cannot come through it.
func explainPipe(path, copied string, err error) error {
	reason := strings.TrimPrefix(err.Error(), copied+": ")
	if format.IsPartOfTrace(err) {
		what, _, _ := strings.Cut(reason, ";")
		reason = what + ", which has several files, and a pipe carries one; give the trace's directory, copied here with 'rsync -a' if it lies elsewhere, " +
			"or collect it with 'meridian agent'"
	}
	return fmt.Errorf("%s: %s", path, reason)
}

// pipesOf returns the arguments with the names of copies in the places of pipes, and where each pipe is to be copied to. The copies'
// names have the given end.
func pipesOf(args []string, dir *scratch.Dir, end string) (out []string, pipes map[string]string, err error) {
	out, pipes = slices.Clone(args), make(map[string]string)
	for i, arg := range args {
		host, path := "", arg
		if h, p, named := strings.Cut(arg, "="); named && !exists(arg) {
			host, path = h+"=", p
		}
		if !piped(path) {
			continue
		}
		if pipes[path] != "" {
			return nil, nil, usage.Errorf("%s is given twice", path)
		}
		under, err := dir.Path()
		if err != nil {
			return nil, nil, err
		}
		name := filepath.Base(path)
		if path == standardInput {
			name = "stdin"
		}
		pipes[path] = filepath.Join(under, strconv.Itoa(i), strings.TrimSuffix(name, end)+end)
		out[i] = host + pipes[path]
	}
	return out, pipes, nil
}

func exists(path string) bool {
	_, err := format.Stat(path)
	return err == nil
}

// piped reports whether a path stands for a pipe or socket.
func piped(path string) bool {
	info, err := format.Stat(path)
	if err != nil {
		return path == standardInput
	}
	return info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) != 0
}

// spoolOne copies a pipe to a file in a directory of its own.
func spoolOne(ctx context.Context, path, to string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: copying it to a file, since traces are read more than once: %w", path, err)
		}
	}()
	if err := os.Mkdir(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	from, err := openPipe(ctx, path)
	if err != nil {
		return err
	}
	defer from.Close()
	// Closing ends a read that waits, of all but a standard input that cannot be opened again.
	defer context.AfterFunc(ctx, func() { from.Close() })()
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if closing := file.Close(); err == nil {
			err = closing
		}
	}()
	_, err = io.Copy(file, from)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// openPipe opens a pipe, which waits for the other end. Standard input is opened anew where the system can, so that a read from it
// can be ended.
func openPipe(ctx context.Context, path string) (*os.File, error) {
	if path != standardInput {
		opened := make(chan struct{})
		defer close(opened)
		defer context.AfterFunc(ctx, func() { openOtherEnd(path, opened) })()
		return os.Open(path)
	}
	info, err := os.Stdin.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode()&os.ModeNamedPipe != 0 {
		if f, err := os.Open("/dev/stdin"); err == nil {
			return f, nil
		}
	}
	if info.Mode()&os.ModeCharDevice != 0 && info.Mode()&os.ModeDevice != 0 {
		return nil, errors.New("standard input is a terminal or device, not a trace")
	}
	return os.Stdin, nil
}

// openOtherEnd lets go on what waits for a writer to open a pipe, until it has been opened: it may not yet wait for one.
func openOtherEnd(path string, opened <-chan struct{}) {
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		if w, err := os.OpenFile(path, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
			w.Close()
		}
		select {
		case <-opened:
			return
		case <-again.C:
		}
	}
}
