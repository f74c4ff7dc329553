package spool

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// ReleasedFile has a line of JSON for each file that is gone and of which servers had something. It is only added to: the account of a long
// recording would grow by each file that was ever there, and is written once a second.
//
//	DIR/.released   {"version":1,"trace":"UUID"}
//	                {"file":"sensor_3_web_0_17","bytes":8388608,"packets":2048,"servers":["a","b"]}
//
// Of a file with several lines the last counts.
const ReleasedFile = ".released"

// Limits of what is read of the file.
const (
	maxReleasedLine = 64 << 10 // bytes
	maxReleased     = 1 << 20  // files
)

// Released is what servers had of a file when it was gone.
type Released struct {
	File    string   `json:"file"`
	Bytes   int64    `json:"bytes"`   // from its beginning
	Packets int64    `json:"packets"` // in these, or fewer
	Servers []string `json:"servers"`
}

type releasedHead struct {
	Version int    `json:"version"`
	Trace   string `json:"trace"`
}

// ReadReleased returns what was released of a trace, by file. A line that a killed process or a full disk cut off is left out.
func ReadReleased(dir, trace string) (map[string]Released, error) {
	files := make(map[string]Released)
	f, err := os.Open(filepath.Join(dir, ReleasedFile))
	if errors.Is(err, os.ErrNotExist) {
		return files, nil
	} else if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, maxReleasedLine)
	if !lines.Scan() || !isOf(lines.Bytes(), trace) {
		return files, lines.Err()
	}
	for lines.Scan() {
		var x Released
		if json.Unmarshal(lines.Bytes(), &x) != nil || x.File == "" || x.Bytes < 0 || x.Packets < 0 {
			continue
		}
		if files[x.File] = x; len(files) > maxReleased {
			return nil, fmt.Errorf("%s: more than %d files, which no server stores", f.Name(), maxReleased)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return files, nil
}

func isOf(head []byte, trace string) bool {
	var h releasedHead
	return json.Unmarshal(head, &h) == nil && h.Version == version && h.Trace == trace
}

// AddReleased adds files of a trace. What the file has of another trace goes.
func AddReleased(dir, trace string, files []Released) (err error) {
	f, err := os.OpenFile(filepath.Join(dir, ReleasedFile), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	head := make([]byte, 512)
	n, err := f.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return err
	}
	line, _, whole := bytes.Cut(head[:n], []byte{'\n'})
	var out []byte
	at := int64(0)
	if whole && isOf(line, trace) {
		info, err := f.Stat()
		if err != nil {
			return err
		}
		at = info.Size()
		last := make([]byte, 1)
		if _, err := f.ReadAt(last, at-1); err != nil {
			return err
		}
		if last[0] != '\n' {
			out = append(out, '\n') // behind a line that was cut off
		}
	} else {
		if err := f.Truncate(0); err != nil {
			return err
		}
		out = appendLine(out, releasedHead{version, trace})
	}
	for _, x := range files {
		out = appendLine(out, x)
	}
	_, err = f.WriteAt(out, at)
	return err
}

func appendLine(to []byte, v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // of these types none can fail
	}
	return append(append(to, b...), '\n')
}
