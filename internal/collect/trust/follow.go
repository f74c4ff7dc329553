package trust

import (
	"context"
	"slices"
	"time"

	"meridian/internal/collect/wire"
	"meridian/internal/live/watch"
)

// Times of following the list of users.
const (
	followAtMost  = 50 * time.Millisecond
	followAtLeast = time.Second // where the system gives no notice of changes
)

// Follow calls changed with the users whenever they are others than those given first, until ctx ends. A list that cannot be read changes nothing and is told to
// failed, once for each reason.
func (t *Trust) Follow(ctx context.Context, users []wire.User, changed func([]wire.User) error, failed func(error)) error {
	w := watch.New()
	w.Add(t.dir)
	told := ""
	for w.Wait(ctx, followAtMost, followAtLeast) == nil {
		now, err := t.Users()
		if err == nil && !slices.Equal(users, now) {
			if err = changed(now); err == nil {
				users = now
			}
		}
		switch {
		case err == nil:
			told = ""
		case err.Error() != told:
			told = err.Error()
			failed(err)
		}
	}
	return w.Close()
}
