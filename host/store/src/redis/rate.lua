-- Requests of one caller against its rate: all at once or evenly, and what is used comes back evenly.
-- KEYS: when the caller's quota is whole again, in microseconds. ARGV: microseconds in which one request comes back; how
-- many there are; the number of these requests.
-- Answers how many of them are allowed, what is left after those, and the microseconds until the next one is allowed.

-- It is gone within a window, so neither the server's file nor its replicas are given it. A server that has no such way does give it.
pcall(redis.set_repl, redis.REPL_NONE)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local each = tonumber(ARGV[1])
local latest = now + each * ARGV[2]
-- Never later than for who has used everything, as it would be where the clock was put back.
local whole = math.min(math.max(tonumber(redis.call('GET', KEYS[1])) or 0, now), latest)
local allowed = math.min(tonumber(ARGV[3]), math.floor((latest - whole) / each))
whole = whole + each * allowed
if allowed > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', whole), 'PX', math.ceil((whole - now) / 1000))
end
return {allowed, math.floor((latest - whole) / each), math.max(whole + each - latest, 0)}
