-- Deletes a lock, and a ticket, if the caller has them. ARGV: field, token.
if owns(redis.call('HGET', KEYS[1], ARGV[1]), ARGV[2]) then
  redis.call('HDEL', KEYS[1], ARGV[1])
end
setTickets(ARGV[1], tickets(ARGV[1], ARGV[2], nil, ''))
return {'released', ''}
