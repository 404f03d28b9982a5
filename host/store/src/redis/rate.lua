-- A request against a rate: all at once or evenly, and what is used comes back evenly.
-- KEYS: when the caller's quota is whole again, in microseconds. ARGV: microseconds in which one request comes back; how many there are.
-- Answers what is left, or -1 and the microseconds until the next request is allowed.

-- It is gone within a window, so neither the server's file nor its replicas are given it. A server that has no such way does give it.
pcall(redis.set_repl, redis.REPL_NONE)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local each = tonumber(ARGV[1])
local latest = now + each * ARGV[2]
-- Never later than for who has used everything, as it would be where the clock was put back.
local whole = math.min(math.max(tonumber(redis.call('GET', KEYS[1])) or 0, now), latest) + each
if whole > latest then return {-1, whole - latest} end
redis.call('SET', KEYS[1], string.format('%.0f', whole), 'PX', math.ceil((whole - now) / 1000))
return {math.floor((latest - whole) / each), 0}
