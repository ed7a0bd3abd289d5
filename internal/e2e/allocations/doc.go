// Package allocations counts the allocations of calls and walks. The race detector adds some, so it
// counts without.
package allocations
