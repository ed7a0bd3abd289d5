-- The hash KEYS[1] holds all locks, so that they can only be lost together: by a restart, a failover,
-- FLUSHALL or eviction. The field "server" says whether locks are granted:
--
--   SERVER        they are granted, by this run of this server and since its last promotion
--   SERVER?NONCE  not yet: leases of before may not have ended. A caller may write SERVER when it has
--                 seen this value for as long as a lease lasts. The nonce makes each such value unique.
--
-- A field "lock/…" holds "TOKEN:COUNTER:EXPIRY:SWEEP". The holder raises the counter, so that no value ever
-- comes twice: whoever sees the same value again knows that the holder has not extended its lease. SWEEP is what
-- the field "sweep" held when the value was written: "NONCE::EXPIRY", with the longest expiry of the locks that the
-- last sweep left.
--
-- A field "queue/…" holds the tickets of the processes that wait for this lock, "TOKEN:COUNTER TOKEN:COUNTER…".
-- Each request raises the counter. It decides only who gets a free lock, not whether a lock is free.
--
-- No script uses the clock of the server, and no key expires.
local function server()
  local run = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  local history = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  return run and history and run .. '-' .. history
end

-- owns reports whether a lock or a ticket has the token.
local function owns(value, token)
  return value and string.sub(value, 1, #token + 1) == token .. ':'
end

local function queueField(field)
  return 'queue' .. string.sub(field, #'lock' + 1)
end

-- tickets returns the queue for a lock without the ticket of token, and without those that are in old. If there
-- is a new ticket of token, it is in the place of the one before, or at the end.
local function tickets(field, token, new, old)
  local queue = {}
  for ticket in string.gmatch(redis.call('HGET', KEYS[1], queueField(field)) or '', '%S+') do
    if owns(ticket, token) then
      table.insert(queue, new)
      new = nil
    elseif not string.find(old, ticket, 1, true) then
      table.insert(queue, ticket)
    end
  end
  table.insert(queue, new)
  return queue
end

local function setTickets(field, queue)
  if #queue == 0 then
    redis.call('HDEL', KEYS[1], queueField(field))
  else
    redis.call('HSET', KEYS[1], queueField(field), table.concat(queue, ' '))
  end
end

-- write sets the value of a lock that the caller has, or may have. A command that arrives late or twice must
-- not lower the counter: a value would come back.
local function write(field, token, counter, expiry)
  local value = redis.call('HGET', KEYS[1], field)
  local before = owns(value, token) and string.match(value, '^:(%d+):', #token + 1)
  if not before or tonumber(before) < tonumber(counter) then
    local swept = redis.call('HGET', KEYS[1], 'sweep') or ''
    redis.call('HSET', KEYS[1], field, table.concat({token, counter, expiry, swept}, ':'))
  end
end

-- sweep removes what processes that were killed left behind: all queues, and the locks that were not written since
-- the sweep before. seen is that sweep if the caller has seen it for as long as a lock that existed then may
-- go without an extension. It returns the last sweep.
local function sweep(seen, nonce)
  local last = redis.call('HGET', KEYS[1], 'sweep')
  if last and last ~= seen then
    return last
  end
  local fields, longest = redis.call('HGETALL', KEYS[1]), 0
  for i = 1, #fields, 2 do
    local kind, value = string.match(fields[i], '^%a+/'), fields[i + 1]
    if last and (kind == 'queue/' or kind == 'lock/' and not string.find(value, ':' .. last, 1, true)) then
      redis.call('HDEL', KEYS[1], fields[i])
    elseif kind == 'lock/' then
      longest = math.max(longest, tonumber(string.match(value, '^%w+:%d+:(%d+)')) or 0)
    end
  end
  last = nonce .. '::' .. longest
  redis.call('HSET', KEYS[1], 'sweep', last)
  return last
end
