package librl

// A clock to be set by hand. There is none that asks a function: a check would have to call
// back into Go, which costs many times what the check does.

// #include "shim.h"
import "C"

import (
	"runtime"
	"time"
)

// A Clock shows the time that it was last given, for tests and for replaying logs: see
// WithClock. One may drive any number of limiters, and all its methods may run at the same
// time.
type Clock struct {
	c       *C.rl_clock
	changed broadcast
}

// NewManualClock makes a clock that shows now, the time since any fixed instant, until it is
// set or advanced. It panics where now is negative.
func NewManualClock(now time.Duration) *Clock {
	clock := &Clock{}
	must(C.rl_clock_new_manual(nanoseconds(now), &clock.c))
	runtime.SetFinalizer(clock, func(clock *Clock) { C.rl_clock_free(clock.c) })
	return clock
}

// Set sets the clock, forwards or backwards, and wakes who is in Wait. It panics where now is
// negative.
func (clock *Clock) Set(now time.Duration) {
	must(C.rl_clock_set_ns(clock.c, nanoseconds(now)))
	clock.changed.send()
}

// Advance moves the clock forwards, and wakes who is in Wait. It panics where by is negative.
func (clock *Clock) Advance(by time.Duration) {
	must(C.rl_clock_advance_ns(clock.c, nanoseconds(by)))
	clock.changed.send()
}

func nanoseconds(d time.Duration) C.uint64_t {
	if d < 0 {
		panic("librl: a negative time for a clock")
	}
	return C.uint64_t(d)
}

func must(status C.rl_status) {
	if err := errorOf(status, nil); err != nil {
		panic(err)
	}
}

// next is closed by the next change of the clock; without a clock it never is.
func (clock *Clock) next() <-chan struct{} {
	if clock == nil {
		return nil
	}
	return clock.changed.next()
}
