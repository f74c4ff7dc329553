package pipeline

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"meridian/format"
	"meridian/format/messages"
	"meridian/format/pcap"
	"meridian/trace"
)

// Input is one trace file and the host that recorded it.
type Input struct {
	Host string
	Path string
	kind format.Kind
}

// ParseInputs turns arguments of the form [HOST=]PATH into inputs. A directory stands for all traces in it, of one
// host. A path without a host gives its base name, or as much more of the path as tells it from the others.
func ParseInputs(args []string) ([]Input, error) {
	var inputs []Input
	var unnamed []int // inputs named by their path
	for _, arg := range args {
		host, path, named := strings.Cut(arg, "=")
		if _, err := os.Stat(arg); err == nil || !named {
			host, path, named = "", arg, false
		}
		if named && host == "" {
			return nil, usage("%q: no host before the =", arg)
		}
		if path == "" {
			return nil, usage("%q: no file after the =", arg)
		}
		files, err := filesOf(path)
		if err != nil {
			return nil, err
		}
		isDirectory := len(files) != 1 || files[0] != path
		for _, file := range files {
			if i := slices.IndexFunc(inputs, func(in Input) bool { return sameFile(in.Path, file) }); i >= 0 {
				return nil, usage("%s is given twice", file)
			}
			in := Input{Host: host, Path: file}
			if !named {
				in.Host = stem(path)
				if !isDirectory {
					unnamed = append(unnamed, len(inputs))
				}
			}
			if in.kind, err = format.Detect(file); err != nil {
				return nil, err
			}
			inputs = append(inputs, in)
		}
	}
	tellApart(inputs, unnamed)
	return inputs, nil
}

func filesOf(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w; give the path of a capture or of a message list", err)
	}
	if info.IsDir() {
		return format.Files(path)
	}
	if !info.Mode().IsRegular() {
		return nil, usage("%s is no regular file; a trace is read twice, so write it to a file first", path)
	}
	return []string{path}, nil
}

// stem returns a path's base name without its extensions.
func stem(path string) string {
	name := filepath.Base(filepath.Clean(path))
	for _, compression := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, compression)
	}
	if short := strings.TrimSuffix(name, filepath.Ext(name)); short != "" {
		return short
	}
	return name
}

// tellApart lengthens names that several paths share by the directories that differ: client/eth0.pcap and
// server/eth0.pcap are two hosts, not one.
func tellApart(inputs []Input, unnamed []int) {
	for depth := 1; ; depth++ {
		holders := make(map[string][]int)
		for _, i := range unnamed {
			holders[inputs[i].Host] = append(holders[inputs[i].Host], i)
		}
		again := false
		for _, same := range holders {
			if len(same) < 2 {
				continue
			}
			for _, i := range same {
				parent := filepath.Clean(inputs[i].Path)
				for range depth {
					parent = filepath.Dir(parent)
				}
				if base := filepath.Base(parent); base != "." && base != string(filepath.Separator) {
					inputs[i].Host = base + "/" + inputs[i].Host
					again = true
				}
			}
		}
		if !again {
			break
		}
	}
	// What only its extension tells apart keeps it: cap.pcap and cap.pcapng.
	count := make(map[string]int)
	for _, i := range unnamed {
		count[inputs[i].Host]++
	}
	for _, i := range unnamed {
		if count[inputs[i].Host] > 1 {
			inputs[i].Host = filepath.Base(inputs[i].Path)
		}
	}
}

// read reads all inputs, several at a time.
func (r *run) read(ctx context.Context) error {
	var total int64
	for _, in := range r.inputs {
		if info, err := os.Stat(in.Path); err == nil {
			total += info.Size()
		}
	}
	var done atomic.Int64
	advance := func() func(int64) {
		var before int64
		return func(read int64) {
			r.Progress("reading", done.Add(read-before), total)
			before = read
		}
	}
	captures := make([]*trace.Capture, len(r.inputs))
	lists := make([]*trace.List, len(r.inputs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, in := range r.inputs {
		group.Go(func() (err error) {
			if in.kind == format.Messages {
				lists[i], err = readList(in.Path, &r.warnings)
				return err
			}
			captures[i], err = pcap.Read(ctx, in.Path, in.Host, &r.warnings, advance())
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for i := range r.inputs {
		if captures[i] != nil {
			r.captures = append(r.captures, captures[i])
			if captures[i].Packets.Len() == 0 {
				r.warnings.Add(captures[i].File, "no packets in it", "")
			}
		}
		if lists[i] != nil {
			r.lists = append(r.lists, lists[i])
		}
	}
	return nil
}

func readList(path string, w *trace.Warnings) (l *trace.List, err error) {
	text, err := format.OpenText(path)
	if err != nil {
		return nil, err
	}
	l, err = messages.Read(text, path, w)
	if closing := text.Close(); err == nil && closing != nil {
		return nil, closing
	}
	return l, err
}
