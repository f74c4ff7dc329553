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
	keep    time.Duration
	expire  time.Duration
}

func (f *archiveFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.address, "archive", "", "put what is stored into an object store too, below `s3://BUCKET/PREFIX`")
	flags.DurationVar(&f.age, "archive-age", time.Minute, "put a file to its end when it has not grown for `TIME`, from 1s to 24h")
	flags.DurationVar(&f.keep, "archive-keep", 0, "remove from DIR what is archived when nothing has come for `TIME`, 1m or more (default: never)")
	flags.DurationVar(&f.expire, "archive-expire", 0, "remove archives that are no more in DIR when nothing was added for `TIME`, 1h or more (default: never)")
	completions(cmd, map[string]cobra.CompletionFunc{"archive-keep": choices("1h", "24h"), "archive-expire": choices("720h", "8760h"), "archive": choices("s3://"), "archive-age": choices("10s", "1m", "10m")})
}

// options returns where to archive, nil if nowhere.
func (f *archiveFlags) options() (*archive.Options, error) {
	if f.age < time.Second || f.age > 24*time.Hour {
		return nil, wrong("--archive-age %v: want a time from 1s to 24h", f.age)
	}
	if f.keep != 0 && f.keep < time.Minute {
		return nil, wrong("--archive-keep %v: want a time of 1m or more", f.keep)
	}
	if f.expire != 0 && f.expire < time.Hour {
		return nil, wrong("--archive-expire %v: want a time of 1h or more", f.expire)
	}
	if f.address == "" {
		if f.keep != 0 || f.expire != 0 {
			return nil, wrong("--archive-keep and --archive-expire need --archive")
		}
		return nil, nil
	}
	o := archive.Options{Age: f.age, Keep: f.keep, Expire: f.expire}
	var err error
	if o.Bucket, o.Prefix, err = s3.Location(f.address); err != nil {
		return nil, wrong("--archive: %v", err)
	}
	o.Client, err = s3.FromEnvironment()
	return &o, err
}
