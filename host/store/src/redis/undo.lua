-- Undoes a write that took units and whose outcome was not reported. If it has not happened yet, it never will.
-- KEYS: the outcome of that write; the counter. ARGV: how long the outcome is kept, in milliseconds; the amount.
local known = redis.call('GET', KEYS[1])
if known and string.match(known, '^done') then
  local used = tonumber(redis.call('GET', KEYS[2]) or '0')
  redis.call('SET', KEYS[2], string.format('%.0f', math.max(used - tonumber(ARGV[2]), 0)))
end
redis.call('SET', KEYS[1], 'refused 0', 'PX', ARGV[1])
return {'done', ''}
