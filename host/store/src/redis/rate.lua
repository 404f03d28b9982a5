-- Counts requests of one caller against its rate. They may come at once or evenly; the quota is restored evenly.
-- KEYS: the time at which the caller's quota is full again, in microseconds. ARGV: microseconds in which one request is
-- restored; the quota; the number of these requests.
-- Returns how many are allowed, how many remain, and the microseconds until the next request is allowed.

-- The record expires within a window, so it is neither persisted nor replicated, if the server supports that.
pcall(redis.set_repl, redis.REPL_NONE)
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local each = tonumber(ARGV[1])
local latest = now + each * ARGV[2]
-- Never later than for a used-up quota, even if the clock was turned back.
local whole = math.min(math.max(tonumber(redis.call('GET', KEYS[1])) or 0, now), latest)
local allowed = math.min(tonumber(ARGV[3]), math.floor((latest - whole) / each))
whole = whole + each * allowed
if allowed > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', whole), 'PX', math.ceil((whole - now) / 1000))
end
return {allowed, math.floor((latest - whole) / each), math.max(whole + each - latest, 0)}
