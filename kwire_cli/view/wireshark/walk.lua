-- The walk over the bytes of one message by its layout. The rules are those of kwire's kernel (engine/kernel.py):
-- accept what Kafka's readers accept, note what a correct writer would not have written, and stop where nothing can
-- go on.

local byte, read = string.byte, K.read
local item, text_item, note, odd, settle = K.item, K.text_item, K.note, K.odd, K.settle
local fail, uvarint, check_null = K.fail, K.uvarint, K.check_null

-- What holds others

function read.array(w, node, tree)
  local start = w.pos
  local count = node.prefix(w, start, node)
  local element, field = node.element, node.field
  local made
  if tree then
    local proto = element.is_struct and field.proto or K.f.count
    made = item(w, tree, proto, start, w.pos, count < 0 and -1 or count)
    if made then
      made:set_text(string.format("%s: %s", field.name, count < 0 and "null" or tostring(count)))
    end
  end
  if count <= 0 then
    if count < 0 then
      check_null(w, node, count)
    end
    settle(w, made or tree)
    return
  end
  if count > w.stop - w.pos then
    odd(w, "COUNT_MISMATCH")
  end
  settle(w, made or tree)
  local empty = 0
  for i = 0, count - 1 do
    local before = w.pos
    if element.is_struct then
      local inner = text_item(w, made, before, before, string.format("[%d]", i))
      w.label = nil
      element.read(w, element, inner)
      if inner then
        if element.label and w.label ~= nil then
          inner:append_text(": " .. K.short(tostring(K.names[w.label] or w.label)))
        end
        inner:set_len(w.pos - before)
      end
    else
      element.read(w, element, made)
    end
    if w.pos == before then
      empty = empty + 1
      if empty > w.stop - w.start then
        fail(w, "INVALID_LENGTH", start, node)
      end
    end
  end
  if made then
    made:set_len(w.pos - start)
  end
end

local KAFKA_CONFIG = "^[%w._-]*$"

-- Whether the value of a config is secret: by its name, which a damaged name can't tell.
local function is_sensitive(name)
  if type(name) ~= "string" or not name:find(KAFKA_CONFIG) then
    return true
  end
  name = name:lower()
  for _, word in ipairs(K.sensitive) do
    if name:find(word, 1, true) then
      return true
    end
  end
  return false
end

-- Whether a struct holds the value of a sensitive config. What tells it may stand behind the value.
local function holds_secret(w, node)
  local ahead = setmetatable({kept = {}, notes = {}, errors = {}, topics = {}, redactions = 0, odd = nil, ahead = true},
    {__index = w})
  local name, sensitive
  local good = pcall(function()
    for i = 1, #node do
      local part = node[i]
      ahead.value = nil
      part.read(ahead, part, nil)
      if part.field and (part.field.name == "name" or part.field.name == "key") then
        name = ahead.value
      elseif part.field and part.field.name == "isSensitive" then
        sensitive = ahead.value
      end
    end
  end)
  return not good or sensitive or is_sensitive(name)
end

local function read_tags(w, tags, tree)
  local start = w.pos
  local count = uvarint(w, start)
  if count <= 0 then
    if count < 0 then
      odd(w, "NEGATIVE_LENGTH")
    end
    settle(w, tree)
    return
  end
  settle(w, tree)
  local last, seen = -1, {}
  for _ = 1, count do
    local head = w.pos
    local tag = uvarint(w, head)
    local of_tag = w.odd -- kept apart, as it is lost where the size can't be read
    w.odd = nil
    local size = uvarint(w, head)
    for _, code in ipairs(of_tag or {}) do
      odd(w, code)
    end
    if tag < last or tag < 0 then
      odd(w, "TAG_ORDER")
    end
    if seen[tag] then
      odd(w, "TAG_DUPLICATE")
    end
    last, seen[tag] = tag, true
    local node = tags.known[tag]
    if node then
      settle(w, tree)
      local stop = w.pos + size
      node.read(w, node, tree)
      if w.pos ~= stop then
        note(w, tree, "TAG_SIZE_MISMATCH")
      end
    else
      if tags.invalid[tag] then
        odd(w, "TAG_NOT_VALID")
      end
      if size < 0 then
        fail(w, "INVALID_LENGTH", head)
      elseif size > w.stop - w.pos then
        fail(w, "TRUNCATED", head)
      end
      local from = w.pos
      w.pos = from + size
      local made
      if w.hides_unknown and size > 0 then
        made = K.redact(w, tree, string.format("unknown tag %d", tag), from, w.pos)
      else
        made = item(w, tree, K.f.unknown_tag, from, w.pos)
        if made then
          made:prepend_text(string.format("%d: ", tag))
        end
      end
      settle(w, made or tree)
    end
  end
end

local function read_parts(w, node, tree, first, last)
  local name, id, label
  for i = first, last do
    local part = node[i]
    local field = part.field
    w.value = nil
    part.read(w, part, tree)
    if node.names_topic and field then
      if field.is_topic then
        name = w.value
      elseif field.is_topic_id then
        id = w.value
      end
    end
    if i == node.label then
      label = w.value
    end
  end
  if name and id and name ~= "" and id ~= K.no_uuid and not w.ahead and not w.trial then
    K.names[id] = name
  end
  return label
end

function read.struct(w, node, tree)
  local from, outer = w.pos, w.hides_configs
  local made = tree
  if node.field and tree then
    made = item(w, tree, node.field.proto, from, from)
  end
  if node.holds_config and not w.show_secrets and not outer and not w.ahead then
    w.hides_configs = holds_secret(w, node)
  end
  local label = read_parts(w, node, made, 1, #node)
  if node.tags then
    read_tags(w, node.tags, made)
  end
  w.hides_configs = outer
  w.label = label
  if node.field and made then
    made:set_len(w.pos - from)
  end
end

function read.nullable(w, node, tree)
  local start = w.pos
  local null
  if node.tagged then
    local mark = uvarint(w, start, node)
    if mark ~= 0 and mark ~= 1 then
      odd(w, "PRESENCE_NOT_0_OR_1")
    end
    null = mark <= 0
  else
    if start >= w.stop then
      fail(w, "TRUNCATED", start, node)
    end
    local mark = byte(w.data, start + 1)
    w.pos = start + 1
    if mark ~= 1 and mark ~= 255 then
      odd(w, "PRESENCE_NOT_0_OR_1")
    end
    null = mark >= 128
  end
  if null then
    settle(w, text_item(w, tree, start, w.pos, node.field.name .. ": null") or tree)
    return
  end
  settle(w, tree)
  node.struct.read(w, node.struct, tree)
end

function read.sized_struct(w, node, tree)
  local size_at = node.size_at
  read_parts(w, node, tree, 1, size_at)
  local stop = w.pos + w.value
  local label = read_parts(w, node, tree, size_at + 1, #node)
  if w.pos ~= stop then
    note(w, tree, "RECORD_SIZE_MISMATCH")
  end
  w.label = label
end

-- Whole messages

-- Walk a whole message. Whether it is well-formed to the last byte; what could not be read is a gap.
function K.walk(w, layout, tree, open)
  local good, fault = pcall(layout.read, w, layout, tree)
  if good then
    if w.pos == w.stop or open then
      return #w.notes == 0
    end
    odd(w, "TRAILING_BYTES")
    w.gap = w.pos
  elseif fault ~= K.stop then
    error(fault, 0)
  end
  local detail = w.lost and string.format(" in %s", w.lost) or ""
  local made = K.guarded(w, tree, K.f.gap, "gap", w.gap, w.stop, w.hides_gap)
  if made then
    made:append_text(detail)
  end
  settle(w, made or tree)
  w.pos = w.stop
  return false
end

-- Walk the bytes [from, to) as a message of a version. A message that can hold secrets is shown only if it is
-- well-formed, as any field of a malformed one may have bytes of a secret. The walk, and whether all was well-formed.
function K.body(outer, message, version, tree, from, to)
  local layout, guess = K.layout(message, version)
  local w = K.walker(outer, outer.tvb, outer.base, outer.data, from, to)
  w.trial, w.message, w.version = outer.trial, message, version
  local made = tree and item(w, tree, message.proto, from, to)
  if made then
    made:append_text(string.format(" version %d", version))
  end
  local careful = message.secret and not w.show_secrets
  w.hides_unknown = careful and message.secret == "always"
  if careful then
    local ahead = K.trial(w, from, to)
    ahead.message, ahead.version, ahead.hides_unknown = message, version, w.hides_unknown
    if not K.walk(ahead, layout, nil) or guess then
      for _, code in ipairs(ahead.notes) do
        note(w, made, code)
      end
      if to > from then
        K.redact(w, made, message.name, from, to)
      end
      if guess then
        note(w, made, "UNKNOWN_VERSION")
      end
      return w, false
    end
  end
  local good = K.walk(w, layout, made)
  if guess then
    note(w, made, "UNKNOWN_VERSION",
      string.format("%s has versions %d-%d; %d was decoded by the layout of the nearest one", message.name, message.low,
        message.high, version))
  end
  return w, good and not guess
end
