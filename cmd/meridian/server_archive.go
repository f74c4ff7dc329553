package main

import (
	"time"

	"github.com/spf13/cobra"

	"meridian/internal/collect/archive"
	"meridian/internal/s3"
)

// archiveFlags is what the command line says of the archive.
type archiveFlags struct {
	address string
	age     time.Duration
}

func (f *archiveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.address, "archive", "", "put what is stored into an object store too, below `s3://BUCKET/PREFIX`")
	flags.DurationVar(&f.age, "archive-age", time.Minute, "put a file to its end when it has not grown for `TIME`, from 1s to 24h")
	completions(cmd, map[string]cobra.CompletionFunc{"archive": choices("s3://"), "archive-age": choices("10s", "1m", "10m")})
}

// options returns where to archive, nil if nowhere.
func (f *archiveFlags) options() (*archive.Options, error) {
	if f.age < time.Second || f.age > 24*time.Hour {
		return nil, wrong("--archive-age %v: want a time from 1s to 24h", f.age)
	}
	if f.address == "" {
		return nil, nil
	}
	o := archive.Options{Age: f.age}
	var err error
	if o.Bucket, o.Prefix, err = s3.Location(f.address); err != nil {
		return nil, wrong("--archive: %v", err)
	}
	o.Client, err = s3.FromEnvironment()
	return &o, err
}
