//go:build !linux

package packet

import (
	"context"
	"errors"
	"fmt"

	"meridian/trace"
)

var errLinux = fmt.Errorf("packets: only Linux has AF_PACKET (%w); capture with tcpdump and align its file", errors.ErrUnsupported)

// Capture is of no use on this system.
type Capture struct{}

// Open says so.
func Open(Options) (*Capture, error)       { return nil, errLinux }
func (c *Capture) Interfaces() []Interface { return nil }
func (c *Capture) Stats() (Stats, error)   { return Stats{}, errLinux }
func (c *Capture) SetOrigin(int64) error   { return errLinux }
func (c *Capture) Close() error            { return nil }

// Read says so too.
func (c *Capture) Read(context.Context, func(*trace.Frame, trace.Direction) error) error {
	return errLinux
}
