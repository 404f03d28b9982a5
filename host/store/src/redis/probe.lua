-- Writes nothing, and fails if the server refuses writes: with XX, a record that does not exist is not written.
-- KEYS: a name that no record has.
redis.call('SET', KEYS[1], '', 'PX', 1, 'XX')
return redis.call('GET', KEYS[1])
