package wire

import "fmt"

// MaxRead is how many bytes of a file an answer to [Read] has at most, and MaxSum of how many a checksum is computed.
const (
	MaxRead = 1 << 20
	MaxSum  = 64 << 20
)

// Files is an operator's request for the files of a host in a session. Each server answers.
type Files struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	Host    string `json:"host"`
}

// FileList is the answer.
type FileList struct {
	Version int     `json:"version"`
	Server  string  `json:"server"`
	Trace   string  `json:"trace,omitempty"` // its UUID, "" where the server has nothing of the host
	Files   []State `json:"files,omitempty"`
	Error   string  `json:"error,omitempty"`
}

// From returns the server that answers.
func (l FileList) From() string { return l.Server }

// Read is an operator's request to one server for a range of a file. The answer is a chunk, or with Sum a [State] of which Have is the size of the file and
// Sum the checksum of the range. The metadata is read as a whole.
type Read struct {
	Version int    `json:"version"`
	Session string `json:"session"`
	Host    string `json:"host"`
	File    string `json:"file"`
	Offset  int64  `json:"offset"`
	Length  int64  `json:"length"`
	Sum     bool   `json:"sum,omitempty"`
}

// Check refuses what no operator asks for.
func (r *Read) Check() error {
	most := int64(MaxRead)
	if r.Sum {
		most = MaxSum
	}
	if err := checkRead(r.Version, r.Session, r.Host); err != nil {
		return err
	}
	if err := CheckFile(r.File); err != nil {
		return err
	}
	if r.Offset < 0 || r.Length < 0 || r.Length > most {
		return fmt.Errorf("file %q: %d bytes at offset %d, of which %d are permitted at a time", r.File, r.Length, r.Offset, most)
	}
	return nil
}

// Check refuses what no operator asks for.
func (r *Files) Check() error { return checkRead(r.Version, r.Session, r.Host) }

func checkRead(version int, session, host string) error {
	if version != Version {
		return fmt.Errorf("the command speaks version %d of the protocol, the server %d: update the older one", version, Version)
	}
	if err := CheckSession(session); err != nil {
		return err
	}
	return CheckHost(host)
}
