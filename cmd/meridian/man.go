package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newMan is hidden: packages and releases call it, users have the pages from these.
func newMan() *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages of all commands",
		Long:   "Write the manual pages of all commands into DIR, made if missing, a file for each, from what --help prints. The same program writes the same bytes.",
		Hidden: true,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return wrong("man: give one directory")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return writeMan(cmd.Root(), args[0]) },
	}
}

// writeMan writes the pages of a command and of all under it that are not hidden.
func writeMan(cmd *cobra.Command, dir string) error {
	name := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, name+".1"), manPage(cmd), 0o644); err != nil {
		return err
	}
	for _, sub := range manual(cmd) {
		if err := writeMan(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// manual returns the commands under a command that have a page.
func manual(cmd *cobra.Command) (pages []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			pages = append(pages, sub)
		}
	}
	return pages
}

// manPage returns the page of a command in roff, man(7): name, synopsis, description, options, examples, other pages. It has no date, so that a release can be
// built again.
func manPage(cmd *cobra.Command) []byte {
	var b bytes.Buffer
	path := strings.ReplaceAll(cmd.CommandPath(), " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s \"Meridian\"\n", quoted(strings.ToUpper(path)), quoted("meridian "+thisBuild().Version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n.nf\n", roff(path), roff(cmd.Short))
	if len(manual(cmd)) > 0 {
		fmt.Fprintf(&b, "%s\n", roff(cmd.CommandPath()+" COMMAND"))
	}
	if cmd.Runnable() && !cmd.HasAvailableSubCommands() || cmd.Flags().HasAvailableFlags() && cmd.HasParent() {
		fmt.Fprintf(&b, "%s\n", roff(cmd.UseLine()))
	}
	b.WriteString(".fi\n.SH DESCRIPTION\n")
	paragraphs(&b, cmd.Long)
	if subs := manual(cmd); len(subs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range subs {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
		}
	}
	if cmd.LocalFlags().HasAvailableFlags() || cmd.InheritedFlags().HasAvailableFlags() {
		b.WriteString(".SH OPTIONS\n")
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { option(&b, f) })
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { option(&b, f) })
	}
	if cmd.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(strings.TrimRight(cmd.Example, "\n")))
	}
	var others []string
	if cmd.HasParent() {
		others = append(others, strings.ReplaceAll(cmd.Parent().CommandPath(), " ", "-"))
	}
	for _, sub := range manual(cmd) {
		others = append(others, path+"-"+sub.Name())
	}
	for i, other := range others {
		others[i] = fmt.Sprintf(".BR %s (1)", roff(other))
	}
	if len(others) > 0 {
		fmt.Fprintf(&b, ".SH SEE ALSO\n%s\n", strings.Join(others, ",\n"))
	}
	return b.Bytes()
}

// option writes a flag with what it does and its default.
func option(b *bytes.Buffer, f *pflag.Flag) {
	if f.Hidden {
		return
	}
	value, text := pflag.UnquoteUsage(f)
	name := "--" + f.Name
	if f.Shorthand != "" && f.ShorthandDeprecated == "" {
		name = "-" + f.Shorthand + ", " + name
	}
	switch {
	case value != "" && f.NoOptDefVal != "" && f.Value.Type() != "bool":
		value = "[=" + value + "]"
	case value != "":
		value = " " + value
	}
	fmt.Fprintf(b, ".TP\n\\fB%s\\fR%s\n%s", roff(name), roff(value), roff(text))
	switch f.DefValue {
	case "", "0", "0s", "false", "[]":
	default:
		if !strings.Contains(text, "(default") {
			fmt.Fprintf(b, " (default %s)", roff(f.DefValue))
		}
	}
	b.WriteByte('\n')
}

// paragraphs writes a text: paragraphs are filled, indented lines stay as they are.
func paragraphs(b *bytes.Buffer, text string) {
	asIs := false
	for i, line := range strings.Split(strings.TrimSpace(text), "\n") {
		indented := strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t")
		switch {
		case strings.TrimSpace(line) == "":
			if asIs {
				b.WriteString(".fi\n")
				asIs = false
			}
			b.WriteString(".PP\n")
			continue
		case indented && !asIs:
			b.WriteString(".nf\n")
			asIs = true
		case !indented && asIs && i > 0:
			b.WriteString(".fi\n")
			asIs = false
		}
		b.WriteString(roff(line) + "\n")
	}
	if asIs {
		b.WriteString(".fi\n")
	}
}

// roff escapes a text, line by line: backslashes, hyphens that are to stay ASCII, and what would begin a request.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

// quoted is an argument of a request.
func quoted(text string) string { return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"` }
