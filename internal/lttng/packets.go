package lttng

import (
	"meridian/format/ctf"
	"meridian/internal/kernel"
	"meridian/trace"
)

// Packets reads the trace of a kernel in a directory back, as the packets of a host called "web".
func Packets(dir string, w *trace.Warnings) (*trace.Capture, error) {
	t, err := ctf.Open(dir, w)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return kernel.Packets(t.Events(), "web", dir, w)
}
