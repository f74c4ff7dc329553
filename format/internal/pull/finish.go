package pull

import (
	"errors"
	"fmt"
	"io"

	"meridian/format/internal/stream"
	"meridian/trace"
)

// Finish ends the reading of a file. Err is what ended it: nil, io.ErrUnexpectedEOF for a value cut short, or an error of
// syntax. Damage of any kind becomes a warning, since what came before it is used; an error of the operating system is
// returned.
func (r *Reader) Finish(path string, err error, w *trace.Warnings) error {
	r.Peek() // what is compressed has its checksum at the end
	var damage *stream.Damage
	switch {
	case errors.As(r.Err(), &damage):
		if damage.Cut() {
			w.Gap(path, "cut short, what came before is used", damage.Error(), 1)
		} else {
			w.Gap(path, "damaged, what came before is used", damage.Error(), 1)
		}
	case r.Err() != nil:
		return fmt.Errorf("%s: %w", path, r.Err())
	case err == io.ErrUnexpectedEOF:
		w.Gap(path, "cut short, what came before is used", fmt.Sprintf("at offset %d", r.Offset()), 1)
	case err != nil:
		w.Gap(path, "broken JSON, what came before is used", fmt.Sprintf("at offset %d", r.Offset()), 1)
	}
	return nil
}
