-- Record batches of format 2, and messages of the formats 0 and 1, in the bytes of a field.

local OVERHEAD, MAGIC_AT = 12, 16
local LEAST = {[0] = 14, [1] = 22, [2] = 49}

local function attributes(w, tree, magic)
  local value = w.kept.attributes % 256
  local compression = "none"
  for _, part in ipairs(K.attributes[magic]) do
    local name, shift, range, names = part[1], part[2], part[3], part[4]
    local number = math.floor(value / shift) % range
    local field = K.attribute_fields[name]
    if tree then
      if names[1] == "true" then
        tree:add(field, number == 1):set_generated(true)
      else
        tree:add(field, names[number] or tostring(number)):set_generated(true)
      end
    end
    if name == "compression" then
      compression = names[number] or tostring(number)
    end
  end
  return compression
end

local function add_generated(w, tree, field, value)
  if tree and w.room.left > 0 then
    w.room.left = w.room.left - 1
    tree:add(field, value):set_generated(true)
  end
end

-- The records behind the header of a batch.
local function records(w, tree, header, from, to)
  local layout = K.layout(K.records.record, 2)
  local base_offset, base_time = header.kept.baseOffset, header.kept.baseTimestamp
  local appended = math.floor(header.kept.attributes % 256 / 8) % 2 == 1
  local record = K.walker(w, w.tvb, w.base, w.data, from, to)
  record.hides_records, record.hides_gap, record.trial = w.hides_records, w.hides_records, w.trial
  local count = 0
  local is_whole = true
  while record.pos < to do
    is_whole = not tree or w.room.left > 0
    if not is_whole then
      break -- nothing more would be shown
    end
    local start = record.pos
    local made = K.item(w, tree, K.records.record.proto, start, start)
    record.stop = to
    if not K.walk(record, layout, made, true) and record.gap then
      break
    end
    if made then
      made:set_len(record.pos - start)
      made:append_text(string.format(" %d", count))
      add_generated(w, made, K.f.record_offset, base_offset + Int64(record.kept.offsetDelta))
      local time = header.kept.maxTimestamp
      if not appended then
        local delta = record.kept.timestampDelta
        time = base_time + (type(delta) == "number" and Int64(delta) or delta)
      end
      add_generated(w, made, K.f.record_timestamp, time)
    end
    count = count + 1
  end
  if is_whole and not record.gap and count ~= header.kept.recordsCount then
    K.note(w, tree, "COUNT_MISMATCH",
      string.format("the batch says that it has %d records and holds %d", header.kept.recordsCount, count))
  end
  return record
end

-- One batch, or one message of the formats 0 and 1, in [from, to).
local function batch(w, tree, magic, from, to)
  local made = K.item(w, tree, K.records.batch.proto, from, to)
  local header = K.walker(w, w.tvb, w.base, w.data, from, to)
  header.trial = w.trial
  local layout = K.layout(K.records.batch, magic)
  if not K.walk(header, layout, made, magic == 2) and header.gap then
    return header
  end
  local compression = attributes(header, made, magic)
  if magic < 2 then
    if made then
      made:append_text(string.format(" of format %d", magic))
    end
    return header
  end
  if made then
    made:append_text(string.format(": %d records from offset %s", header.kept.recordsCount,
      tostring(header.kept.baseOffset)))
  end
  if compression == "none" then
    return records(w, made, header, header.pos, to)
  end
  if header.pos < to then
    K.guarded(w, made, K.f.compressed, "compressed records", header.pos, to, w.hides_records)
  end
  return header
end

-- The batches in a field, and what is left where no batch can be read: Fetch responses may end with a part of one.
function K.record_set(w, tree, from, to)
  local topic = w.topic and (K.names[w.topic] or w.topic)
  -- The records of internal topics may hold secrets.
  w.hides_records = topic and topic:sub(1, 2) == "__" and not w.show_secrets
  local data, pos = w.data, from
  while pos < to do
    local size = to - pos > MAGIC_AT and K.signed(data, pos + 8, 4)
    local magic = size and data:byte(pos + MAGIC_AT + 1)
    local stop = size and pos + OVERHEAD + size
    if not size or stop > to or not LEAST[magic] or size < LEAST[magic] then
      local made = K.guarded(w, tree, K.f.gap, "gap", pos, to, w.hides_records)
      if made and size and stop <= to then
        K.note(w, made, "CORRUPT")
      elseif made then
        made:append_text(" (the beginning of a batch)")
      end
      break
    end
    batch(w, tree, magic, pos, stop)
    pos = stop
  end
  w.hides_records = false
end
