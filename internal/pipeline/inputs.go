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
	"meridian/format/ctf"
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
	var unnamed []group
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
		found, err := tracesAt(path)
		if err != nil {
			return nil, err
		}
		g := group{path: path}
		for _, in := range found {
			if i := slices.IndexFunc(inputs, func(other Input) bool { return sameFile(in.Path, other.Path) }); i >= 0 {
				return nil, usage("%s is given twice", in.Path)
			}
			switch {
			case named:
				in.Host = host
			case in.Host == "":
				in.Host = stem(path)
				g.inputs = append(g.inputs, len(inputs))
			}
			inputs = append(inputs, in)
		}
		if len(g.inputs) > 0 {
			unnamed = append(unnamed, g)
		}
	}
	tellApart(inputs, unnamed)
	return inputs, nil
}

// tracesAt returns the traces that a path stands for. Those of a directory have a Host only if they say themselves that
// they are of several.
func tracesAt(path string) ([]Input, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w; give the path of a trace: a capture, a directory of LTTng, spans, a list of messages", err)
	}
	if !info.IsDir() && !info.Mode().IsRegular() {
		return nil, usage("%s is no regular file; a trace is read twice, so write it to a file first", path)
	}
	var found []Input
	files := []string{path}
	if info.IsDir() {
		dirs, err := format.Traces(path)
		if err != nil {
			return nil, err
		}
		for _, dir := range dirs {
			found = append(found, Input{Path: dir, kind: format.CTF})
		}
		nameHosts(found)
		for _, in := range slices.Clone(found) {
			beside, err := packetsOf(in)
			if err != nil {
				return nil, err
			}
			found = append(found, beside...)
		}
		files, err = format.Files(path)
		if err != nil && len(found) > 0 {
			return found, nil // the files beside a trace are its streams
		}
		if err != nil {
			return nil, err
		}
	}
	for _, file := range files {
		kind, err := format.Detect(file)
		if err != nil {
			return nil, err
		}
		found = append(found, Input{Path: file, kind: kind})
	}
	return found, nil
}

// packetsOf returns the captures that a recorder has put into a trace's directory packets: they are of the trace's host and
// stamped by its clock.
func packetsOf(of Input) (found []Input, err error) {
	dir := filepath.Join(of.Path, "packets")
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil // there are none
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		info, err := os.Stat(path)
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 || strings.HasPrefix(e.Name(), ".") {
			continue // without a byte it is of a recorder that was killed as it began
		}
		kind, err := format.Detect(path)
		if err != nil {
			return nil, err
		}
		if kind == format.Capture {
			found = append(found, Input{Host: of.Host, Path: path, kind: kind})
		}
	}
	return found, nil
}

// nameHosts names the hosts of CTF traces in one directory, where these say that they are several hosts'.
func nameHosts(traces []Input) {
	names := make([]string, len(traces))
	for i := range traces {
		t, err := ctf.Open(traces[i].Path, new(trace.Warnings))
		if err != nil {
			return // reading it will say why
		}
		names[i] = t.Host()
		t.Close()
		if names[i] == "" {
			return
		}
	}
	for i := range traces {
		if slices.ContainsFunc(names, func(n string) bool { return n != names[0] }) {
			traces[i].Host = names[i]
		}
	}
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

// group is the inputs that one argument stands for, named by its path.
type group struct {
	path   string
	inputs []int
}

// tellApart lengthens names that several paths share by the directories that differ: client/eth0.pcap and
// server/eth0.pcap are two hosts, not one.
func tellApart(inputs []Input, unnamed []group) {
	host := func(g *group) *string { return &inputs[g.inputs[0]].Host }
	for depth := 1; ; depth++ {
		holders := make(map[string][]*group)
		for i := range unnamed {
			g := &unnamed[i]
			holders[*host(g)] = append(holders[*host(g)], g)
		}
		again := false
		for _, same := range holders {
			if len(same) < 2 {
				continue
			}
			for _, g := range same {
				parent := filepath.Clean(g.path)
				for range depth {
					parent = filepath.Dir(parent)
				}
				if base := filepath.Base(parent); base != "." && base != string(filepath.Separator) {
					*host(g) = base + "/" + *host(g)
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
	for i := range unnamed {
		count[*host(&unnamed[i])]++
	}
	for i := range unnamed {
		g := &unnamed[i]
		if count[*host(g)] > 1 {
			*host(g) = filepath.Base(filepath.Clean(g.path))
		}
		for _, k := range g.inputs {
			inputs[k].Host = *host(g)
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
	recorded := make([]*recording, len(r.inputs))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, in := range r.inputs {
		group.Go(func() (err error) {
			switch {
			case in.kind == format.Messages:
				lists[i], err = readList(in.Path, &r.warnings)
				return err
			case recordings[in.kind] != nil:
				recorded[i], err = readRecording(ctx, in, &r.warnings)
				return err
			}
			captures[i], err = pcap.Read(ctx, in.Path, in.Host, &r.warnings, advance())
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	leaveOutTwice(captures, recorded)
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
		if x := recorded[i]; x != nil {
			r.recordings = append(r.recordings, x)
			if x.capture != nil {
				r.captures = append(r.captures, x.capture)
			}
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
