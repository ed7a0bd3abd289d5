//go:build race

package timing_test

// The race detector of Go 1.26 crashes in queues of 500: "CHECK failed: ... kEpochLast".
func init() { burstCalls = 100 }
