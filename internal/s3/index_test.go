package s3

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"meridian/internal/testseed"
)

const anySum = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func index(change func(*Index)) []byte {
	x := &Index{Version: IndexVersion, Session: "night", Server: "one", PartSize: blockSize, Hosts: map[string]*IndexHost{
		"web": {Trace: "u", Files: map[string]*IndexFile{"kernel_0": {Parts: []Part{{blockSize, anySum}, {5, anySum}}}, "packets/web.pcapng": {Parts: []Part{{7, anySum}}}}},
	}}
	change(x)
	b, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	return b
}

func TestAnIndexThatLiesIsRefused(t *testing.T) {
	if x, err := ParseIndex(index(func(*Index) {})); err != nil || x.Hosts["web"].Files["kernel_0"].Size() != blockSize+5 {
		t.Fatalf("%+v, %v", x, err)
	}
	web := func(change func(map[string]*IndexFile)) func(*Index) {
		return func(x *Index) { change(x.Hosts["web"].Files) }
	}
	for want, change := range map[string]func(*Index){
		"version 2":                func(x *Index) { x.Version = 2 },
		"parts of 0 bytes":         func(x *Index) { x.PartSize = 0 },
		"parts of 262145 bytes":    func(x *Index) { x.PartSize++ },
		"parts of 1099511627776":   func(x *Index) { x.PartSize = 1 << 40 },
		`a server ".."`:            func(x *Index) { x.Server = ".." },
		`a server "a/b"`:           func(x *Index) { x.Server = "a/b" },
		`a host "../etc"`:          func(x *Index) { x.Hosts["../etc"] = x.Hosts["web"] },
		`a host ""`:                func(x *Index) { x.Hosts[""] = x.Hosts["web"] },
		`a host "db"`:              func(x *Index) { x.Hosts["db"] = nil },
		`a file "a/b/c"`:           web(func(f map[string]*IndexFile) { f["a/b/c"] = f["kernel_0"] }),
		`a file "/x"`:              web(func(f map[string]*IndexFile) { f["/x"] = f["kernel_0"] }),
		`a file "packets/.."`:      web(func(f map[string]*IndexFile) { f["packets/.."] = f["kernel_0"] }),
		`a file "nil"`:             web(func(f map[string]*IndexFile) { f["nil"] = nil }),
		"part 0 has 9 bytes":       web(func(f map[string]*IndexFile) { f["kernel_0"].Parts[0].Size = 9 }),
		"part 1 has 0 bytes":       web(func(f map[string]*IndexFile) { f["kernel_0"].Parts[1].Size = 0 }),
		"part 1 has 262145 bytes":  web(func(f map[string]*IndexFile) { f["kernel_0"].Parts[1].Size = blockSize + 1 }),
		"part 1 has -1 bytes":      web(func(f map[string]*IndexFile) { f["kernel_0"].Parts[1].Size = -1 }),
		`has a checksum "../x"`:    web(func(f map[string]*IndexFile) { f["kernel_0"].Parts[1].SHA256 = "../x" }),
		"has a checksum \"" + "AB": web(func(f map[string]*IndexFile) { f["kernel_0"].Parts[1].SHA256 = "AB" + anySum[2:] }),
	} {
		if _, err := ParseIndex(index(change)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, text := range []string{"", "null", "[]", "{}", `{"version":1}`} {
		if _, err := ParseIndex([]byte(text)); err == nil {
			t.Errorf("%q is an index", text)
		}
	}
}

// FuzzIndex holds that what an index names stays below its session, and that no file has a gap.
func FuzzIndex(f *testing.F) {
	f.Add(index(func(*Index) {}))
	f.Add(index(func(x *Index) { x.Hosts["web"].Files["packets"] = x.Hosts["web"].Files["kernel_0"] }))
	testseed.Fuzz(f, func(t *testing.T, data []byte) {
		x, err := ParseIndex(data)
		if err != nil {
			return
		}
		k, err := newKept("bucket", "runs/night", []*Index{x, x})
		if err != nil {
			t.Fatal(err)
		}
		for dir, l := range k {
			if dir != "" && !fs.ValidPath(dir) || strings.Count(dir, "/") > 1 {
				t.Errorf("directory %q", dir)
			}
			for _, e := range l {
				if !isElement(e.name) {
					t.Errorf("name %q", e.name)
				}
				var at int64
				for number := int64(0); number*blockSize < e.object.Size; number++ {
					o, in, left := e.holding(number)
					if left < 1 || in*blockSize >= o.Size || !strings.HasPrefix(o.Key, "runs/night/.meridian/") || !fs.ValidPath(o.Key) {
						t.Errorf("block %d of %s is block %d of %+v", number, e.name, in, o)
					}
					at += min(blockSize, o.Size-in*blockSize)
					if number > 1000 {
						return
					}
				}
				if !e.dir && at != e.object.Size {
					t.Errorf("%s has %d bytes in blocks, not %d", e.name, at, e.object.Size)
				}
			}
		}
	})
}
