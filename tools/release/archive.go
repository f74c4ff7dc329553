package main

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"io"
	"path"
	"slices"
	"time"
)

// file is a file of an archive. Its name has slashes, and none at the beginning.
type file struct {
	name    string
	content []byte
	mode    int64 // 0 stands for 0644
}

func (f *file) permissions() int64 { return cmp.Or(f.mode, 0o644) }

// below returns files in the order of their names, in a directory.
func below(dir string, files []file) []file {
	all := slices.Clone(files)
	for i := range all {
		all[i].name = path.Join(dir, all[i].name)
	}
	slices.SortFunc(all, func(a, b file) int { return cmp.Compare(a.name, b.name) })
	return all
}

// writeTarGz writes an archive of files that belong to root.
func writeTarGz(w io.Writer, files []file, at time.Time) error {
	zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression) // its header has neither a name nor a time
	if err != nil {
		return err
	}
	out := tar.NewWriter(zipped)
	for _, f := range files {
		err := out.WriteHeader(&tar.Header{Name: f.name, Mode: f.permissions(), Size: int64(len(f.content)), ModTime: at, Uname: "root", Gname: "root", Format: tar.FormatGNU})
		if err != nil {
			return err
		}
		if _, err := out.Write(f.content); err != nil {
			return err
		}
	}
	if err := out.Close(); err != nil {
		return err
	}
	return zipped.Close()
}

// writeZip writes an archive for Windows.
func writeZip(w io.Writer, files []file, at time.Time) error {
	out := zip.NewWriter(w)
	for _, f := range files {
		to, err := out.CreateHeader(&zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at})
		if err != nil {
			return err
		}
		if _, err := to.Write(f.content); err != nil {
			return err
		}
	}
	return out.Close()
}
