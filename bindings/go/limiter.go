package librl

// Makes limiters and ends them. The invariant: the service of C is there from New until no
// call is in flight after Close, and nobody reaches it afterwards. The gate keeps it.

// #cgo pkg-config: librl
// #include "shim.h"
import "C"

import (
	"runtime"
	"sync"
	"unsafe"
)

// A Limiter holds rules, and the counters of all who have asked. Make one with New or Load
// and keep it for as long as the program runs. Any number of goroutines may use it at the
// same time, all methods, without a lock.
type Limiter struct {
	gate    gate
	service *C.shim_service
	clock   *Clock
	lines   lines
	changed broadcast
	closing sync.Once
	closed  chan struct{}
}

// New makes a limiter of rules, a text as the manual of librl describes it: one entry a
// line, "default = token-bucket,5,10" among them. Settings such as memory and shared stand
// among the rules.
//
// Where the text is wrong, the error is an *Error with its line and column.
func New(rules string, options ...Option) (*Limiter, error) {
	return newLimiter(ofText(rules), options)
}

// Load makes a limiter of the rules in a file.
func Load(path string, options ...Option) (*Limiter, error) {
	return newLimiter(ofFile(path), options)
}

func newLimiter(rules Option, options []Option) (*Limiter, error) {
	config, err := configure(rules, options)
	if err != nil {
		return nil, err
	}
	defer config.free()
	var service *C.rl_service
	var e C.rl_error
	if status := C.rl_service_new(config.c, &service, &e); status != C.RL_OK {
		return nil, errorOf(status, &e)
	}
	l := &Limiter{
		service: (*C.shim_service)(unsafe.Pointer(service)),
		clock:   config.clock,
		closed:  make(chan struct{}),
	}
	runtime.SetFinalizer(l, (*Limiter).Close)
	return l, nil
}

// Close waits for the checks in flight, which take moments, and frees the counters; those of
// a shared zone stay, with what was counted. Who is in Wait is sent away with ErrClosed, and
// so is every later call. The error is always nil, and a second Close does nothing.
//
// A limiter that nothing refers to any more is closed by the garbage collector, some time.
func (l *Limiter) Close() error {
	l.closing.Do(func() {
		runtime.SetFinalizer(l, nil)
		close(l.closed)
		l.gate.shut()
		C.rl_service_free(l.c())
		l.service = nil
	})
	return nil
}

// Reload brings new rules in place of those that the limiter has. Counters of limits that
// stay go on. Of the settings, on-full and match take effect; memory, clock and shared stay
// as they are, and so does the clock of WithClock. Where there is an error, the old rules
// stay.
func (l *Limiter) Reload(rules string, options ...Option) error {
	return l.reload(ofText(rules), options)
}

// ReloadFile is Reload with the rules in a file.
func (l *Limiter) ReloadFile(path string, options ...Option) error {
	return l.reload(ofFile(path), options)
}

func (l *Limiter) reload(rules Option, options []Option) error {
	config, err := configure(rules, options)
	if err != nil {
		return err
	}
	defer config.free()
	defer l.changed.send()
	var e C.rl_error
	return l.with(func() error {
		return errorOf(C.rl_reload(l.c(), config.c, &e), &e)
	})
}

// c is the service as the header of C has it.
func (l *Limiter) c() *C.rl_service {
	return (*C.rl_service)(unsafe.Pointer(l.service))
}

// with makes a call of C while the service is sure to be there.
func (l *Limiter) with(call func() error) error {
	lane := l.gate.enter()
	if lane == nil {
		return ErrClosed
	}
	defer runtime.KeepAlive(l)
	defer lane.leave()
	return call()
}
