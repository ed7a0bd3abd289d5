-- Raises the counter of a lock that the caller has. ARGV: field, token, counter, expiry.
local value = redis.call('HGET', KEYS[1], ARGV[1])
if redis.call('HGET', KEYS[1], 'server') ~= server() then
  return {'closed', ''}
end
if not owns(value, ARGV[2]) then
  return {'lost', ''}
end
write(ARGV[1], ARGV[2], ARGV[3], ARGV[4])
return {'granted', ''}
