package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"meridian/internal/live"
)

// inBrowser is the value of --view without one.
const inBrowser = "browser"

// liveFlush is how soon events are in the files where they are watched, unless --flush says it.
const liveFlush = 10 * time.Millisecond

// recordedView is the page of a recording, served while it is made and until the command is interrupted.
type recordedView struct {
	ended chan struct{}
	err   error // when it has ended
	stop  context.CancelFunc
}

// openView begins to show the recording, if that is asked for.
func (f *recordFlags) openView(cmd *cobra.Command) (*recordedView, error) {
	if f.view == "" {
		return nil, nil
	}
	page := &viewFlags{listen: f.view, noBrowser: true}
	if page.quiet = f.quiet; f.view == inBrowser {
		page.listen, page.noBrowser = "127.0.0.1:0", false
	}
	var o live.Options
	o.Inputs = []live.Input{{Host: f.host, Dir: f.dir}} // "": as the trace says
	o.Sorter.Frame, o.Sorter.MostFrame = 50*time.Millisecond, 200*time.Millisecond
	p, err := openLivePage(page, cmd, o, live.ViewOptions{})
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(cmd.Context())
	v := &recordedView{ended: make(chan struct{}), stop: stop}
	go func() {
		defer close(v.ended)
		v.err = p.serve(ctx)
	}()
	return v, nil
}

// keep serves on after the recording has ended, until the command is interrupted. Failures of the page are warnings: the recording
// is made.
func (v *recordedView) keep(cmd *cobra.Command, quiet bool) {
	if v == nil {
		return
	}
	if cmd.Context().Err() == nil && !quiet {
		fmt.Fprintln(cmd.ErrOrStderr(), "meridian: the recording has ended; interrupt to end the page too")
	}
	<-v.ended
	if v.err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "meridian: warning: the page:", v.err)
	}
}

// close ends the page at once.
func (v *recordedView) close() {
	if v != nil {
		v.stop()
		<-v.ended
	}
}
