package main

import (
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// progress draws a bar on a terminal for what takes over a second, and nothing elsewhere. The zero value draws nothing.
type progress struct {
	mu    sync.Mutex
	to    io.Writer
	begun time.Time
	stage string
	bar   *progressbar.ProgressBar
}

// newProgress returns the progress of a command, on stderr unless nobody wants it.
func newProgress(cmd *cobra.Command, quiet bool) *progress {
	p := new(progress)
	if !quiet {
		p.start(cmd.ErrOrStderr())
	}
	return p
}

func (p *progress) start(w io.Writer) {
	if f, ok := underneath(w).(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.to, p.begun = f, time.Now()
	}
}

// show moves the bar of a stage. It may be called from several goroutines.
func (p *progress) show(stage string, done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil || time.Since(p.begun) < time.Second {
		return
	}
	if stage != p.stage {
		p.clear()
		p.stage = stage
		p.bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(p.to), progressbar.OptionSetDescription(stage),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionFullWidth())
	}
	// A bar that cannot be drawn is no reason to stop working.
	_ = p.bar.Set64(min(done, total))
}

func (p *progress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
		p.bar = nil
	}
}

// stop removes the bar.
func (p *progress) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
	p.to = nil
}
