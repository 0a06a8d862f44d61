// The limiter of a Go server: limiters of x/time/rate in a sync.Map. A program of the
// benchmark: it reads lines such as "W3 40000 0", how many calls each thread is to make and
// the first name to ask about, and answers "W3 40000 0 47.1", the nanoseconds for a call; to
// "W7 1000000 0" with the bytes of heap for each of so many keys.
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

type limiter struct {
	buckets sync.Map
	rate    rate.Limit
	burst   int
}

func newLimiter(burst int, seconds float64) *limiter {
	return &limiter{rate: rate.Limit(float64(burst) / seconds), burst: burst}
}

func (l *limiter) allow(key string) bool {
	bucket, found := l.buckets.Load(key)
	if !found {
		// Only then: it takes a new limiter, whether the key is there or not.
		bucket, _ = l.buckets.LoadOrStore(key, rate.NewLimiter(l.rate, l.burst))
	}
	return bucket.(*rate.Limiter).Allow()
}

const (
	keys    = 1000000
	nameLen = 12
	hot     = "user-hot-key"
)

var (
	open    = newLimiter(1e9, 1e6)
	closed  = newLimiter(1, 86400)
	perUser = newLimiter(1e9, 1e6)
	all     = rate.NewLimiter(1e9/1e6, 1e9)
	// Variables, or the keys of the hot user would be made by the compiler.
	hotUser, orders, single = hot, "/v1/orders", "/v1/single"
	shut, limits            = "/v1/closed", "/v1/limits"
)

func key(user, api string) string {
	return user + "\x00" + api
}

// What a thread does: so many calls, of which it returns how many were allowed.
type work func(thread, calls int) int

func repeat(ask func() bool) work {
	return func(thread, calls int) int {
		allowed := 0
		for i := 0; i < calls; i++ {
			if ask() {
				allowed++
			}
		}
		return allowed
	}
}

func hotOpen() bool {
	return open.allow(key(hotUser, single))
}

func hotClosed() bool {
	return closed.allow(key(hotUser, shut))
}

func hotThree() bool {
	return open.allow(key(hotUser, limits)) && perUser.allow(hotUser) && all.Allow()
}

func each(users []string, first int) work {
	return func(thread, calls int) int {
		allowed := 0
		for _, user := range users[first+thread*calls:][:calls] {
			if open.allow(key(user, orders)) {
				allowed++
			}
		}
		return allowed
	}
}

// Slices of one string, in the order of their use.
func read(name string) []string {
	bytes, err := os.ReadFile(filepath.Join(os.Args[1], name))
	if err != nil {
		log.Fatal(err)
	}
	text := string(bytes)
	names := make([]string, len(text)/nameLen)
	for i := range names {
		names[i] = text[i*nameLen : (i+1)*nameLen]
	}
	return names
}

// Nanoseconds for a call, in a thread's own time: the mean of the threads'.
func measure(threads, calls, allowed int, run work) float64 {
	var done sync.WaitGroup
	done.Add(threads)
	missing := int32(threads)
	times := make([]time.Duration, threads)
	for thread := 0; thread < threads; thread++ {
		go func(thread int) {
			defer done.Done()
			runtime.LockOSThread()
			atomic.AddInt32(&missing, -1)
			for atomic.LoadInt32(&missing) > 0 {
			}
			began := time.Now()
			answer := run(thread, calls)
			times[thread] = time.Since(began)
			if answer != allowed {
				log.Fatal("allowed ", answer)
			}
		}(thread)
	}
	done.Wait()
	sum := 0.0
	for _, elapsed := range times {
		sum += float64(elapsed.Nanoseconds()) / float64(calls)
	}
	return sum / float64(threads)
}

func figure(name string, calls, first int, users, zipf []string) float64 {
	switch name {
	case "W1":
		return measure(1, calls, calls, repeat(hotOpen))
	case "W2":
		return measure(1, calls, 0, repeat(hotClosed))
	case "W3":
		return measure(1, calls, calls, each(users, first))
	case "W4":
		return measure(2, calls, calls, repeat(hotOpen))
	case "W5":
		return measure(2, calls, 0, repeat(hotClosed))
	case "W6":
		return measure(2, calls, calls, each(users, first))
	case "W8":
		return measure(2, calls, calls, each(zipf, first))
	case "W10":
		return measure(1, calls, calls, repeat(hotThree))
	}
	log.Fatal("no figure ", name)
	return 0
}

func heap() float64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return float64(stats.HeapAlloc)
}

// In an order that is not that of use: limiters would else lie as the calls come.
func fill(keys int) {
	for n := 0; n < keys; n++ {
		open.allow(key(fmt.Sprintf("user%08d", n), orders))
	}
}

func bytesPerKey(keys int) float64 {
	before := heap()
	fill(keys)
	return (heap() - before) / float64(keys)
}

func main() {
	var users, zipf []string
	questions := bufio.NewScanner(os.Stdin)
	for questions.Scan() {
		var name string
		var number, first int
		line, answer := questions.Text(), 0.0
		if _, err := fmt.Sscan(line, &name, &number, &first); err != nil {
			log.Fatal(line, ": ", err)
		}
		if name == "W7" {
			answer = bytesPerKey(number)
		} else {
			if users == nil {
				fill(keys)
				closed.allow(key(hotUser, shut))
				users, zipf = read("keys"), read("zipf")
			}
			answer = figure(name, number, first, users, zipf)
		}
		fmt.Printf("%s %.2f\n", line, answer)
	}
}
