-- Messages in the fields of messages: requests and responses that Envelopes carry, members' subscriptions and
-- assignments, and the records of Kafka's own topics.

K.payloads = {}
local payloads = K.payloads

-- A copy of a walk's surroundings for bytes inside it.
local function inner(w, trial)
  return {tvb = w.tvb, base = w.base, data = w.data, room = w.room, topics = trial and {} or w.topics,
    errors = trial and {} or w.errors, show_secrets = w.show_secrets, frame = w.frame, trial = trial}
end

-- Read a header and a body in [from, to); whether all was well-formed, and how much was redacted.
local function whole(w, api, version, kind, tree, from, to, trial)
  local message = K.messages[api[kind == "request" and 2 or 3]]
  local outer = inner(w, trial)
  local header_message = K.messages[kind == "request" and "RequestHeader" or "ResponseHeader"]
  local header = K.walker(outer, w.tvb, w.base, w.data, from, to)
  local good = K.walk(header, K.layout(header_message, K.header_version(message, version)), tree, true)
  if header.gap then
    return false, 0
  end
  local body, fine = K.body(outer, message, version, tree, header.pos, to)
  return good and fine, body.redactions
end

-- The request in an EnvelopeRequest. Its bytes are shown if nothing in them is secret.
function payloads.forwarded_request(w, node, tree, from, to)
  local api, version
  if to - from >= 8 then
    local key = K.signed(w.data, from, 2)
    version = K.signed(w.data, from + 2, 2)
    api = key ~= 58 and K.apis[key] or nil
    if api and not api[2] then
      api = nil
    end
  end
  local good, redactions = false, 0
  if api then
    good, redactions = whole(w, api, version, "request", nil, from, to, true)
  end
  local hides = not w.show_secrets and (not good or redactions > 0)
  local made = K.guarded(w, tree, node.field.proto, node.field.name, from, to, hides)
  if made and good then
    whole(w, api, version, "request", made, from, to, false)
  end
end

-- What the bytes of other fields hold, behind a version: shown if all of it fits. `made` is their item.
function payloads.of_field(w, node, made, from, to)
  local message = node.field.held and K.messages[node.field.held]
  if not made or not message or to - from < 2 then
    return
  end
  local kind = w.kept.protocolType
  local version = K.signed(w.data, from, 2)
  if (kind and kind ~= "consumer") or version < message.low or version > message.high then
    return
  end
  local _, fits = K.body(inner(w, true), message, version, nil, from + 2, to)
  if fits then
    K.body(inner(w, false), message, version, made, from + 2, to)
  end
end

-- The name of a record's message, its version, and where it begins in [from, to); nil where it is not known.
local function record_message(w, part, from, to)
  local own = K.topics[w.own_topic]
  if not own or to - from < 2 then
    return nil
  end
  if own.framed then
    if part == "key" then
      return nil
    end
    local numbers, pos = {}, from
    for i = 1, 3 do
      local start = pos
      while pos < to and pos - start < 5 and w.data:byte(pos + 1) >= 128 do
        pos = pos + 1
      end
      if pos >= to then
        return nil
      end
      pos = pos + 1
      numbers[i] = K.varint(w.data, start, pos, 32, false)
    end
    local kind = own.types[numbers[2]]
    if numbers[1] ~= 1 or not kind then
      return nil
    end
    return kind[2], numbers[3], pos
  end
  local number = K.signed(w.data, from, 2)
  if part == "key" then
    w.key_type = number
    local kind = own.types[number]
    if kind then
      return kind[1], kind[3], from + 2
    end
    return nil
  end
  local kind = own.types[w.key_type]
  if kind then
    return kind[2], number, from + 2
  end
end

-- The key or value of a record in one of Kafka's own topics: shown if it is understood and has no secret.
function payloads.of_record(w, node, tree, from, to)
  local part = node.field.path
  if w.is_control then
    payloads.of_control(w, node, tree, from, to)
    return
  end
  local name, version, start = record_message(w, part, from, to)
  local message = name and K.messages[name]
  local good, redactions = false, 0
  if message then
    local outer = inner(w, true)
    local body, fine = K.body(outer, message, version, nil, start, to)
    good, redactions = fine, body.redactions
  end
  local hides = not w.show_secrets and (not good or redactions > 0)
  local made = K.guarded(w, tree, node.field.proto, part, from, to, hides)
  if made and message and (good or w.show_secrets) then
    K.body(inner(w, false), message, version, made, start, to)
  end
end

local MARKERS = {[0] = "ABORT", [1] = "COMMIT"}

-- The key or value of a control record: the key tells which it is.
function payloads.of_control(w, node, tree, from, to)
  local made = K.item(w, tree, node.field.proto, from, to)
  if node.field.path == "key" then
    local number = to - from >= 4 and K.signed(w.data, from + 2, 2)
    w.control = number
    local control = K.controls[number]
    if made and number then
      made:add(K.f.control, MARKERS[number] or (control and control[1]) or "UNKNOWN"):set_generated(true)
    end
    return
  end
  local control = K.controls[w.control]
  if made and control then
    K.body(inner(w, false), K.messages[control[2]], 0, made, from, to)
  elseif made and MARKERS[w.control] and to - from >= 2 then
    K.body(inner(w, false), K.messages.EndTxnMarker, K.signed(w.data, from, 2), made, from + 2, to)
  end
end
