-- Frames: size, header and body of a request or response as a tree.

local MOST_ITEMS = 250000 -- of a packet, some of which are three; Wireshark stops at a million

local function describe(frame)
  local name = frame.api and frame.api[1] or (frame.key and string.format("api %d", frame.key)) or "unknown api"
  if frame.kind == "sasl-token" then
    return "SASL token"
  elseif frame.kind == "unknown" then
    return "unknown frame"
  end
  local version = frame.version and string.format(" v%d", frame.version) or ""
  return name .. version .. (frame.kind == "request" and " request" or " response")
end

local function add_about(tree, frame)
  local function add(field, value)
    tree:add(field, value):set_generated(true)
  end
  add(K.f.kind, frame.kind)
  if frame.api then
    add(K.f.api, frame.api[1])
  end
  if frame.kind == "response" and frame.key then
    add(K.f.api_key, frame.key)
    add(K.f.api_version, frame.version)
  end
  if frame.request then
    add(K.f.request_frame, frame.request.number)
    add(K.f.latency, frame.time - frame.request.time)
  elseif frame.response then
    add(K.f.response_frame, frame.response.number)
  end
end

local function header_of(w, tree, frame, version)
  local message = K.messages[frame.kind == "request" and "RequestHeader" or "ResponseHeader"]
  local made = K.item(w, tree, message.proto, w.pos, w.stop)
  local header = K.walker(w, w.tvb, w.base, w.data, w.pos, w.stop)
  header.hides_gap = w.hides_gap
  K.walk(header, K.layout(message, version), made, true)
  if made then
    made:set_len(header.pos - w.pos)
  end
  if not header.gap then
    w.pos = header.pos
  end
  return not header.gap
end

local function response_body(w, message, frame, made)
  local body, good = K.body(w, message, frame.version, nil, w.pos, w.stop)
  if good or frame.key ~= 18 or frame.version == 0 then
    return frame.version
  end
  local old, fits = K.body(K.trial(w, w.pos, w.stop), message, 0, nil, w.pos, w.stop)
  if fits and old.kept.errorCode == 35 then
    K.note(w, made, "VERSION_FALLBACK")
    return 0
  end
  return frame.version
end

-- Dissect the frame in [at, stop) of the data of `tvb`, whose first byte is that of `data`.
function K.frame(tvb, data, at, stop, frame, root, budget, show_secrets)
  local w = K.walker({room = budget, topics = {}, errors = {}, show_secrets = show_secrets, frame = frame}, tvb, 0,
    data, at, stop)
  local title = describe(frame)
  local tree = root and root:add(K.proto, tvb(at, stop - at), "Kafka " .. title)
  if tree then
    local size = K.item(w, tree, K.f.size, at, at + 4, stop - at)
    add_about(tree, frame)
    if K.signed(data, at, 4) ~= stop - at - 4 then
      K.note(w, size, "FRAME_SIZE_MISMATCH")
    end
  end
  w.pos = at + 4
  if frame.kind == "sasl-token" or frame.kind == "unknown" then
    if stop > w.pos then
      K.guarded(w, tree, K.f.gap, frame.kind == "unknown" and "gap" or "token", w.pos, stop, not show_secrets)
    end
    return title, w
  end
  local name = frame.api and frame.api[frame.kind == "request" and 2 or 3]
  local message = name and K.messages[name]
  w.hides_gap = not show_secrets and (not message or message.secret ~= nil)
  if not message then
    if frame.kind == "request" then
      local ahead = K.trial(w, w.pos, stop)
      local flexible = K.walk(ahead, K.layout(K.messages.RequestHeader, 2), nil, true)
      header_of(w, tree, frame, flexible and 2 or 1)
      if tree then
        K.note(w, tree, "UNKNOWN_API")
      end
    else
      header_of(w, tree, frame, 0)
    end
    if stop > w.pos then
      K.guarded(w, tree, K.f.gap, "gap", w.pos, stop, w.hides_gap)
    end
    return title, w
  end
  if not header_of(w, tree, frame, K.header_version(message, frame.version)) then
    return title, w
  end
  local version = frame.version
  if frame.kind == "request" and frame.key == 18 and version == 0 and data:sub(w.pos + 1, stop) == "\0\0\0\0" then
    K.note(w, tree, "EXTRA_HEADER_BYTES")
    w.pos = stop
  elseif frame.kind == "response" and frame.key == 18 then
    version = response_body(w, message, frame, tree)
  end
  K.body(w, message, version, tree, w.pos, stop)
  if tree and budget.left <= 0 then
    tree:append_text(string.format(" (only %d of its fields are shown)", MOST_ITEMS))
  end
  return title, w
end

function K.budget()
  return {left = MOST_ITEMS}
end
