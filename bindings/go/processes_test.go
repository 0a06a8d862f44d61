package librl_test

import (
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"librl"
)

// The zone of a process that is to ask a hundred times, and to print how often it passed.
const zoneToAsk = "LIBRL_TEST_ZONE"

func TestMain(m *testing.M) {
	if name := os.Getenv(zoneToAsk); name != "" {
		os.Exit(askHundredTimes(name))
	}
	os.Exit(m.Run())
}

func askHundredTimes(name string) int {
	l, err := librl.New(shared(name))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer l.Close()
	passed := 0
	for i := 0; i < 100; i++ {
		if l.Allow("alice", "/a") {
			passed++
		}
	}
	fmt.Print(passed)
	return 0
}

func TestProcessesShareAZone(t *testing.T) {
	name := zone(t)
	l := open(t, shared(name)) // the first, or each might come when the others have gone
	var passed atomic.Int64
	together(3, func(int) {
		asking := exec.CommandContext(within(t), os.Args[0])
		asking.Env = append(os.Environ(), zoneToAsk+"="+name)
		asking.Stderr = os.Stderr
		output, err := asking.Output()
		var n int64
		if _, scanned := fmt.Sscan(string(output), &n); err != nil || scanned != nil {
			t.Error(err, scanned)
		}
		passed.Add(n)
	})
	equal(t, "passed", passed.Load(), 100)
	equal(t, "left", l.Allow("alice", "/a"), false)
}
