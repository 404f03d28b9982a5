-- A page of a family in the order of its keys: key, record, key, record. What has expired leaves the index.
-- KEYS: the index. ARGV: where the page begins and the family ends, as ZRANGEBYLEX has it; most members looked at; what a key's name
-- begins with. First comes the last member looked at, or '' where the family has ended.
local members = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local page = {#members == tonumber(ARGV[3]) and members[#members] or ''}
for _, member in ipairs(members) do
  local record = redis.call('GET', ARGV[4] .. member)
  if record then
    page[#page + 1] = member
    page[#page + 1] = record
  else
    redis.call('ZREM', KEYS[1], member)
  end
end
return page
