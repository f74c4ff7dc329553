package demo

import (
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

// Open shows a file in the user's browser.
func Open(path string) error {
	var command []string
	switch runtime.GOOS {
	case "windows":
		command = []string{"rundll32", "url.dll,FileProtocolHandler", path}
	case "darwin":
		command = []string{"open", path}
	default:
		command = []string{"xdg-open", path}
	}
	return launch(command, 3*time.Second)
}

// launch starts a program that is to outlive this one, and waits a while for it to say that it cannot.
func launch(command []string, patience time.Duration) error {
	var said firstBytes
	c := exec.Command(command[0], command[1:]...)
	c.Stderr = &said
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
		reason, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		if reason == "" {
			return fmt.Errorf("%s: %w", command[0], err)
		}
		return errors.New(reason)
	case <-time.After(patience):
		return nil
	}
}
