-- Deletes a lock, if the caller has it. ARGV: field, token.
local value = redis.call('HGET', KEYS[1], ARGV[1])
if value and string.sub(value, 1, #ARGV[2] + 1) == ARGV[2] .. ':' then
  redis.call('HDEL', KEYS[1], ARGV[1])
end
return {'released', ''}
