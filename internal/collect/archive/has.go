package archive

import (
	"context"
	"fmt"
	"path"
	"strings"

	"meridian/internal/s3"
)

// maxServers bounds how many indexes of a session are read for [Archive.Has].
const maxServers = 64

// Has returns how many bytes of each file of a host's trace the object store has, from all servers that archive the session. Any goroutine may call it.
func (a *Archive) Has(ctx context.Context, session, host, trace string) (map[string]int64, error) {
	dir := a.dir(session)
	prefix := path.Dir(path.Dir(s3.IndexKey(dir, a.o.Server))) + "/"
	var servers []string
	err := a.o.Client.List(ctx, a.o.Bucket, prefix, func(o s3.Object) error {
		if name, is := strings.CutSuffix(strings.TrimPrefix(o.Key, prefix), "/"); is && len(servers) < maxServers {
			servers = append(servers, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", a.address(session), err)
	}
	have := make(map[string]int64)
	for _, server := range servers {
		data, _, err := a.o.Client.Get(ctx, a.o.Bucket, s3.IndexKey(dir, server), s3.MaxIndex)
		if isMissing(err) {
			continue // it is made, or has expired
		}
		var x *s3.Index
		if err == nil {
			x, err = s3.ParseIndex(data)
		}
		if err != nil {
			return nil, fmt.Errorf("%s, server %s: %w", a.address(session), server, err)
		}
		if h := x.Hosts[host]; h != nil && h.Trace == trace {
			for name, f := range h.Files {
				have[name] = max(have[name], f.Size())
			}
		}
	}
	return have, nil
}
