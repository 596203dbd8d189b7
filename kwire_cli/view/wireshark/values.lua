-- The state of a walk over bytes, and the values that a walk reads: numbers, texts, bytes, with items and notes of them.
-- `w` is the state of a walk: data (a Lua string), pos and stop in it, tvb and base (where the data begin in it).
-- Without a tree nothing is shown: such a walk finds out whether a message is well-formed.

local byte, sub = string.byte, string.sub

K.read, K.prefix = K.read or {}, K.prefix or {}
local read, prefix = K.read, K.prefix
local MOST_NOTES = 50
local NUL = "\226\144\128" -- the symbol for it, U+2400

function K.walker(from, tvb, base, data, pos, stop)
  return {tvb = tvb, base = base, data = data, pos = pos, start = pos, stop = stop, notes = {}, kept = {},
    redactions = 0, room = from.room, topics = from.topics, errors = from.errors, show_secrets = from.show_secrets,
    frame = from.frame}
end

-- A walk over the bytes [from, to) of another walk that shows nothing: whether they are a message, and its values.
function K.trial(w, from, to)
  local ahead = K.walker({room = w.room, topics = {}, errors = {}, show_secrets = w.show_secrets, frame = w.frame},
    w.tvb, w.base, w.data, from, to)
  ahead.trial = true
  return ahead
end

local function range(w, from, to)
  return w.tvb(w.base + from, to - from)
end

-- An item of the tree, nil where nothing is shown. Wireshark gives up on a packet with a million items.
function K.item(w, tree, field, from, to, value)
  if not tree or w.room.left <= 0 then
    return nil
  end
  w.room.left = w.room.left - 1
  if value == nil then
    return tree:add(field, range(w, from, to))
  end
  return tree:add(field, range(w, from, to), value)
end
local item = K.item

function K.text_item(w, tree, from, to, text)
  if not tree or w.room.left <= 0 then
    return nil
  end
  w.room.left = w.room.left - 1
  return tree:add(range(w, from, to), text)
end
local text_item = K.text_item

function K.note(w, tree, code, detail)
  local notes = w.notes
  notes[#notes + 1] = code
  if tree and #notes <= MOST_NOTES and w.room.left > 0 then
    w.room.left = w.room.left - 2 -- an expert note is several items
    tree:add_proto_expert_info(K.experts[code], code .. ": " .. (detail or K.meaning[code]))
    tree:add(K.f.anomaly, code):set_hidden(true)
  end
end
local note = K.note

-- Notes of a number that was read come to the item that is made of it.
function K.odd(w, code)
  w.odd = w.odd or {}
  w.odd[#w.odd + 1] = code
end
local odd = K.odd

function K.settle(w, tree)
  local codes = w.odd
  if codes then
    w.odd = nil
    for _, code in ipairs(codes) do
      note(w, tree, code)
    end
  end
end
local settle = K.settle

K.stop = {}

-- Leave the walk: nothing can be read from `start` on.
function K.fail(w, code, start, node)
  odd(w, code)
  w.gap, w.lost = start, node and node.field and node.field.path
  error(K.stop, 0)
end
local fail = K.fail

-- Lengths and counts

-- An unsigned varint of at most 5 bytes as a number of 32 bits with sign.
function K.uvarint(w, start, node)
  local data, pos, stop = w.data, w.pos, w.stop
  local value, factor = 0, 1
  for i = 1, 5 do
    if pos >= stop then
      w.pos = pos
      fail(w, "TRUNCATED", start, node)
    end
    local part = byte(data, pos + 1)
    pos = pos + 1
    if part < 128 then
      value = value + part * factor
      if part == 0 and i > 1 then
        odd(w, "OVERLONG_VARINT")
      end
      if i == 5 then
        if part >= 16 then
          odd(w, "VARINT_EXCESS_BITS")
        end
        value = value % 4294967296
        if value >= 2147483648 then
          value = value - 4294967296
        end
      end
      w.pos = pos
      return value
    end
    value = value + (part - 128) * factor
    factor = factor * 128
  end
  w.pos = pos
  fail(w, "VARINT_TOO_LONG", start, node)
end
local uvarint = K.uvarint

function prefix.compact(w, start, node)
  return uvarint(w, start, node) - 1
end

function prefix.zigzag(w, start, node)
  local value = uvarint(w, start, node) % 4294967296
  local half = math.floor(value / 2)
  return value % 2 == 1 and -half - 1 or half
end

-- The reading of a number of so many bytes with sign.
local function signed(size)
  return function(w, start, node)
    if w.stop - start < size then
      fail(w, "TRUNCATED", start, node)
    end
    w.pos = start + size
    return K.signed(w.data, start, size)
  end
end

prefix.int16 = signed(2)
prefix.int32 = signed(4)

function K.check_null(w, node, count)
  if count < -1 then
    odd(w, "NEGATIVE_LENGTH")
  end
  if not node.nullable then
    odd(w, "NULL_NOT_ALLOWED")
  end
end
local check_null = K.check_null

-- Values

-- A value that may not be shown: its size alone.
function K.redact(w, tree, name, from, to)
  w.redactions = w.redactions + 1
  local text = string.format("<redacted %d bytes>", to - from)
  local made = item(w, tree, K.f.redacted, from, to, text)
  if made then
    made:set_text(name .. ": " .. text)
  end
  return made
end

-- Bytes as a field, or by their size alone if they may hold a secret.
function K.guarded(w, tree, field, name, from, to, hides)
  if hides and to > from then
    return K.redact(w, tree, name, from, to)
  end
  return item(w, tree, field, from, to)
end

local function hides(w, field)
  return not w.show_secrets and (field.is_secret or (field.is_config and w.hides_configs))
end

-- Takes so many bytes of a field, which begins at `start`.
local function take(w, node, length, start)
  local from = w.pos
  local to = from + length
  if to > w.stop then
    fail(w, "TRUNCATED", start, node)
  end
  w.pos = to
  return from, to
end

function read.integer(w, node, tree)
  local from, to = take(w, node, node.size, w.pos)
  local field = node.field
  if node.keep and node.size <= 4 then
    local value = node.unsigned and K.unsigned(w.data, from, node.size) or K.signed(w.data, from, node.size)
    w.value = value
    if field.is_kept then
      w.kept[field.name] = value
    end
    if field.is_error and value ~= 0 then
      w.errors[#w.errors + 1] = K.errors[value] or tostring(value)
    end
  end
  if field.is_kept and node.size == 8 then
    w.kept[field.name] = K.int64_at(w.data, from)
  end
  local made = item(w, tree, field.proto, from, to)
  if made and field.is_error then
    made:add(K.f.error_code, range(w, from, to)):set_hidden(true)
  end
end

function read.o(w, node, tree)
  local from, to = take(w, node, node.size, w.pos)
  local value = byte(w.data, from + 1)
  w.value = value ~= 0
  if node.field.is_kept then
    w.kept[node.field.name] = w.value
  end
  local made = item(w, tree, node.field.proto, from, to, value ~= 0)
  if value > 1 then
    note(w, made, "BOOL_NOT_0_OR_1")
  end
end

function read.u(w, node, tree)
  local from, to = take(w, node, node.size, w.pos)
  local field = node.field
  if not tree and not field.is_topic_id then
    return
  end
  local text = K.uuid(w.data, from)
  local made = item(w, tree, field.proto, from, to, text)
  if field.is_topic_id then
    w.value = text
    if text ~= K.no_uuid then
      w.topic = text
      local name = K.names[text]
      if made then
        made:add(K.f.topic_id, range(w, from, to), text):set_hidden(true)
        if name then
          made:append_text(" (" .. name .. ")")
          made:add(K.f.topic, range(w, from, to), name):set_generated(true)
        end
      end
      w.topics[#w.topics + 1] = name or text
    end
  end
end

function read.varint(w, node, tree)
  local data, from, stop = w.data, w.pos, w.stop
  local pos = from
  while true do
    if pos >= stop then
      fail(w, "TRUNCATED", from, node)
    end
    local part = byte(data, pos + 1)
    pos = pos + 1
    if part < 128 then
      if part == 0 and pos - from > 1 then
        odd(w, "OVERLONG_VARINT")
      end
      if pos - from == node.most and part >= node.room then
        odd(w, "VARINT_EXCESS_BITS")
      end
      break
    end
    if pos - from == node.most then
      fail(w, "VARINT_TOO_LONG", from, node)
    end
  end
  w.pos = pos
  local value = K.varint(data, from, pos, node.bits, node.zigzag)
  w.value = value
  w.kept[node.field.name] = value
  if type(value) == "number" and node.field.kind == "l" then
    value = Int64(value)
  end
  settle(w, item(w, tree, node.field.proto, from, pos, value) or tree)
end

-- The bytes behind a length: where they begin, nil for null.
local function sized(w, node, tree)
  local start = w.pos
  local length = node.prefix(w, start, node)
  local from = w.pos
  if length < 0 then
    check_null(w, node, length)
    w.value = nil
    settle(w, text_item(w, tree, start, from, node.field.name .. ": null") or tree)
    return nil
  end
  if length > node.longest then
    odd(w, "STRING_TOO_LONG")
  end
  return take(w, node, length, start)
end

function read.string(w, node, tree)
  local from, to = sized(w, node, tree)
  if not from then
    return
  end
  local field = node.field
  local text = sub(w.data, from + 1, to)
  w.value = text
  if field.is_kept then
    w.kept[field.name] = text
  end
  if field.is_topic and text ~= "" then
    w.topic = text
    w.topics[#w.topics + 1] = text
  end
  local made
  if hides(w, field) and to > from then
    made = K.redact(w, tree, field.name, from, to)
  elseif tree and w.room.left > 0 then
    w.room.left = w.room.left - 1
    if from == to then
      made = tree:add(field.proto, range(w, from, to), "")
    elseif text:find("\0", 1, true) and K.is_utf8(text) then -- Wireshark's strings would end there
      made = tree:add(field.proto, range(w, from, to), (text:gsub("%z", NUL)))
    else
      made = tree:add_packet_field(field.proto, range(w, from, to), ENC_UTF_8)
    end
    if field.is_topic and from < to then
      made:add_packet_field(K.f.topic, range(w, from, to), ENC_UTF_8):set_hidden(true)
    end
  end
  if not K.is_utf8(text) then
    odd(w, "INVALID_UTF8")
  end
  settle(w, made or tree)
end

function read.bytes(w, node, tree)
  local from, to = sized(w, node, tree)
  if not from then
    return
  end
  local field = node.field
  local is_hidden = hides(w, field) or (w.hides_records and (field.path == "key" or field.path == "value"))
  if is_hidden and to > from then
    settle(w, K.redact(w, tree, field.name, from, to) or tree)
    if field.is_secret then
      K.payloads.of_field(w, node, tree, from, to)
    end
  elseif field.carries then
    K.payloads.forwarded_request(w, node, tree, from, to)
  else
    local made = item(w, tree, field.proto, from, to)
    settle(w, made or tree)
    K.payloads.of_field(w, node, made, from, to)
  end
end

function read.records(w, node, tree)
  local from, to = sized(w, node, tree)
  if not from then
    return
  end
  local made = item(w, tree, node.field.proto, from, to)
  settle(w, made or tree)
  if made and to > from then
    made:set_text(string.format("%s: %d bytes", node.field.name, to - from))
    if K.proto.prefs.records then
      K.record_set(w, made, from, to)
    end
  end
end
