-- A taking that nobody was told of: it is given back, or where it did not happen yet, never will.
-- KEYS: where it stands what came of that write; the counter. ARGV: how long that is kept, in milliseconds; the amount.
local known = redis.call('GET', KEYS[1])
if known and string.match(known, '^done') then
  local used = tonumber(redis.call('GET', KEYS[2]) or '0')
  redis.call('SET', KEYS[2], string.format('%.0f', math.max(used - tonumber(ARGV[2]), 0)))
end
redis.call('SET', KEYS[1], 'refused 0', 'PX', ARGV[1])
return {'done', ''}
