-- Reserves a slot of a rate limit, as GCRA does: the first of those that were given up, or the next one. It
-- returns how long to wait for it in microseconds, and its time. If the wait is longer than the longest,
-- it reserves nothing.
--
-- KEYS[1] holds "NEXT NOW SLOT…": the time of the slot after the last one that was reserved, the time at which
-- this was written, and the slots that were given up, in order. Times are in microseconds by this server's clock.
-- ARGV: the interval between two slots; the burst; the longest wait (-1: any, '': reserve nothing); the slot that
-- the caller has, or ''. It is given up, unless another one was asked for and there is no earlier one.
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst, longest, mine = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local next, free = now, {}
local state = redis.call('GET', KEYS[1])
if state then
  local last, before, slots = string.match(state, '^(%d+%.%d+) (%d+)([%d. ]*)$')
  if not last then
    return redis.error_reply('WRONGTYPE the key holds no rate limit')
  end
  local back = math.max(0, before - now) -- the clock was set back: keep the length of the queue
  next = math.max(last - back, now)
  for slot in string.gmatch(slots, '%S+') do
    if slot - back >= now then
      table.insert(free, slot - back)
    end
  end
end
local response = {'given up', ''}
if longest then
  local slot = free[1] or next
  local wait = math.max(0, math.ceil(slot - (burst - 1) * interval - now))
  if longest >= 0 and wait > longest or mine and (not free[1] or slot >= mine) then
    return {'refused', ''}
  end
  if not table.remove(free, 1) then
    next = next + interval
  end
  response = {'reserved', string.format('%.0f %.3f', wait, slot)}
end
if mine and mine >= now and mine < next then
  table.insert(free, mine)
  table.sort(free)
end
-- %.14g, which Lua uses by default, is too short for a time.
local parts = {string.format('%.3f %.0f', next, now)}
for i = 1, math.min(#free, 1000) do
  table.insert(parts, string.format('%.3f', free[i]))
end
redis.call('SET', KEYS[1], table.concat(parts, ' '), 'PX', math.ceil((next - now) / 1000) + 1000)
return response
