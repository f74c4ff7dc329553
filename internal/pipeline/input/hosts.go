package input

import (
	"path/filepath"
	"slices"
	"strings"

	"meridian/format/ctf"
	"meridian/trace"
)

// nameHosts names the hosts of the CTF traces in one directory, where these say that they are of several hosts.
func nameHosts(traces []Trace) {
	names := make([]string, len(traces))
	for i := range traces {
		t, err := ctf.Open(traces[i].Path, new(trace.Warnings))
		if err != nil {
			return // reading it reports the error
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

// Stem returns a path's base name without its extensions.
func Stem(path string) string {
	name := filepath.Base(filepath.Clean(path))
	for _, compression := range []string{".gz", ".zst"} {
		name = strings.TrimSuffix(name, compression)
	}
	if short := strings.TrimSuffix(name, filepath.Ext(name)); short != "" {
		return short
	}
	return name
}

// argument is the traces that one argument stands for, which are named by its path.
type argument struct {
	path   string
	traces []int
}

// distinguish lengthens host names that several arguments share by the directories in which they differ:
// client/eth0.pcap and server/eth0.pcap are two hosts, not one.
func distinguish(traces []Trace, unnamed []argument) {
	host := func(a *argument) *string { return &traces[a.traces[0]].Host }
	for depth := 1; ; depth++ {
		byName := make(map[string][]*argument)
		for i := range unnamed {
			a := &unnamed[i]
			byName[*host(a)] = append(byName[*host(a)], a)
		}
		changed := false
		for _, same := range byName {
			if len(same) < 2 {
				continue
			}
			for _, a := range same {
				parent := filepath.Clean(a.path)
				for range depth {
					parent = filepath.Dir(parent)
				}
				if base := filepath.Base(parent); base != "." && base != string(filepath.Separator) {
					*host(a) = base + "/" + *host(a)
					changed = true
				}
			}
		}
		if !changed {
			break
		}
	}
	// Names that differ in nothing but their extensions keep these: cap.pcap and cap.pcapng.
	count := make(map[string]int)
	for i := range unnamed {
		count[*host(&unnamed[i])]++
	}
	for i := range unnamed {
		a := &unnamed[i]
		if count[*host(a)] > 1 {
			*host(a) = filepath.Base(filepath.Clean(a.path))
		}
		for _, k := range a.traces {
			traces[k].Host = *host(a)
		}
	}
}
