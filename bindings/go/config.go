package librl

// Gathers rules, settings and a clock for New and Reload, and frees what that took.

// #include "shim.h"
import "C"

import (
	"runtime"
	"strings"
	"unsafe"
)

// An Option is something that New, Load or Reload take beside the rules.
type Option func(*config) error

type config struct {
	c     *C.rl_config
	clock *Clock
}

// WithClock makes a limiter take its time from a manual clock, for tests and for replaying
// logs.
func WithClock(clock *Clock) Option {
	return func(c *config) error {
		c.clock = clock
		defer runtime.KeepAlive(clock)
		return errorOf(C.rl_config_set_clock(c.c, clock.c), nil)
	}
}

// WithEntry adds an entry to the rules: WithEntry("memory", "64m") is the line
// "memory = 64m". What is there already is an error.
func WithEntry(name, value string) Option {
	return func(c *config) error {
		return withCString(name, func(name *C.char) error {
			return withCString(value, func(value *C.char) error {
				var e C.rl_error
				return errorOf(C.rl_config_set(c.c, name, value, &e), &e)
			})
		})
	}
}

func ofText(rules string) Option {
	return func(c *config) error {
		var e C.rl_error
		return errorOf(C.shim_parse(c.c, rules, &e), &e)
	}
}

func ofFile(path string) Option {
	return func(c *config) error {
		return withCString(path, func(path *C.char) error {
			var e C.rl_error
			return errorOf(C.rl_config_load(c.c, path, &e), &e)
		})
	}
}

func configure(rules Option, options []Option) (*config, error) {
	c := &config{}
	if status := C.rl_config_new(&c.c); status != C.RL_OK {
		return nil, errorOf(status, nil)
	}
	for _, option := range append([]Option{rules}, options...) {
		if err := option(c); err != nil {
			c.free()
			return nil, err
		}
	}
	return c, nil
}

func (c *config) free() {
	C.rl_config_free(c.c)
}

// withCString hands over a copy of a text. One with a NUL in it would arrive cut.
func withCString(text string, use func(*C.char) error) error {
	if strings.IndexByte(text, 0) >= 0 {
		return &Error{Status: ErrArgument, Message: "a NUL in " + text}
	}
	copied := C.CString(text)
	defer C.free(unsafe.Pointer(copied))
	return use(copied)
}
