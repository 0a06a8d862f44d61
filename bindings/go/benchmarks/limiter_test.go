package benchmarks

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"librl"
)

type allow func(user, api string) bool

func BenchmarkNoop(b *testing.B) {
	for i := 0; i < b.N; i++ {
		Noop()
	}
}

func BenchmarkAllowed(b *testing.B) {
	b.Run("librl", hot(limiter.Allow, orders, true))
	b.Run("rate", hot(open.Allow, orders, true))
}

func BenchmarkRefused(b *testing.B) {
	b.Run("librl", hot(limiter.Allow, closed, false))
	b.Run("rate", hot(shut.Allow, closed, false))
}

func hot(ask allow, api string, expected bool) func(*testing.B) {
	return func(b *testing.B) {
		ask(user, closed) // uses up what is there once
		begin(b)
		for i := 0; i < b.N; i++ {
			if ask(user, api) != expected {
				b.Fatal("allowed: ", !expected)
			}
		}
	}
}

func begin(b *testing.B) {
	b.ReportAllocs()
	b.ResetTimer()
}

func BenchmarkCheck(b *testing.B) {
	b.Run("librl", func(b *testing.B) {
		begin(b)
		for i := 0; i < b.N; i++ {
			if d, err := limiter.Check(user, orders); err != nil || !d.Allowed {
				b.Fatal(d, err)
			}
		}
	})
}

func BenchmarkParallel(b *testing.B) {
	b.Run("librl", parallel(limiter.Allow))
	b.Run("rate", parallel(open.Allow))
}

// parallel reports the time of a call in its own goroutine, not that between two calls.
func parallel(ask allow) func(*testing.B) {
	return func(b *testing.B) {
		begin(b)
		begun := time.Now()
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				ask(user, orders)
			}
		})
		took := float64(time.Since(begun).Nanoseconds()) * float64(runtime.GOMAXPROCS(0))
		b.ReportMetric(took/float64(b.N), "ns/op")
	}
}

// next is where the last run has stopped: no run finds what another has left in the cache.
var next int

func cold(ask allow) func(*testing.B) {
	return func(b *testing.B) {
		name()
		begin(b)
		for i := 0; i < b.N; i++ {
			next = (next + 1) % keys
			if !ask(users[next], orders) {
				b.Fatal("refused")
			}
		}
	}
}

func BenchmarkBatch(b *testing.B) {
	for _, size := range []int{16, 64} {
		b.Run(fmt.Sprint(size), batches(size, func() string { return user }))
	}
}

func BenchmarkKeys(b *testing.B) {
	b.Run("librl", cold(limiter.Allow))
	b.Run("rate", cold(open.Allow))
}

func BenchmarkKeysBatch(b *testing.B) {
	for _, size := range []int{16, 64} {
		b.Run(fmt.Sprint(size), batches(size, func() string {
			name()
			next = (next + 1) % keys
			return users[next]
		}))
	}
}

// batches fills in the names and asks, in batches; the time is that of a request.
func batches(size int, user func() string) func(*testing.B) {
	return func(b *testing.B) {
		requests, into := make([]librl.Request, size), make([]librl.Decision, size)
		user() // makes the names, where it takes some
		begin(b)
		for i := 0; i < b.N; i += size {
			for r := range requests {
				requests[r] = librl.Request{User: user(), API: orders}
			}
			if d, err := limiter.CheckBatch(requests, into); err != nil || !d[0].Allowed {
				b.Fatal(d, err)
			}
		}
	}
}
