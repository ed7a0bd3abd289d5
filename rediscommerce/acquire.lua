-- Grants a lock if it is the caller's turn, or returns the value that must stay unchanged before it may be granted
-- ('' if the lock is free), and the queue.
-- ARGV: field, token, counter, expiry; the value of the lock, that of "server" and that of "sweep", which the caller
-- has seen for long enough (or ''); a nonce; the maximum number of fields; the queue that the caller has seen so
-- long ago that processes with the same tickets are dead; 1 if a server that is new grants locks at once.
local field, token, counter, expiry, nonce = ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[8]
local id = server()
if not id then
  return redis.error_reply('NOINFO the server does not say which it is')
end
local state = redis.call('HGET', KEYS[1], 'server')
if state ~= id then
  local closed = state and string.sub(state, 1, #id + 1) == id .. '?'
  if closed and state == ARGV[6] then
    redis.call('DEL', KEYS[1]) -- all leases have ended
  elseif closed then
    return {'closed', state}
  elseif ARGV[11] ~= '1' then
    redis.call('HSET', KEYS[1], 'server', id .. '?' .. nonce)
    return {'closed', id .. '?' .. nonce}
  end
  redis.call('HSET', KEYS[1], 'server', id)
end
local value = redis.call('HGET', KEYS[1], field)
local swept = ''
if not owns(value, token) then -- else the command was sent again
  local queue = tickets(field, token, token .. ':' .. counter, ARGV[10])
  local granted = owns(queue[1], token) and (not value or value == ARGV[5])
  if granted then
    table.remove(queue, 1)
  end
  setTickets(field, queue)
  if not granted then
    return {'taken', (value or '') .. ' ' .. table.concat(queue, ' ')}
  end
  if redis.call('HLEN', KEYS[1]) > tonumber(ARGV[9]) then
    swept = sweep(ARGV[7], nonce)
  end
end
write(field, token, counter, expiry)
return {'granted', swept}
