package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
	"golang.org/x/sync/errgroup"

	"meridian/internal/collect/wire"
)

// atOnce is how many ranges are on their way at a time.
const atOnce = 4

// answerWithin is how long a server takes to answer at most.
const answerWithin = 20 * time.Second

// Host is what is fetched.
type Host struct {
	Conn    *nats.Conn
	Session string
	Name    string
	Lists   []wire.FileList                  // of servers that have something of the trace: each file is fetched from the one that has most of it
	From    []string                         // servers from which something was fetched, once it was
	Out     string                           // directory in which the host's is made
	Told    func(done, total int64)          // how far it is
	Log     func(format string, args ...any) // lines for people
}

// Dir returns the directory of the host when it is whole.
func (h *Host) Dir() string { return filepath.Join(h.Out, h.Name) }

// Run fetches the host. What an earlier attempt has left is compared with what the server has, and gone on with.
func (h *Host) Run(ctx context.Context) (bytes int64, err error) {
	if _, err := os.Lstat(h.Dir()); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s is there already: name another directory with -o", h.Dir())
	}
	partial := filepath.Join(h.Out, "."+h.Name+".partial")
	if err := h.prepare(partial); err != nil {
		return 0, err
	}
	parts, err := merge(h.Lists)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	var metadata string
	h.From = nil
	for _, f := range parts {
		if f.Name == wire.Metadata {
			metadata = f.server
		}
		h.From = append(h.From, f.server)
		total += f.Have
	}
	slices.Sort(h.From)
	h.From = slices.Compact(h.From)
	if metadata == "" {
		return 0, fmt.Errorf("no server has the metadata of host %s yet", h.Name)
	}
	for _, f := range parts {
		if f.Name == wire.Metadata {
			continue
		}
		if err := h.file(ctx, partial, f, func(n int64) { bytes += n; h.Told(bytes, total) }); err != nil {
			return bytes, fmt.Errorf("%s of host %s: %w; the same command goes on from here", f.Name, h.Name, err)
		}
	}
	if err := h.metadata(ctx, partial, metadata); err != nil {
		return bytes, err
	}
	if err := removeOthers(partial, parts); err != nil {
		return bytes, err
	}
	return bytes, os.Rename(partial, h.Dir())
}

// prepare makes the directory, or empties one that has another trace.
func (h *Host) prepare(partial string) error {
	mark := filepath.Join(partial, traceFile)
	if b, err := os.ReadFile(mark); err == nil && string(bytes.TrimSpace(b)) != h.Lists[0].Trace {
		if err := os.RemoveAll(partial); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Join(partial, wire.Folder), 0o777); err != nil {
		return err
	}
	return os.WriteFile(mark, []byte(h.Lists[0].Trace+"\n"), 0o666)
}

// removeOthers removes files that an earlier attempt has left and that the server does not have any more, and an empty folder.
func removeOthers(partial string, files []part) error {
	there, err := wire.List(partial, os.ReadDir)
	if err != nil {
		return err
	}
	wanted := map[string]bool{}
	for _, f := range files {
		wanted[f.Name] = true
	}
	for _, name := range there {
		if !wanted[name] {
			if err := os.Remove(filepath.Join(partial, filepath.FromSlash(name))); err != nil {
				return err
			}
		}
	}
	if entries, err := os.ReadDir(filepath.Join(partial, wire.Folder)); err == nil && len(entries) == 0 {
		return os.Remove(filepath.Join(partial, wire.Folder))
	}
	return nil
}

// file fetches a file up to a size. told is called with bytes that are there.
func (h *Host) file(ctx context.Context, partial string, want part, told func(int64)) (err error) {
	f, err := os.OpenFile(filepath.Join(partial, filepath.FromSlash(want.Name)), os.O_RDWR|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	have, err := h.resume(ctx, f, want)
	if err != nil {
		return err
	}
	told(have)
	step := min(int64(wire.MaxRead), h.Conn.MaxPayload()-int64(wire.MaxOverhead))
	if step < 4096 {
		return fmt.Errorf("the broker permits messages of %d bytes: set its max_payload to 64 KiB or more", h.Conn.MaxPayload())
	}
	for at := have; at < want.Have; {
		ranges, err := h.ranges(ctx, want, at, step)
		if err != nil {
			return err
		}
		for _, b := range ranges {
			if _, err := f.WriteAt(b, at); err != nil {
				return err
			}
			at += int64(len(b))
			told(int64(len(b)))
		}
	}
	return f.Sync()
}

// ranges returns some ranges of a file from an offset on, which are asked for at once.
func (h *Host) ranges(ctx context.Context, of part, at, step int64) ([][]byte, error) {
	count := int(min(atOnce, (of.Have-at+step-1)/step))
	out := make([][]byte, count)
	all, asked := errgroup.WithContext(ctx)
	for i := range count {
		from := at + int64(i)*step
		n := min(step, of.Have-from)
		all.Go(func() (err error) {
			out[i], err = h.read(asked, of.server, wire.Read{File: of.Name, Offset: from, Length: n})
			if err == nil && int64(len(out[i])) < n {
				err = fmt.Errorf("the server has less of it than it said: %d bytes", from+int64(len(out[i])))
			}
			return err
		})
	}
	return out, all.Wait()
}

// resume returns up to where a file is what the server has, and cuts off the rest.
func (h *Host) resume(ctx context.Context, f *os.File, want part) (same int64, err error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	size := min(info.Size(), want.Have)
	for same < size {
		n := min(size-same, wire.MaxSum)
		sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
		if _, err := io.Copy(sum, io.NewSectionReader(f, same, n)); err != nil {
			return 0, err
		}
		m, err := h.request(ctx, want.server, wire.Read{File: want.Name, Offset: same, Length: n, Sum: true})
		if err != nil {
			return 0, err
		}
		state, err := wire.Decode[wire.State](m.Data)
		if err != nil {
			return 0, err
		}
		if state.Sum != sum.Sum32() {
			break
		}
		same += n
	}
	if same > 0 {
		h.Log("%s of host %s: going on at %d bytes", want.Name, h.Name, same)
	}
	return same, f.Truncate(same)
}

// metadata fetches the document that describes all others.
func (h *Host) metadata(ctx context.Context, partial, server string) error {
	b, err := h.read(ctx, server, wire.Read{File: wire.Metadata})
	if err != nil {
		return fmt.Errorf("metadata of host %s: %w", h.Name, err)
	}
	f, err := os.Create(filepath.Join(partial, wire.Metadata))
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Sync(), f.Close())
}

// uncompressed is the decompressor of chunks that are not compressed.
type uncompressed struct{}

func (uncompressed) DecodeAll(_, _ []byte) ([]byte, error) {
	return nil, errors.New("compressed, which was not asked for")
}

// read returns a range.
func (h *Host) read(ctx context.Context, server string, r wire.Read) ([]byte, error) {
	m, err := h.request(ctx, server, r)
	if err != nil {
		return nil, err
	}
	c, _, err := wire.Parse(m.Data, uncompressed{}, nil)
	if err != nil {
		return nil, err
	}
	if c.Session != h.Session || c.File != r.File || c.Offset != r.Offset || c.Kind == wire.Cut || c.Kind == wire.Data && int64(len(c.Data)) > r.Length {
		return nil, fmt.Errorf("server %s answered with another range: %s at %d", server, c.File, c.Offset)
	}
	return c.Data, nil
}

func (h *Host) request(ctx context.Context, server string, r wire.Read) (*nats.Msg, error) {
	r.Version, r.Session, r.Host = wire.Version, h.Session, h.Name
	within, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	m, err := h.Conn.RequestWithContext(within, wire.ReadFrom(server), wire.Encode(r))
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", server, err)
	}
	if failed := m.Header.Get(micro.ErrorHeader); failed != "" {
		return nil, fmt.Errorf("server %s: %s", server, failed)
	}
	return m, nil
}
