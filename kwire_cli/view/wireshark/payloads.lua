-- Messages in the fields of messages: requests and responses that Envelopes carry, and members' subscriptions and
-- assignments.

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
