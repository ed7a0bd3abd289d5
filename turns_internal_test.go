package commerce

// CartsWithTurns returns the number of carts that have a turn, or wait for one.
func (c *Client) CartsWithTurns() int {
	t := c.core.cfg.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.carts)
}
