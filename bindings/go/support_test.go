package librl_test

// What the tests have in common.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"librl"
)

// Nothing of it comes back during a test.
const hundred = "default = token-bucket,100,1000d"

const patience = 30 * time.Second

func open(t testing.TB, rules string, options ...librl.Option) *librl.Limiter {
	t.Helper()
	l, err := librl.New(rules, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func succeeds(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func equal[T comparable](t testing.TB, what string, found, expected T) {
	t.Helper()
	if found != expected {
		t.Errorf("%s: %v, expected %v", what, found, expected)
	}
}

func isError(t testing.TB, what string, found, expected error) {
	t.Helper()
	if !errors.Is(found, expected) {
		t.Errorf("%s: %v, expected %v", what, found, expected)
	}
}

// decided is the decision of a call that must not fail.
func decided(t testing.TB) func(librl.Decision, error) librl.Decision {
	return func(d librl.Decision, err error) librl.Decision {
		t.Helper()
		succeeds(t, err)
		return d
	}
}

// together runs a function in so many goroutines, all at once.
func together(n int, work func(i int)) {
	var begin, done sync.WaitGroup
	begin.Add(1)
	done.Add(n)
	for i := 0; i < n; i++ {
		go func(i int) {
			defer done.Done()
			begin.Wait()
			work(i)
		}(i)
	}
	begin.Done()
	done.Wait()
}

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits for what another goroutine, or the garbage collector, is about to do.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("in vain waited for: ", what)
		}
	}
}

// zone is the name of shared memory of this test's own, which is removed with it.
func zone(t testing.TB) string {
	name := fmt.Sprintf("/librl-go-%d-%s", os.Getpid(), strings.ToLower(t.Name()))
	t.Cleanup(func() { librl.UnlinkZone(name) })
	return name
}

func shared(name string) string {
	return fmt.Sprintf("%s\nshared = %s\nmemory = 1m\n", hundred, name)
}

// mapped says whether this process has the zone in its memory.
func mapped(t testing.TB, zone string) bool {
	maps, err := os.ReadFile("/proc/self/maps")
	succeeds(t, err)
	return strings.Contains(string(maps), zone)
}

// collecting collects garbage until the test ends.
func collecting(t testing.TB) {
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-stopped })
}
