// Command shop is the part of an example shop that is written in Go: its tills of the front end, and the workers that take their orders.
// experiment.yaml beside it starts all parts; docs/shop.md tells what to look for.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const usage = "usage: shop till --nats URL [--orders N] [--first N] [--every TIME]\n       shop worker --nats URL --redis HOST:PORT --bank URL"

// settings are what the command line says, of both parts.
type settings struct {
	nats, redis, bank string
	orders, first     int
	every             time.Duration
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "shop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	parts := map[string]func(context.Context, settings) error{"till": till, "worker": worker}
	if len(args) == 0 || parts[args[0]] == nil {
		return errors.New(usage)
	}
	var s settings
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.StringVar(&s.nats, "nats", "nats://127.0.0.1:4222", "the broker")
	flags.StringVar(&s.redis, "redis", "127.0.0.1:6379", "where locks and stock are kept")
	flags.StringVar(&s.bank, "bank", "http://127.0.0.1:8000", "who takes the money")
	flags.IntVar(&s.orders, "orders", 40, "customers, one order each")
	flags.IntVar(&s.first, "first", 0, "number of the first order")
	flags.DurationVar(&s.every, "every", 30*time.Millisecond, "a customer comes so often, if the one before has been served")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	return parts[args[0]](ctx, s)
}
