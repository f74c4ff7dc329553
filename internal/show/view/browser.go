package view

import (
	"context"
	"errors"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// OpenFile shows a file in the user's browser.
func OpenFile(path string) error { return open(context.Background(), path) }

// OpenURL shows what a server of ours has. What a browser is started with stands in the list of processes, where other
// users see it. On Linux their connections are refused (see foreign). Elsewhere the browser is given a file with the
// address that only its user can read. Done removes it, once the server has ended.
func OpenURL(ctx context.Context, url string) (done func(), err error) {
	if runtime.GOOS == "linux" {
		return func() {}, open(ctx, url)
	}
	dir, err := os.MkdirTemp("", "meridian-view-") // readable by this user only
	if err != nil {
		return func() {}, err
	}
	done = func() { os.RemoveAll(dir) }
	path := filepath.Join(dir, "open.html")
	text := fmt.Sprintf("<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n<title>Meridian</title>\n",
		html.EscapeString(url))
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return done, err
	}
	return done, open(ctx, path)
}

// open shows a file or an address. A terminal alone has no browser: what xdg-open finds there would take it over.
func open(ctx context.Context, target string) error {
	var command []string
	switch runtime.GOOS {
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", target}
	case "darwin":
		command = []string{"open", target}
	default:
		screen := false
		for _, name := range []string{"DISPLAY", "WAYLAND_DISPLAY", "WSL_DISTRO_NAME", "BROWSER"} {
			screen = screen || os.Getenv(name) != ""
		}
		if !screen {
			return errors.New("no display (DISPLAY and WAYLAND_DISPLAY are empty)")
		}
		command = []string{"xdg-open", target}
	}
	return launch(ctx, command, 3*time.Second)
}

// launch starts a program that is to outlive this one, and waits a while for it to say that it cannot.
func launch(ctx context.Context, command []string, patience time.Duration) error {
	said := &firstBytes{}
	c := exec.Command(command[0], command[1:]...)
	c.Stderr = said
	// What it starts may keep its stderr open for hours.
	c.WaitDelay = time.Millisecond
	if err := c.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }() // ends with the program that was started, or with this one
	select {
	case err := <-ended:
		if err == nil || errors.Is(err, exec.ErrWaitDelay) {
			return nil
		}
		reason, _, _ := strings.Cut(strings.TrimSpace(string(said.text)), "\n")
		if reason == "" {
			return fmt.Errorf("%s: %w", command[0], err)
		}
		return errors.New(reason)
	case <-time.After(patience):
		return nil
	case <-ctx.Done():
		return nil
	}
}

// firstBytes is a writer that retains the first bytes: a browser prints there why it failed.
type firstBytes struct{ text []byte }

func (b *firstBytes) Write(text []byte) (int, error) {
	b.text = append(b.text, text[:min(len(text), 1024-len(b.text))]...)
	return len(text), nil
}
