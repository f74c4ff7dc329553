// Package captures lets an operator align captures that stay at the agents of their hosts. An agent reads a capture that its list of directories
// permits, reduces it (package reduced), and sends that.
//
//	operator                              agent
//	  {"op":"list","path":P}     -->        {"files":[{"path","size"}]} or {"refused":why}
//	  {"op":"read","path":F,...} -->        {} and a reduced capture, or {"refused":why}
//
// Each line is JSON on a stream (package tunnel); a request is answered before the next is read. A path is absolute, and the agent opens it below one
// of its directories alone: neither .. nor symbolic links lead out (os.Root).
//
// The cost at the agent is that of reading the capture, and 40 bytes of memory a packet until it is sent.
package captures

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Operations of requests.
const (
	opList = "list"
	opRead = "read"
)

// maxLine is the length of a line beyond which it is damage, bytes.
const maxLine = 4 << 20

// request is what an operator asks for.
type request struct {
	Op   string `json:"op"`
	Path string `json:"path"`
	Name string `json:"name,omitempty"` // read: of the file in warnings
}

// answer precedes what is asked for, or says why that does not come.
type answer struct {
	Refused string `json:"refused,omitempty"`
	Files   []File `json:"files,omitempty"`
}

// File is a capture at an agent.
type File struct {
	Path string `json:"path"`
	Size int64  `json:"size"` // bytes
}

// RefusedError is an agent's word that it does not give a capture.
type RefusedError struct{ Host, Why string }

func (e *RefusedError) Error() string { return fmt.Sprintf("the agent of %q: %s", e.Host, e.Why) }

// writeLine writes a value as a line.
func writeLine(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

// readLine reads a line into a value. An end before it is io.EOF.
func readLine(r *bufio.Reader, v any) error {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if line = append(line, part...); len(line) > maxLine {
			return fmt.Errorf("a line of more than %d bytes", maxLine)
		}
		if err == nil {
			break
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
	return json.Unmarshal(line, v)
}
