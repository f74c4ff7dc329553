package pipeline

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"meridian/trace"
)

// format of an output: what the file's name ends in, and what writes it. To add one, add a line.
type outputFormat struct {
	ending string
	what   string
	write  func(*run, context.Context, io.Writer) error
	// packets says that the output needs captures.
	packets bool
}

func outputFormats() []outputFormat {
	return []outputFormat{
		{"report.json", "the alignment report", (*run).writeReport, false},
		{".html", "the timeline as a page", (*run).writePage, false},
		{".pcapng", "all packets at corrected times", (*run).writeMerged, true},
	}
}

// Endings describes what -o takes, one line each.
func Endings() []string {
	var lines []string
	for _, f := range outputFormats() {
		lines = append(lines, fmt.Sprintf("%-12s %s", f.ending, f.what))
	}
	return lines
}

// output is one file to be written.
type output struct {
	path string
	outputFormat
}

// writers checks the outputs asked for, before any work is done.
func (r *run) writers() ([]output, error) {
	var outputs []output
	for _, path := range r.Outputs {
		out, err := outputOf(path)
		if err != nil {
			return nil, err
		}
		for _, in := range r.inputs {
			if sameFile(in.Path, path) {
				return nil, usage("%s is an input; it would be overwritten", path)
			}
		}
		for _, other := range outputs {
			if sameFile(other.path, path) {
				return nil, usage("%s is asked for twice", path)
			}
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return nil, usage("%s is a directory", path)
		}
		if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
			return nil, usage("%s: there is no directory %s", path, filepath.Dir(path))
		}
		outputs = append(outputs, out)
	}
	return outputs, nil
}

func outputOf(path string) (output, error) {
	var endings []string
	for _, f := range outputFormats() {
		if strings.HasSuffix(strings.ToLower(path), f.ending) {
			return output{path, f}, nil
		}
		endings = append(endings, f.ending)
	}
	return output{}, usage("%s: no format for an output of this name; it must end in %s", path, strings.Join(endings, ", "))
}

// write writes all outputs beside their places and moves them there when all are whole. The merged capture comes last:
// before it the packets in memory are given up.
func (r *run) write(ctx context.Context, outputs []output) (err error) {
	temporary := make([]string, len(outputs))
	defer func() {
		for _, name := range temporary {
			if name != "" {
				os.Remove(name)
			}
		}
	}()
	for _, merging := range []bool{false, true} {
		if merging {
			r.release()
		}
		for i, out := range outputs {
			if out.packets != merging {
				continue
			}
			if out.packets && len(r.captures) == 0 {
				return usage("%s needs captures; message lists hold no packets", out.path)
			}
			if temporary[i], err = r.writeBeside(ctx, out); err != nil {
				return fmt.Errorf("%s: %w", out.path, err)
			}
		}
	}
	for i, out := range outputs {
		if err := os.Rename(temporary[i], out.path); err != nil {
			return err
		}
		temporary[i] = ""
	}
	return nil
}

// release gives up the packets and messages in memory and returns it at once: the kernel is about to need as much for the
// file that is written.
func (r *run) release() {
	for _, c := range r.captures {
		c.Packets, c.Flows = trace.Log{}, nil
	}
	r.matched.Channels = nil
	debug.FreeOSMemory()
}

// writeBeside writes an output to a temporary file in its directory and returns that file's name, also on error.
func (r *run) writeBeside(ctx context.Context, out output) (name string, err error) {
	file, err := os.CreateTemp(filepath.Dir(out.path), "."+filepath.Base(out.path)+".*")
	if err != nil {
		return "", err
	}
	buffered := newBehind(until{ctx, newStreamed(file)})
	err = out.write(r, ctx, buffered)
	if writing := buffered.Close(); err == nil {
		err = writing
	}
	// What a person writes with > has these rights, and a file that was there keeps its own.
	mode := os.FileMode(0o666) &^ umask()
	if info, statErr := os.Stat(out.path); statErr == nil {
		mode = info.Mode().Perm()
	}
	if chmod := file.Chmod(mode); err == nil {
		err = chmod
	}
	if closing := file.Close(); err == nil {
		err = closing
	}
	return file.Name(), err
}

// until fails once its context has ended, so that an interruption ends every output, whatever its writer looks at.
type until struct {
	context.Context
	io.Writer
}

func (u until) Write(p []byte) (int, error) {
	if err := u.Err(); err != nil {
		return 0, err
	}
	return u.Writer.Write(p)
}

func (r *run) writeReport(_ context.Context, w io.Writer) error {
	r.report.Warnings = r.warnings.Lines()
	return r.report.Write(w)
}
