package s3

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

// A session is kept as parts of its files and an index that says which parts make which file. Each server that keeps it has an index
// and parts of its own, so that no object has two writers:
//
//	SESSION/.meridian/SERVER/index.json                      an [Index], replaced as a whole
//	SESSION/.meridian/SERVER/data/HOST/FILE/NUMBER-SHA256    a part, which never changes
//
// [FS] shows the session as a directory of hosts, from all indexes: of each part the longest.
const (
	keptFolder = ".meridian"
	indexName  = "index.json"
)

// IndexVersion is that of the index's format.
const IndexVersion = 1

// MaxIndex bounds an index, bytes.
const MaxIndex = 256 << 20

// Index says of which parts the files of a session consist.
type Index struct {
	Version  int                   `json:"version"`
	Session  string                `json:"session"`
	Server   string                `json:"server"`
	PartSize int64                 `json:"part_size"` // of all parts of a file but the last
	Hosts    map[string]*IndexHost `json:"hosts"`
}

// IndexHost is what is kept of a host.
type IndexHost struct {
	Trace string                `json:"trace"` // the UUID of the trace
	Files map[string]*IndexFile `json:"files"`
}

// IndexFile is the parts of a file, from its beginning without a gap.
type IndexFile struct {
	Parts []Part `json:"parts"`
}

// Part is a part of a file.
type Part struct {
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// Size is that of the file.
func (f *IndexFile) Size() (n int64) {
	for _, p := range f.Parts {
		n += p.Size
	}
	return n
}

// IndexKey returns where a server's index of a session is. dir is the session's prefix.
func IndexKey(dir, server string) string { return path.Join(dir, keptFolder, server, indexName) }

// DataPrefix returns where a server's parts of a session are.
func DataPrefix(dir, server string) string { return path.Join(dir, keptFolder, server, "data") + "/" }

// PartKey returns where a part of a file is.
func PartKey(dir, server, host, file string, number int, p Part) string {
	return fmt.Sprintf("%s%s/%s/%d-%s", DataPrefix(dir, server), host, file, number, p.SHA256)
}

// ParseIndex reads an index. It trusts nothing in it: names stay in their directories, and parts have the sizes that they must have.
func ParseIndex(data []byte) (*Index, error) {
	x := new(Index)
	if err := json.Unmarshal(data, x); err != nil {
		return nil, fmt.Errorf("not an index: %w", err)
	}
	switch {
	case x.Version != IndexVersion:
		return nil, fmt.Errorf("an index of version %d, and only version %d is known: update this program", x.Version, IndexVersion)
	case x.PartSize < blockSize || x.PartSize%blockSize != 0 || x.PartSize > maxChecked:
		return nil, fmt.Errorf("an index with parts of %d bytes", x.PartSize)
	case !isElement(x.Server):
		return nil, fmt.Errorf("an index of a server %q", x.Server)
	}
	for host, h := range x.Hosts {
		if !isElement(host) || h == nil {
			return nil, fmt.Errorf("an index with a host %q", host)
		}
		for name, f := range h.Files {
			folder, file, nested := strings.Cut(name, "/")
			if !isElement(folder) || nested && !isElement(file) || f == nil {
				return nil, fmt.Errorf("an index with a file %q", name)
			}
			if err := f.check(x.PartSize); err != nil {
				return nil, fmt.Errorf("an index with a file %s of host %s: %w", name, host, err)
			}
		}
	}
	return x, nil
}

func (f *IndexFile) check(partSize int64) error {
	for i, p := range f.Parts {
		if p.Size <= 0 || p.Size > partSize || p.Size < partSize && i < len(f.Parts)-1 {
			return fmt.Errorf("part %d has %d bytes", i, p.Size)
		}
		if len(p.SHA256) != 64 || strings.Trim(p.SHA256, "0123456789abcdef") != "" {
			return fmt.Errorf("part %d has a checksum %q", i, p.SHA256)
		}
	}
	return nil
}

// isElement reports whether a name is one element of a path that stays where it is.
func isElement(name string) bool {
	return name != "." && fs.ValidPath(name) && !strings.Contains(name, "/")
}

// kept is a session as a tree of directories.
type kept map[string]listing

// newKept makes the tree of a session from the indexes of all servers that keep it.
func newKept(bucket, dir string, indexes []*Index) (kept, error) {
	hosts := make(map[string]map[string]*entry)
	traces := make(map[string]string)
	for _, x := range indexes {
		for host, h := range x.Hosts {
			if known, ok := traces[host]; ok && known != h.Trace {
				return nil, fmt.Errorf("s3://%s/%s has two traces of host %s (%s and %s), by several servers: they belong into two sessions", bucket, dir, host, known, h.Trace)
			}
			traces[host] = h.Trace
			if hosts[host] == nil {
				hosts[host] = make(map[string]*entry)
			}
			for name, f := range h.Files {
				e := hosts[host][name]
				if e == nil {
					e = &entry{name: path.Base(name), partSize: x.PartSize}
					hosts[host][name] = e
				}
				if err := e.add(bucket, dir, host, name, x, f); err != nil {
					return nil, err
				}
			}
		}
	}
	k := kept{"": listing{}}
	for _, host := range slices.Sorted(maps.Keys(hosts)) {
		k[""] = append(k[""], &entry{name: host, dir: true})
		k[host] = listing{}
		for _, name := range slices.Sorted(maps.Keys(hosts[host])) {
			e := hosts[host][name]
			e.object.Size = 0
			for _, p := range e.parts {
				e.object.Size += p.Size
			}
			folder := path.Join(host, path.Dir(name))
			if folder != host && k[folder] == nil {
				k[host] = append(k[host], &entry{name: path.Dir(name), dir: true})
			}
			k[folder] = append(k[folder], e)
		}
		slices.SortFunc(k[host], func(a, b *entry) int { return strings.Compare(a.name, b.name) })
	}
	return k, nil
}

// add takes the parts of a server that are longer than those of the servers before.
func (e *entry) add(bucket, dir, host, name string, x *Index, f *IndexFile) error {
	if e.partSize != x.PartSize {
		return errors.New("s3://" + path.Join(bucket, dir) + ": servers keep it in parts of different sizes")
	}
	for i, p := range f.Parts {
		o := Object{Bucket: bucket, Key: PartKey(dir, x.Server, host, name, i, p), ObjectInfo: ObjectInfo{Size: p.Size}}
		switch {
		case i == len(e.parts) && (i == 0 || e.parts[i-1].Size == e.partSize):
			e.parts = append(e.parts, o)
		case i < len(e.parts) && p.Size > e.parts[i].Size:
			e.parts[i] = o
		}
	}
	return nil
}
