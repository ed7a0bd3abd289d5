-- Grants a lock if it is the caller's turn, or returns the value that must stay unchanged before it may be granted
-- ('' if the lock is free), and the queue.
-- ARGV: field, token, counter, expiry; the value of the lock, and that of "server", which the caller
-- has seen for long enough (or ''); a nonce; the maximum number of fields; the queue that the caller has seen so
-- long ago that processes with the same tickets are dead; 1 if a server that is new grants locks at once.
local field, token, counter, expiry = ARGV[1], ARGV[2], ARGV[3], ARGV[4]
local id = server()
if not id then
  return redis.error_reply('NOINFO the server does not say which it is')
end
local function close()
  local state = id .. '?' .. ARGV[7]
  redis.call('HSET', KEYS[1], 'server', state)
  return {'closed', state}
end
local state = redis.call('HGET', KEYS[1], 'server')
if state ~= id then
  if state and string.sub(state, 1, #id + 1) == id .. '?' then
    if state ~= ARGV[6] then
      return {'closed', state}
    end
    redis.call('DEL', KEYS[1]) -- all leases have ended
  elseif ARGV[10] ~= '1' then
    return close()
  end
  redis.call('HSET', KEYS[1], 'server', id)
end
local value = redis.call('HGET', KEYS[1], field)
if not owns(value, token) then -- else the command was sent again
  local queue = tickets(field, token, token .. ':' .. counter, ARGV[9])
  local granted = owns(queue[1], token) and (not value or value == ARGV[5])
  if granted then
    table.remove(queue, 1)
  end
  setTickets(field, queue)
  if not granted then
    return {'taken', (value or '') .. ' ' .. table.concat(queue, ' ')}
  end
  -- Processes that were killed leave fields behind. If there are too many, remove all when no lease can be left.
  if not value and redis.call('HLEN', KEYS[1]) > tonumber(ARGV[8]) then
    return close()
  end
end
write(field, token, counter, expiry)
return {'granted', ''}
