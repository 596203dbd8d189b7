-- Messages in the fields of messages: requests and responses that Envelopes carry, and members' subscriptions and
-- assignments.

K.payloads = {}
local payloads = K.payloads

-- Read the header and the body of a request in [from, to); whether all was well-formed, and how much was redacted.
local function whole(w, api, version, tree, from, to)
  local message = K.messages[api[2]]
  local header = K.walker(w, w.tvb, w.base, w.data, from, to)
  local good = K.walk(header, K.layout(K.messages.RequestHeader, K.header_version(message, version)), tree, true)
  if header.gap then
    return false, 0
  end
  local body, fine = K.body(w, message, version, tree, header.pos, to)
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
    good, redactions = whole(K.trial(w, from, to), api, version, nil, from, to)
  end
  local hides = not w.show_secrets and (not good or redactions > 0)
  local made = K.guarded(w, tree, node.field.proto, node.field.name, from, to, hides)
  if made and good then
    whole(w, api, version, made, from, to)
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
  local _, fits = K.body(K.trial(w, from, to), message, version, nil, from + 2, to)
  if fits then
    K.body(w, message, version, made, from + 2, to)
  end
end
