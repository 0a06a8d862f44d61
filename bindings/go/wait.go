package librl

// Wait, made of looks and timers in Go: a wait inside C could not be broken off when its
// context is done, and would keep a thread of the system.

import (
	"context"
	"fmt"
	"time"
)

// Wait returns nil when the request passes, and has then taken its cost. It returns
//
//   - the error of the context, when that is done first;
//   - an error that is context.DeadlineExceeded, at once, where it is sure to pass only after
//     the context's deadline;
//   - ErrNever, at once, for a cost that can never pass;
//   - ErrClosed, once the limiter is closed;
//   - an *Error, for wrong arguments.
//
// In all these cases nothing is taken.
//
// Those who wait for the same user and API in this limiter are served in the order in which
// they came, whatever their costs. How long those in front will take is not known, so a
// place may end with the deadline. Waits for different pairs stand side by side, also where
// their rules share a counter, as do those of other processes; checks do not queue, and may
// take what was waited for. After Refund, Reset and Reload the first of each queue looks
// again. With a manual clock, time passes when the clock is set or advanced, and the deadline
// of the context is not compared with it.
//
// In the statistics, a Wait is one request when it passes or is refused, and none when it is
// broken off or refused at the end of a queue.
func (l *Limiter) Wait(ctx context.Context, user, api string, cost uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w := wait{l, ctx, user, api, cost}
	if l.lines.empty() {
		if d, err := w.attempt(); d.Allowed || err != nil {
			return err
		}
	}
	place := l.lines.join(pair{user, api})
	defer l.lines.leave(place)
	if err := w.turn(place); err != nil {
		return err
	}
	return w.pass()
}

// A wait is one call of Wait.
type wait struct {
	*Limiter
	ctx       context.Context
	user, api string
	cost      uint64
}

// turn waits until nobody is in front, unless that is in vain.
func (w *wait) turn(place *place) error {
	select {
	case <-place.first:
		return nil
	default:
	}
	d, err := w.Peek(w.user, w.api, w.cost)
	if err == nil {
		err = w.refusal(&d)
	}
	if err != nil {
		return err
	}
	select {
	case <-place.first:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	case <-w.closed:
		return ErrClosed
	}
}

// pass tries until it passes, or never will.
func (w *wait) pass() error {
	for {
		// Whatever changes after the look must be heard of.
		changed, ticked := w.changed.next(), w.clock.next()
		d, err := w.attempt()
		if d.Allowed || err != nil {
			return err
		}
		if err := w.sleep(d.RetryAfter, changed, ticked); err != nil {
			return err
		}
	}
}

// attempt looks first, and checks only where that is the end of the wait: it then counts in
// the statistics, once.
func (w *wait) attempt() (Decision, error) {
	d, err := w.Peek(w.user, w.api, w.cost)
	if err != nil || (!d.Allowed && w.refusal(&d) == nil) {
		return d, err
	}
	d, err = w.CheckN(w.user, w.api, w.cost)
	if err == nil {
		err = w.refusal(&d)
	}
	return d, err
}

// refusal is the error where waiting is in vain.
func (w *wait) refusal(d *Decision) error {
	if d.Allowed {
		return nil
	}
	if d.RetryAfter == Never {
		return ErrNever
	}
	deadline, limited := w.ctx.Deadline()
	if limited && w.clock == nil && time.Until(deadline) < d.RetryAfter {
		return fmt.Errorf("librl: the request passes in %v at the earliest: %w",
			d.RetryAfter, context.DeadlineExceeded)
	}
	return nil
}

func (w *wait) sleep(retryAfter time.Duration, changed, ticked <-chan struct{}) error {
	var expired <-chan time.Time
	if w.clock == nil {
		timer := time.NewTimer(retryAfter)
		defer timer.Stop()
		expired = timer.C
	}
	select {
	case <-expired:
	case <-changed:
	case <-ticked:
	case <-w.ctx.Done():
		return w.ctx.Err()
	case <-w.closed:
		return ErrClosed
	}
	return nil
}
