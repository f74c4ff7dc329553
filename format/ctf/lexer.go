package ctf

import (
	"fmt"
	"strings"
)

// token is a word of TSDL.
type token struct {
	kind   tokenKind
	text   string // a name or a sign as it stands; a text without its quotes and escapes; of a bad one what is wrong
	number uint64
	line   int
	at     int // where it starts, bytes into the text
}

type tokenKind uint8

const (
	tokenEnd tokenKind = iota
	tokenName
	tokenNumber
	tokenText
	tokenSign // one of { } [ ] ( ) < > ; : , . = * + - and := ... ->
	tokenBad
)

// tornMark stands in the text where a packet of the metadata is missing: no declaration may go on beyond it.
const tornMark = '\x1a'

// lexer cuts TSDL into tokens: C's comments, texts and numbers.
type lexer struct {
	src  string
	at   int
	line int
	// The next end of a comment and the next torn mark, -1 not looked for: many comments without end are not many
	// looks through the whole text.
	commentEnd, torn int
}

func newLexer(src string) lexer { return lexer{src: src, line: 1, commentEnd: -1, torn: -1} }

// following returns the index of the next occurrence of what from the given index on; *known caches it.
func (l *lexer) following(what string, from int, known *int) int {
	if *known < from {
		if *known = len(l.src); from <= len(l.src) {
			if n := strings.Index(l.src[from:], what); n >= 0 {
				*known = from + n
			}
		}
	}
	return *known
}

func (l *lexer) next() token {
	if bad, ok := l.skipBlanks(); !ok {
		return bad
	}
	t := token{line: l.line, at: l.at}
	if l.at >= len(l.src) {
		return t
	}
	c := l.src[l.at]
	switch {
	case isNameByte(c) && !isDigit(c):
		for l.at < len(l.src) && isNameByte(l.src[l.at]) {
			l.at++
		}
		t.kind, t.text = tokenName, l.src[t.at:l.at]
	case isDigit(c):
		l.number(&t)
	case c == '"' || c == '\'':
		l.quoted(&t)
	default:
		l.sign(&t)
	}
	return t
}

// skipBlanks leaves the lexer at the next token; not ok is a comment without an end.
func (l *lexer) skipBlanks() (bad token, ok bool) {
	for l.at < len(l.src) {
		switch c := l.src[l.at]; {
		case c == '\n':
			l.line++
			l.at++
		case c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == 0: // some writers pad with NUL
			l.at++
		case strings.HasPrefix(l.src[l.at:], "//"):
			for l.at < len(l.src) && l.src[l.at] != '\n' {
				l.at++
			}
		case strings.HasPrefix(l.src[l.at:], "/*"):
			end := l.following("*/", l.at+2, &l.commentEnd)
			if end >= len(l.src) || end > l.following(string(tornMark), l.at, &l.torn) {
				bad = token{kind: tokenBad, text: "unterminated comment", line: l.line, at: l.at}
				l.at += 2 // so that the search for the next declaration finds it
				return bad, false
			}
			l.line += strings.Count(l.src[l.at:end], "\n")
			l.at = end + 2
		default:
			return token{}, true
		}
	}
	return token{}, true
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isNameByte(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || isDigit(c)
}

// number reads 10, 0x1F, 017, 0b11, each with any of C's suffixes.
func (l *lexer) number(t *token) {
	start := l.at
	for l.at < len(l.src) && isNameByte(l.src[l.at]) {
		l.at++
	}
	whole := l.src[start:l.at]
	digits, base := strings.TrimRight(whole, "uUlL"), uint64(10)
	if len(digits) > 1 && digits[0] == '0' {
		switch digits[1] {
		case 'x', 'X':
			digits, base = digits[2:], 16
		case 'b', 'B':
			digits, base = digits[2:], 2
		default:
			digits, base = digits[1:], 8
		}
	}
	t.kind = tokenNumber
	if digits == "" {
		t.kind, t.text = tokenBad, fmt.Sprintf("invalid number %.40q", whole)
	}
	for i := 0; i < len(digits); i++ {
		d := digitOf(digits[i])
		if d >= base {
			t.kind, t.text = tokenBad, fmt.Sprintf("invalid number %.40q", whole)
			return
		}
		if t.number > (1<<64-1-d)/base {
			t.kind, t.text = tokenBad, fmt.Sprintf("number %.40q exceeds 64 bits", whole)
			return
		}
		t.number = t.number*base + d
	}
}

// digitOf returns the value of a digit, more than any base for other characters.
func digitOf(c byte) uint64 {
	switch {
	case isDigit(c):
		return uint64(c - '0')
	case c >= 'a' && c <= 'f':
		return uint64(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return uint64(c-'A') + 10
	}
	return 255
}

// quoted reads "a text", or 'c', which is a number. Neither goes on in the next line: a quote lost to damage shall
// not swallow what follows.
func (l *lexer) quoted(t *token) {
	quote := l.src[l.at]
	l.at++
	start := l.at
	for l.at < len(l.src) && l.src[l.at] != quote && l.src[l.at] != '\n' && l.src[l.at] != tornMark {
		if l.src[l.at] == '\\' && l.at+1 < len(l.src) && l.src[l.at+1] != '\n' {
			l.at++
		}
		l.at++
	}
	if l.at >= len(l.src) || l.src[l.at] != quote {
		t.kind, t.text = tokenBad, "unterminated string literal"
		return
	}
	t.kind, t.text = tokenText, unescape(l.src[start:l.at])
	l.at++
	if quote == '\'' {
		if len(t.text) != 1 {
			t.kind, t.text = tokenBad, "character constant is not one byte"
			return
		}
		t.kind, t.number = tokenNumber, uint64(t.text[0])
	}
}

// unescape undoes C's escapes; one that C does not know stands for its second character.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	const letters, meant = "abfnrtve", "\a\b\f\n\r\t\v\x1b"
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			out = append(out, s[i])
			continue
		}
		i++
		base, most := uint64(8), 3
		if s[i] == 'x' && i+1 < len(s) && digitOf(s[i+1]) < 16 {
			base, most = 16, 2
			i++
		}
		n, used := uint64(0), 0
		for used < most && i+used < len(s) && digitOf(s[i+used]) < base {
			n = n*base + digitOf(s[i+used])
			used++
		}
		switch k := strings.IndexByte(letters, s[i]); {
		case used > 0:
			out = append(out, byte(n))
			i += used - 1
		case k >= 0:
			out = append(out, meant[k])
		default:
			out = append(out, s[i])
		}
	}
	return string(out)
}

func (l *lexer) sign(t *token) {
	t.kind = tokenSign
	for _, s := range [...]string{"...", ":=", "->"} {
		if strings.HasPrefix(l.src[l.at:], s) {
			t.text = s
			l.at += len(s)
			return
		}
	}
	t.text = l.src[l.at : l.at+1]
	l.at++
	if strings.Contains("{}[]()<>;:,.=*+-", t.text) {
		return
	}
	t.kind = tokenBad
	if t.text[0] == tornMark {
		t.text = "part of the metadata is missing here"
	} else {
		t.text = fmt.Sprintf("unexpected character %q", t.text)
	}
}
