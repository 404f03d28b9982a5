-- Returns a page of a family in key order: key, record, key, record. Removes expired records from the index.
-- KEYS: the index. ARGV: the start of the page and the end of the family, in ZRANGEBYLEX's form; the maximum number of
-- records; the prefix of key names; the maximum number of members to read, so that a call among many expired records
-- is short. The first item is the last member read, or '' at the end of the family.
-- A server that refuses writes still lists.
local page, begin = {''}, ARGV[1]
local most, left = tonumber(ARGV[3]), tonumber(ARGV[5])
while most > 0 and left > 0 do
  local asked = math.min(most, left)
  local members = redis.call('ZRANGEBYLEX', KEYS[1], begin, ARGV[2], 'LIMIT', 0, asked)
  for _, member in ipairs(members) do
    local record = redis.call('GET', ARGV[4] .. member)
    if record then
      page[#page + 1] = member
      page[#page + 1] = record
      most = most - 1
    else
      redis.pcall('ZREM', KEYS[1], member)
    end
  end
  if #members < asked then
    page[1] = ''
    break
  end
  page[1] = members[#members]
  begin = '(' .. members[#members]
  left = left - #members
end
return page
