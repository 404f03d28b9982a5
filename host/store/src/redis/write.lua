-- Applies a batch: all steps, or none if a condition fails. Applied once, however often it is sent.
-- KEYS: the outcome of this write; the index; then one key for each step.
-- ARGV: how long the outcome is kept, in milliseconds; then per step: kind, member of the index or '', two arguments.
local known = redis.call('GET', KEYS[1])
if known then
  local outcome, number, rate = string.match(known, '^(%a+) (%d*) ?(.*)$')
  return {outcome, number, rate}
end

-- Above this, Lua's numbers are not exact.
local MOST = 9007199254740991
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local number = ''
-- The result of counting requests: how many are allowed, how many remain, the microseconds until the next one.
local rate = ''

local function steps()
  local step = 0
  return function()
    step = step + 1
    local key = KEYS[step + 2]
    if key then
      local at = 4 * step - 2
      return key, ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], step
    end
  end
end

local function text(n)
  number = string.format('%.0f', n)
  return number
end

local function counter(key)
  local found = redis.call('GET', key)
  if not found then return 0 end
  local number = string.match(found, '^%d+$') and tonumber(found)
  return number and number <= MOST and number
end

local function lease(key)
  local found = redis.call('GET', key)
  if not found then return {holder = '', token = 0, ['until'] = 0} end
  local read, record = pcall(cjson.decode, found)
  return read and type(record) == 'table' and type(record.token) == 'number' and type(record['until']) == 'number' and record
end

local function hold(key, holder, token, till)
  local record = '{"holder":%s,"token":%.0f,"until":%.0f}'
  redis.call('SET', key, string.format(record, cjson.encode(holder), token, till))
end

-- Like rate.lua, but counts all requests or none. The count is kept even if a later condition fails.
local function counted(key, each, requests)
  local size, asked = string.match(requests, '^(%d+) (%d+)$')
  local micros = time[1] * 1000000 + time[2]
  local latest = micros + each * size
  local whole = math.min(math.max(tonumber(redis.call('GET', key)) or 0, micros), latest)
  local allowed = math.min(tonumber(asked), math.floor((latest - whole) / each))
  local all = allowed == tonumber(asked)
  if all then
    whole = whole + each * allowed
    pcall(redis.set_repl, redis.REPL_NONE)
    redis.call('SET', key, string.format('%.0f', whole), 'PX', math.ceil((whole - micros) / 1000))
    pcall(redis.set_repl, redis.REPL_ALL)
  end
  rate = string.format('%.0f %.0f %.0f', allowed, math.floor((latest - whole) / each), math.max(whole + each - latest, 0))
  return all
end

local function done(outcome)
  redis.call('SET', KEYS[1], outcome .. ' ' .. number .. ' ' .. rate, 'PX', ARGV[1])
  return {outcome, number, rate}
end

local needs = {left = counter, add = counter, give = counter, leased = lease, acquire = lease, renew = lease}
for key, what, _, a, b, step in steps() do
  local found = needs[what] and needs[what](key)
  if needs[what] and not found then return {'damaged', tostring(step), rate} end
  local holds = true
  if what == 'unchanged' then
    local bytes = redis.call('GET', key)
    if a == '1' then holds = bytes == b else holds = not bytes end
  elseif what == 'leased' then
    holds = found.token == tonumber(a)
  elseif what == 'left' then
    holds = found + tonumber(a) <= tonumber(b)
    text(found)
  elseif what == 'rate' then
    holds = counted(key, tonumber(a), b)
  elseif what == 'acquire' then
    holds = found['until'] <= now
  elseif what == 'renew' then
    holds = found.token == tonumber(a) and found['until'] > now
  end
  if not holds then return done('refused') end
end

for key, what, member, a, b in steps() do
  if what == 'put' then
    if b == '' then redis.call('SET', key, a) else redis.call('SET', key, a, 'PX', b) end
    if member ~= '' then redis.call('ZADD', KEYS[2], 0, member) end
  elseif what == 'remove' then
    redis.call('DEL', key)
    if member ~= '' then redis.call('ZREM', KEYS[2], member) end
  elseif what == 'add' then
    redis.call('SET', key, text(math.min(counter(key) + tonumber(a), MOST)))
  elseif what == 'give' then
    redis.call('SET', key, text(math.max(counter(key) - tonumber(a), 0)))
  elseif what == 'acquire' then
    local token = lease(key).token + 1
    text(token)
    hold(key, a, token, now + tonumber(b))
  elseif what == 'renew' then
    local held = lease(key)
    local till = 0
    if b ~= '' then till = now + tonumber(b) end
    hold(key, held.holder, held.token, till)
  end
end
return done('done')
