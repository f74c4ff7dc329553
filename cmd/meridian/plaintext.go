package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"golang.org/x/term"
)

// plainText writes text without what steers a terminal or turns the direction of a line. Paths, names and reasons in messages come
// from traces and directories that anybody may have written. It is not for what other programs write: a rune that is cut in two by
// two writes is lost.
type plainText struct{ to io.Writer }

func (p *plainText) Write(b []byte) (int, error) {
	text := strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' {
			return c
		}
		return printable(c)
	}, string(b))
	if _, err := io.WriteString(p.to, text); err != nil {
		return 0, err
	}
	return len(b), nil
}

// underneath returns where plain text is written, for what is drawn on a terminal and for other programs.
func underneath(w io.Writer) io.Writer {
	if p, ok := w.(*plainText); ok {
		return p.to
	}
	return w
}

// forTerminal returns a writer of plain text where w is a terminal. Files and pipes get the bytes as they are.
func forTerminal(w io.Writer) io.Writer {
	if file, ok := w.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		return &plainText{file}
	}
	return w
}

// tell writes a message. Its further lines are indented, so that a name with a newline is not taken for another message.
func tell(w io.Writer, kind string, message any) {
	fmt.Fprintf(w, "meridian: %s%s\n", kind, strings.ReplaceAll(fmt.Sprint(message), "\n", "\n  "))
}

// printable replaces control characters and those that turn a text's direction: names come from programs and files of others.
func printable(c rune) rune {
	if !unicode.IsPrint(c) {
		return '?'
	}
	return c
}
