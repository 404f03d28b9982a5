-- Returns a page of a family in key order: key, record, key, record. Removes expired records from the index.
-- KEYS: the index. ARGV: the start of the page and the end of the family, in ZRANGEBYLEX's form; the maximum number of
-- members to read; the prefix of key names. The first item is the last member read, or '' at the end of the family.
-- A server that refuses writes still lists.
local members = redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2], 'LIMIT', 0, ARGV[3])
local page = {#members == tonumber(ARGV[3]) and members[#members] or ''}
for _, member in ipairs(members) do
  local record = redis.call('GET', ARGV[4] .. member)
  if record then
    page[#page + 1] = member
    page[#page + 1] = record
  else
    redis.pcall('ZREM', KEYS[1], member)
  end
end
return page
