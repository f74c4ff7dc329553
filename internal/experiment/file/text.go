package file

import "meridian/internal/yamltext"

// readable returns the text without a byte order mark; false after a problem that the YAML parser would not say well.
func (r *reader) readable(text []byte) ([]byte, bool) {
	text, p := yamltext.Readable(text)
	if p != nil {
		r.problem(Position{p.Line, p.Column}, "%s", p.What)
	}
	return text, p == nil
}
