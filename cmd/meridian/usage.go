package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxTypos is how many letters of a word may be wrong for the word to be suggested.
const maxTypos = 2

// explainUsage makes a command and those under it name the nearest word for an unknown command or flag.
func explainUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(explainFlag)
	if cmd.HasAvailableSubCommands() {
		cmd.Args = suggestCommand
		if cmd.Run == nil && cmd.RunE == nil { // cobra's completion: without this, cobra ignores an unknown subcommand
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
	switch {
	case cmd.Name() == "help":
		cmd.Args = helpTopic
	case cmd.HasParent() && cmd.Parent().Name() == "completion":
		cmd.Args = noArguments
	}
	for _, sub := range cmd.Commands() {
		explainUsage(sub)
	}
}

// oneUsageLine makes the help of a command with subcommands say "meridian clock [command]" alone: cobra prints the line of a
// command that can be run too, although these only print their help.
func oneUsageLine(root *cobra.Command) {
	text := strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1)
	cobra.AddTemplateFunc("flagUsages", flagUsages)
	root.SetUsageTemplate(strings.ReplaceAll(text, ".LocalFlags.FlagUsages", "flagUsages .LocalFlags"))
}

// optionalValue is a flag with an optional value as pflag writes it: --packets INTERFACES[=any].
var optionalValue = regexp.MustCompile(`(--[a-z-]+) (\S+)\[=[^\]\n]*\]`)

// flagUsages is the list of flags, with an optional value as it must be written: --packets[=INTERFACES]. The columns stay.
func flagUsages(flags *pflag.FlagSet) string {
	return optionalValue.ReplaceAllStringFunc(flags.FlagUsages(), func(flag string) string {
		return fmt.Sprintf("%-*s", len(flag), optionalValue.ReplaceAllString(flag, "$1[=$2]"))
	})
}

// helpOf returns the command line that prints the help for wrong usage of a command.
func helpOf(cmd *cobra.Command) string {
	if cmd.Name() == "help" { // its own help says nothing about topics
		cmd = cmd.Root()
	}
	return cmd.CommandPath() + " --help"
}

// suggestCommand refuses arguments of a command that only has subcommands.
func suggestCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			known = append(known, sub.Name())
		}
	}
	list := "the commands are " + strings.Join(known, ", ")
	if cmd.Name() == "completion" {
		list = "the shells are " + strings.Join(known, ", ")
	}
	hint := list
	if word := nearest(args[0], known); word != "" {
		hint = fmt.Sprintf("did you mean %q?", word)
		if cmd.Name() == "completion" { // another shell is no typo
			hint += " " + list
		}
	}
	return fmt.Errorf("unknown command %q for %q; %s", args[0], cmd.CommandPath(), hint)
}

// helpTopic refuses arguments of help that name no command.
func helpTopic(cmd *cobra.Command, args []string) error {
	about, rest, err := cmd.Root().Find(args)
	if err == nil && len(rest) > 0 && about.HasAvailableSubCommands() {
		return suggestCommand(about, rest)
	}
	return err
}

// noArguments refuses arguments of a command that takes flags only.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("unexpected argument %q: %s takes only flags", args[0], cmd.CommandPath())
	}
	return nil
}

// explainFlag says what a flag wants instead of a value that is none, and which flag may be meant by an unknown one.
func explainFlag(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return suggestFlag(cmd, err)
	}
	flag := invalid.GetFlag()
	want := map[string]string{
		"float64": "a number", "int": "a whole number", "uint64": "a whole number, not negative",
		"duration": "a time such as 20us, 1.5s or 30m", "bool": "true or false",
	}[flag.Value.Type()]
	if want == "" {
		return err
	}
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("invalid argument %q for --%s: out of range", invalid.GetValue(), flag.Name)
	}
	return fmt.Errorf("invalid argument %q for --%s: want %s", invalid.GetValue(), flag.Name, want)
}

// suggestFlag adds the nearest flag to the error about an unknown one.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return err
	}
	var known []string
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			known = append(known, f.Name)
		}
	})
	if word := nearest(unknown.GetSpecifiedName(), known); word != "" {
		return fmt.Errorf("%w; did you mean --%s?", err, word)
	}
	return err
}

// nearest returns the known word with the fewest typos, the first of several; "" if all have more than maxTypos or
// share less than half of their letters with the given one.
func nearest(word string, known []string) (best string) {
	limit := min(maxTypos, len(word)/2)
	for _, k := range known {
		if n := typos(word, k); n <= limit {
			best, limit = k, n-1
		}
	}
	return best
}

// typos returns how many letters must be inserted, dropped, replaced or swapped with their neighbour to turn one word into
// another (the optimal string alignment distance). The cost is the product of the lengths.
func typos(a, b string) int {
	width := len(b) + 1
	cost := make([]int, (len(a)+1)*width)
	for i := range len(a) + 1 {
		for j := range width {
			switch {
			case i == 0 || j == 0:
				cost[i*width+j] = i + j
				continue
			case a[i-1] == b[j-1]:
				cost[i*width+j] = cost[(i-1)*width+j-1]
				continue
			}
			near := []int{cost[(i-1)*width+j], cost[i*width+j-1], cost[(i-1)*width+j-1]}
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				near = append(near, cost[(i-2)*width+j-2])
			}
			cost[i*width+j] = 1 + slices.Min(near)
		}
	}
	return cost[len(cost)-1]
}

// plainUsage takes the quotes from the names of values in the descriptions of flags. Help needs the quotes; shells, which
// complete flags, show them as they are.
func plainUsage(cmd *cobra.Command) {
	plain := func(f *pflag.Flag) { f.Usage = strings.ReplaceAll(f.Usage, "`", "") }
	cmd.Flags().VisitAll(plain)
	cmd.PersistentFlags().VisitAll(plain)
	for _, sub := range cmd.Commands() {
		plainUsage(sub)
	}
}
