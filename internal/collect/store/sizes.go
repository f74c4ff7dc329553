package store

import (
	"errors"
	"io/fs"
	"path/filepath"

	"meridian/internal/collect/wire"
)

// Sizes returns the bytes of each session and host, as they are on the disk, of this process and of earlier ones. It looks at each file.
func (s *Store) Sizes() (map[string]map[string]int64, error) {
	sessions, err := s.Sessions()
	if err != nil {
		return nil, err
	}
	out := make(map[string]map[string]int64, len(sessions))
	for session, hosts := range sessions {
		out[session] = make(map[string]int64, len(hosts))
		for _, host := range hosts {
			if out[session][host], err = s.size(s.Dir(session, host)); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

func (s *Store) size(dir string) (bytes int64, err error) {
	for _, folder := range []string{"", wire.Folder} {
		entries, err := s.disk.ReadDir(filepath.Join(dir, folder))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return 0, err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || wire.CheckFile(e.Name()) != nil {
				continue
			}
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				continue // replaced meanwhile
			} else if err != nil {
				return 0, err
			}
			bytes += info.Size()
		}
	}
	return bytes, nil
}
