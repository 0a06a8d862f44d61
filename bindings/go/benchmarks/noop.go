// Package benchmarks measures librl beside x/time/rate: `make bench-go`.
package benchmarks

// static void noop(void) {}
import "C"

// Noop is a call of C that does nothing: the way there and back, which each check pays.
func Noop() {
	C.noop()
}
