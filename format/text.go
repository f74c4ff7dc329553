package format

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

type verdict int

const (
	perhaps verdict = iota
	yes
)

// isText tells text by what it does not hold: control characters and broken UTF-8. The last rune of what was looked at
// may be cut.
func isText(head []byte, whole bool) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		if r == utf8.RuneError && n <= 1 {
			return !whole && !utf8.FullRune(head)
		}
		if r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f' || r == 0x7f {
			return false
		}
		head = head[n:]
	}
	return true
}

// isList looks for lines of a message list: messages, collectives and broadcasts, between comments and after perhaps a line
// with a single number. Reading leaves bad lines out, so some are forgiven here too, such as a line of headings; but most
// must be good. It returns the first bad one.
func isList(head []byte, whole bool) (string, verdict) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	count, good, bad, first := false, 0, 0, ""
	for len(head) > 0 {
		line, rest, ended := bytes.Cut(head, []byte("\n"))
		if !ended && !whole {
			break // cut by how far we looked
		}
		head = rest
		text, _, _ := strings.Cut(string(line), "#")
		fields := strings.Fields(text)
		switch {
		case len(fields) == 0:
		case len(fields) == 1 && !count && isNumber(fields[0]):
			count = true
		case isListed(fields):
			good++
		default:
			if bad++; bad == 1 {
				first = clip(string(line))
			}
		}
	}
	if good > 0 && good >= bad {
		return "", yes
	}
	return first, perhaps
}

// isListed knows the lines of a list: FROM TO SENT RECEIVED, @collective NAME HOST ENTERED LEFT, and @broadcast NAME HOST
// RECEIVED, of which those in seconds are numbers.
func isListed(fields []string) bool {
	switch {
	case fields[0] == "@collective":
		return len(fields) == 5 && isNumber(fields[3]) && isNumber(fields[4])
	case fields[0] == "@broadcast":
		return len(fields) == 4 && isNumber(fields[3])
	}
	return len(fields) == 4 && isNumber(fields[2]) && isNumber(fields[3])
}

func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil && strings.ContainsAny(s, "0123456789")
}

// isJSON reports whether a text begins as JSON of an object, or of an array of objects, does.
func isJSON(head []byte) bool {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	first, rest := firstOf(head)
	second, _ := firstOf(rest)
	return first == '{' && (second == '"' || second == '}') || first == '[' && (second == '{' || second == ']')
}

// firstOf returns the first byte that is no space, and what is behind it; 0 without any.
func firstOf(text []byte) (byte, []byte) {
	text = bytes.TrimLeft(text, " \t\r\n")
	if len(text) == 0 {
		return 0, nil
	}
	return text[0], text[1:]
}

func clip(s string) string {
	s = strings.TrimRight(s, "\r")
	if len(s) > 60 {
		return s[:60] + "..."
	}
	return s
}

// isListName knows the extensions that people give to message lists.
func isListName(extension string) bool {
	switch extension {
	case ".txt", ".messages", ".msg", ".msgs", ".list", ".dat", ".log":
		return true
	}
	return false
}
