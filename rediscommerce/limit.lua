-- Reserves a slot of a rate limit, as GCRA does: the first of those that were given up, or the next one. It
-- returns how long to wait for it in microseconds, and its time. If the wait is longer than the longest,
-- it reserves nothing.
--
-- KEYS[1] is a sorted set of the slots that were given up, by time. Its first element, with the score 0, is
-- "NEXT NOW OFFSET": the time of the slot after the last one that was reserved, the time at which this was written,
-- and how far this server's clock was set back. Times are in microseconds by a clock that is never set back: this
-- server's, plus OFFSET.
-- ARGV: the interval between two slots; the burst; the longest wait (-1: any, '': reserve nothing); the slot that
-- the caller has, or ''. It is given up, unless another one was asked for and there is no earlier one.
local interval, burst, longest, mine = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local state = redis.call('ZRANGE', KEYS[1], 0, 0)[1] or '0 0 0'
local last, before, offset = string.match(state, '^(%S+) (%S+) (%S+)$')
local time = redis.call('TIME')
local clock = time[1] * 1000000 + time[2]
offset = math.max(tonumber(offset), before - clock)
local now = clock + offset
local next = math.max(tonumber(last), now)
-- format writes a time. %.14g, which Lua uses by default, is too short.
local function format(t)
  return string.format('%.3f', t)
end
local response = {'given up', ''}
if longest then
  local free = redis.call('ZRANGEBYSCORE', KEYS[1], format(now), '+inf', 'LIMIT', 0, 1)[1]
  local slot = tonumber(free or next)
  local wait = math.max(0, math.ceil(slot - (burst - 1) * interval - now))
  if longest >= 0 and wait > longest or mine and (not free or slot >= mine) then
    return {'refused', ''}
  end
  if free then
    redis.call('ZREM', KEYS[1], free)
  else
    next = next + interval
  end
  response = {'reserved', string.format('%.0f %s', wait, format(slot))}
end
if mine and mine < next then -- else the server has lost its data since then
  redis.call('ZADD', KEYS[1], ARGV[4], ARGV[4])
end
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', '(' .. format(now)) -- the state, and slots that have passed
redis.call('ZADD', KEYS[1], 0, string.format('%.3f %.3f %.3f', next, now, offset))
redis.call('PEXPIRE', KEYS[1], math.ceil((next - now) / 1000) + 1000)
return response
