-- Reserves the next slot of a rate limit, as GCRA does, and returns how long to wait for it in
-- microseconds. If that is longer than the longest wait, it reserves nothing.
--
-- KEYS[1] holds "NEXT NOW": the time of the slot after the last one that was reserved, and the time
-- of that reservation, in microseconds by this server's clock.
-- ARGV: the interval between two slots, the burst, the longest wait (-1: any).
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local interval, burst, longest = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local next = now
local state = redis.call('GET', KEYS[1])
if state then
  local before
  next, before = string.match(state, '^(%d+%.%d+) (%d+)$')
  if not next then
    return redis.error_reply('WRONGTYPE the key holds no rate limit')
  end
  next, before = tonumber(next), tonumber(before)
  if before > now then -- the clock was set back: keep the length of the queue
    next = next - (before - now)
  end
  next = math.max(next, now)
end
local wait = math.max(0, math.ceil(next - (burst - 1) * interval - now))
if longest >= 0 and wait > longest then
  return {'refused', ''}
end
next = next + interval
-- %.14g, which Lua uses by default, is too short for a time.
redis.call('SET', KEYS[1], string.format('%.3f %.0f', next, now), 'PX', math.ceil((next - now) / 1000) + 1000)
return {'reserved', string.format('%.0f', wait)}
