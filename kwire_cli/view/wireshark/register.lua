-- The dissector itself: TCP payload in, frames out; and where Wireshark calls it from.

local stream_of, tls_record = Field.new("tcp.stream"), Field.new("tls.record")
local last = {}

-- The budget of a packet, which may come in several pieces.
local function budget_of(number, offset)
  if last.number ~= number or offset <= last.offset then
    last.budget = K.budget()
  end
  last.number, last.offset = number, offset
  return last.budget
end

local function titles(names, room)
  local out, seen = {}, {}
  for _, name in ipairs(names) do
    if not seen[name] then
      seen[name] = true
      out[#out + 1] = K.short(name)
    end
    if #out == room then
      break
    end
  end
  return table.concat(out, ", ")
end

local function summary(title, w)
  local topics, errors = titles(w.topics, 3), titles(w.errors, 3)
  return title .. (topics ~= "" and " (" .. topics .. ")" or "") .. (errors ~= "" and " " .. errors or "")
end

local function gap(tvb, tree, from, to)
  local made = tree:add(K.proto, tvb(from, to - from), "Kafka: bytes in which no frame was recognised")
  local text = string.format("<redacted %d bytes>", to - from)
  made:add(K.f.redacted, tvb(from, to - from), text):set_text(string.format("not recognised: %d bytes", to - from))
end

-- The ends of a packet, and which of them is a broker by its port.
local function ends_of(pinfo)
  local from = tostring(pinfo.src) .. ":" .. pinfo.src_port
  local to = tostring(pinfo.dst) .. ":" .. pinfo.dst_port
  local function is_broker(port)
    return K.ports[port] or port == pinfo.match_uint
  end
  local here, there = is_broker(pinfo.src_port), is_broker(pinfo.dst_port)
  if not here == not there then
    return from, to, nil
  end
  return from, to, here and from or to
end

-- Cut the data into frames and gaps, at the first pass: {from, to, frame}, and how many bytes the last frame lacks.
local function cut(pinfo, data, whole)
  local size, at, cuts = #data, 0, {}
  local number = stream_of()
  local stream = K.stream(number and number.value or -1)
  local from, to, broker = ends_of(pinfo)
  if not stream.client and broker then -- until a frame tells more
    stream.client = broker == to and from or to
  end
  -- What is within TLS can be put together, though Wireshark 4.0 says that it can't.
  local joins = whole and (pinfo.can_desegment > 0 or tls_record() ~= nil)
  local time = NSTime.new(math.floor(pinfo.abs_ts), math.floor(pinfo.abs_ts % 1 * 1000000000))
  while at < size do
    local wanted = size - at >= 4 and K.signed(data, at, 4) + 4
    local stop = wanted and at + wanted
    if not K.may_begin(stream, from, data, at, size) then
      stop = K.find_frame(stream, from, data, at, size) or size
      cuts[#cuts + 1] = {at, stop}
    elseif wanted and stop <= size or not joins then
      stop = math.min(stop or size, size)
      if stop - at < 4 then
        cuts[#cuts + 1] = {at, stop}
      else
        local frame = K.classify(stream, from, data, at, stop, pinfo.number, time)
        stream.begun[from] = true
        cuts[#cuts + 1] = {at, stop, frame}
        if K.accepts_tokens(frame, data, at, stop) then
          stream.tokens = true
        end
      end
    else
      cuts.rest, cuts.missing = at, wanted and stop - size or DESEGMENT_ONE_MORE_SEGMENT
      break
    end
    at = stop
  end
  return cuts
end

local function dissect(tvb, pinfo, tree)
  local size = tvb:len()
  local data = tvb:raw(0, size)
  local key = string.format("%d:%d:%d", pinfo.number, tvb:offset(), size)
  local cuts = K.cuts[key]
  if not cuts or not pinfo.visited then
    cuts = cut(pinfo, data, tvb:reported_len() == size)
    K.cuts[key] = cuts
  end
  local budget = budget_of(pinfo.number, tvb:offset())
  local shown = {}
  for _, piece in ipairs(cuts) do
    local at, stop, frame = piece[1], piece[2], piece[3]
    if frame then
      local title, w = K.frame(tvb, data, at, stop, frame, tree, budget, K.proto.prefs.secrets)
      shown[#shown + 1] = summary(title, w)
    else
      gap(tvb, tree, at, stop)
    end
  end
  if cuts.rest then
    pinfo.desegment_offset, pinfo.desegment_len = cuts.rest, cuts.missing
  end
  pinfo.cols.protocol = "Kafka"
  if #shown > 0 then
    pinfo.cols.info = table.concat(shown, "; ")
  end
  return size
end

function K.proto.dissector(tvb, pinfo, tree)
  local good, result = pcall(dissect, tvb, pinfo, tree)
  if good then
    return result
  end
  -- A fault of this file, not of the packet. What was dissected up to here stays.
  local text = "the dissector failed: " .. tostring(result)
  tree:add(K.proto, tvb(), "Kafka: " .. text):add_proto_expert_info(K.failed, text)
  return tvb:len()
end

-- Whether data begin a connection of Kafka's: with a request of a known version that names its client and whose body
-- fits. Of a request that goes on in the next packet the header has to do.
local function begins(tvb)
  local size = tvb:len()
  if size < 15 then
    return false
  end
  local data = tvb:raw(0, size)
  local reads, named = K.reads_as_request(data, 0, size)
  if not reads or not named or K.signed(data, 6, 2) > K.messages[K.apis[K.signed(data, 4, 2)][2]].high then
    return false
  end
  local stop = 4 + K.signed(data, 0, 4)
  return stop > size or K.surely_request(data, 0, stop)
end

local function in_tcp(tvb, pinfo, tree)
  if not begins(tvb) then
    return false
  end
  pinfo.conversation = K.proto
  K.proto.dissector(tvb, pinfo, tree)
  return true
end

-- Within TLS a conversation is TLS's own, and has to be remembered here.
local function in_tls(tvb, pinfo, tree)
  local number = stream_of()
  local stream = K.stream(number and number.value or -1)
  stream.is_kafka = stream.is_kafka or begins(tvb)
  if stream.is_kafka then
    K.proto.dissector(tvb, pinfo, tree)
  end
  return stream.is_kafka
end

function K.proto.init()
  K.forget()
end

-- Ports: those of the preference, and any that Decode As names.

local tables = {DissectorTable.get("tcp.port"), DissectorTable.get("tls.port")}

local function use_ports(text)
  if K.port_text == text then
    return
  end
  for _, table_of_ports in ipairs(tables) do
    if K.port_text and K.port_text ~= "" then
      table_of_ports:remove(K.port_text, K.proto)
    end
    if text ~= "" then
      table_of_ports:add(text, K.proto)
    end
  end
  K.port_text, K.ports = text, {}
  for first, last_port in text:gmatch("(%d+)%-?(%d*)") do
    for port = tonumber(first), tonumber(last_port) or tonumber(first) do
      K.ports[port] = true
    end
  end
end

function K.proto.prefs_changed()
  use_ports(tostring(K.proto.prefs.ports))
end

use_ports("9092-9099")
K.proto:register_heuristic("tcp", in_tcp)
K.proto:register_heuristic("tls", in_tls)
