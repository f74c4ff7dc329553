package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// maxTypos is how many letters of a word may be wrong for the word to be suggested.
const maxTypos = 2

// explainUsage makes a command and those under it name the nearest word for an unknown command or flag.
func explainUsage(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(suggestFlag)
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
	root.SetUsageTemplate(strings.Replace(root.UsageTemplate(), "{{if .Runnable}}", "{{if and .Runnable (not .HasAvailableSubCommands)}}", 1))
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
	hint := "the commands are " + strings.Join(known, ", ")
	if word := nearest(args[0], known); word != "" {
		hint = fmt.Sprintf("did you mean %q?", word)
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
