// Package librl limits rates: exact, bounded in memory, and with counters that several
// processes may share. It is librl, a library of C, for Go.
//
//	limiter, err := librl.New(`
//	default    = token-bucket,5,10
//	api./login = fixed-window,2,10
//	`)
//	if err != nil { ... }
//	defer limiter.Close()
//	if !limiter.Allow("alice", "/orders") { ... }
//
// Alice may make 5 requests at once, and gets 5 new ones every 10 seconds, one after 2
// seconds each; everybody else has as much of their own. What a text of rules may say is told
// in the README of librl, and in full at the top of its header rl.h.
//
// # Goroutines
//
// All methods of a Limiter and of a Clock may be called by any goroutines at the same time,
// Close among them. Under all of them together, a limit gives exactly what it says.
//
// # Processes
//
// With the setting shared = /NAME among the rules, all processes of the machine that name it
// count together, programs in other languages too. A process that replaces itself by
// syscall.Exec should Close its limiter before: who is in the middle of a check then would
// be waited for.
//
// # Cost
//
// Each call goes to C once and back, for which Go takes as long as librl for a check.
// CheckBatch pays that once for many requests. A check allocates nothing and copies no name.
// A name that lay on the stack of its goroutine is moved to the heap, as everything that goes
// to C.
package librl
