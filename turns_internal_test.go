package commerce

// CartsWithTurns returns the number of carts to which clients with the turns of c write, or wait
// to write.
func (c *Client) CartsWithTurns() (n int) {
	turns.mu.Lock()
	defer turns.mu.Unlock()
	for key := range turns.carts {
		if key.transport == c.core.cfg.turnsOf.Key() {
			n++
		}
	}
	return n
}
