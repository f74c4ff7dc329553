package main

import (
	"bytes"
	"compress/gzip"
	"crypto/md5"
	"fmt"
	"io"
	"path"
	"strings"
	"time"
)

// maintainer is who a package names. Those who publish it build it with their own.
const maintainer = "The Meridian authors <meridian@localhost>"

// writeDeb writes a Debian package, deb(5): an ar archive of debian-binary, control.tar.gz and data.tar.gz. It has no maintainer scripts: nothing is started,
// enabled or made by its installation. systemd-sysusers, which systemd runs at each start of the machine, makes the server's user.
func (r *release) writeDeb(w io.Writer, processor string, files []file) error {
	var data []file
	for _, f := range files {
		f, wanted, err := debian(f)
		if err != nil {
			return err
		}
		if wanted {
			data = append(data, f)
		}
	}
	data = append(data, file{name: "usr/lib/sysusers.d/meridian.conf", content: []byte("u meridian - \"Meridian server\" /var/lib/meridian\n")})
	data = below("", data)
	size, digests := 0, new(bytes.Buffer)
	for _, f := range data {
		size += (len(f.content) + 1023) / 1024
		fmt.Fprintf(digests, "%x  %s\n", md5.Sum(f.content), f.name)
	}
	control := fmt.Sprintf(`Package: meridian
Version: %s
Architecture: %s
Maintainer: %s
Installed-Size: %d
Section: utils
Priority: optional
Description: one timeline for every machine
 Meridian puts what was recorded on several hosts (tcpdump, LTTng, OpenTelemetry
 spans, its own sensors and recorder) on one time base, with a guaranteed bound
 on the error at every instant, and shows one timeline.
`, r.version, processor, maintainer, size)
	var inner [2]bytes.Buffer
	for i, list := range [][]file{{{name: "control", content: []byte(control)}, {name: "md5sums", content: digests.Bytes()}}, data} {
		if err := writeTarGz(&inner[i], withFolders(list), r.time); err != nil {
			return err
		}
	}
	return writeAr(w, []file{{name: "debian-binary", content: []byte("2.0\n")}, {name: "control.tar.gz", content: inner[0].Bytes()}, {name: "data.tar.gz", content: inner[1].Bytes()}}, r.time)
}

// debian returns a file of an archive where Debian has such files; false for one that the package leaves out.
func debian(f file) (file, bool, error) {
	dir, base := path.Split(f.name)
	switch {
	case f.name == "meridian":
		f.name = "usr/bin/meridian"
	case dir == "man/":
		f.name = "usr/share/man/man1/" + base + ".gz"
	case f.name == "completions/meridian.bash":
		f.name = "usr/share/bash-completion/completions/meridian"
	case f.name == "completions/_meridian":
		f.name = "usr/share/zsh/vendor-completions/_meridian"
	case f.name == "completions/meridian.fish":
		f.name = "usr/share/fish/vendor_completions.d/meridian.fish"
	case dir == "systemd/" && strings.HasSuffix(base, ".service"):
		f.name = "usr/lib/systemd/system/" + base
		f.content = []byte(strings.NewReplacer("/usr/local/bin/meridian", "/usr/bin/meridian", "after: useradd --system meridian", "after: systemd-sysusers").Replace(string(f.content)))
	case dir == "c/" || strings.HasPrefix(dir, "c/meridian/"):
		f.name = "usr/include/" + strings.TrimPrefix(f.name, "c/")
	case f.name == "README.md":
		f.name = "usr/share/doc/meridian/README.md"
	case f.name == "CHANGELOG.md":
		f.name = "usr/share/doc/meridian/changelog.gz"
	case f.name == "LICENSE":
		f.name = "usr/share/doc/meridian/copyright"
	default:
		return f, false, nil
	}
	if !strings.HasSuffix(f.name, ".gz") {
		return f, true, nil
	}
	var b bytes.Buffer
	zipped, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return f, false, err
	}
	if _, err := zipped.Write(f.content); err != nil {
		return f, false, err
	}
	err = zipped.Close()
	f.content = b.Bytes()
	return f, true, err
}

// withFolders names files as dpkg does, from "./", each folder before what is in it: dpkg removes the folders that it has made.
func withFolders(files []file) []file {
	var all []file
	made := make(map[string]bool)
	var folder func(dir string)
	folder = func(dir string) {
		if made[dir] {
			return
		}
		made[dir] = true
		if dir != "." {
			folder(path.Dir(dir))
			all = append(all, file{name: "./" + dir + "/", mode: 0o755})
			return
		}
		all = append(all, file{name: "./", mode: 0o755})
	}
	for _, f := range files {
		folder(path.Dir(f.name))
		f.name = "./" + f.name
		all = append(all, f)
	}
	return all
}

// writeAr writes the members of an archive as ar(1) does: a head of 60 bytes, the content, a newline where its length is odd.
func writeAr(w io.Writer, members []file, at time.Time) error {
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, m := range members {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", m.name, at.Unix(), 0, 0, "100644", len(m.content))
		b.Write(m.content)
		if len(m.content)%2 != 0 {
			b.WriteByte('\n')
		}
	}
	_, err := w.Write(b.Bytes())
	return err
}
