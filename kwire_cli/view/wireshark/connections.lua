-- Connections: which side is the client, which request a response answers, and where frames begin. All of it is
-- found out when Wireshark passes over the packets for the first time, and kept by packet: later it may ask for any
-- packet, in any order.

local MOST_SIZE = 104857600 -- 100 MiB, the most that a broker takes by default
local SASL_HANDSHAKE = 17
local NEWER = 8 -- how far above the known versions a request's version may be
local MOST_PENDING = 10000

function K.forget()
  K.streams, K.cuts, K.names = {}, {}, {[K.metadata_id] = K.metadata_topic}
  K.no_uuid = string.rep("A", 22)
end

K.forget()

function K.stream(number)
  local stream = K.streams[number]
  if not stream then
    stream = {pending = {}, first = 1, last = 0, begun = {}}
    K.streams[number] = stream
  end
  return stream
end

-- Whether the bytes at `at` begin a request, as far as `stop`: a possible size, a known api, a version near the known
-- ones, a client id that is text. The second value: whether it names its client, and the name is there.
function K.reads_as_request(data, at, stop)
  if stop - at < 12 then
    return false
  end
  local size = K.signed(data, at, 4)
  local api = K.apis[K.signed(data, at + 4, 2)]
  local version = K.signed(data, at + 6, 2)
  if size < 8 or size > MOST_SIZE or not api or not api[2] or version < 0 then
    return false
  end
  local message = K.messages[api[2]]
  if version > message.high + NEWER and api[1] ~= "ApiVersions" then
    return false
  end
  local header = K.header_version(message, version)
  if header == 0 then
    return true, false
  end
  if stop - at < 14 then
    return size >= 10
  end
  local length = K.signed(data, at + 12, 2)
  local past = at + 14 + math.max(length, 0)
  if length < -1 or past + (header == 2 and 1 or 0) > at + 4 + size then
    return false
  end
  local text = data:sub(at + 15, math.min(past, stop))
  if text:find("%c") or (past <= stop and not K.is_utf8(text)) then
    return false
  end
  return true, length > 0 and past <= stop
end

-- Walk the request in a whole frame without a tree. Whether it is well-formed, and the walk over its body.
local function read_ahead(data, at, stop)
  local message, version = K.messages[K.apis[K.signed(data, at + 4, 2)][2]], K.signed(data, at + 6, 2)
  local bytes = {room = {left = 0}, base = 0, data = data}
  local header = K.trial(bytes, at + 4, stop)
  local good = K.walk(header, K.layout(K.messages.RequestHeader, K.header_version(message, version)), nil, true)
  local body = K.trial(bytes, header.pos, stop)
  return K.walk(body, K.layout(message, version), nil) and good, body
end

-- Whether a whole frame is surely a request: it names its client, and its body fits.
function K.surely_request(data, at, stop)
  local reads, named = K.reads_as_request(data, at, stop)
  return reads and named and K.signed(data, at, 4) == stop - at - 4 and (read_ahead(data, at, stop))
end

-- Learn from a frame which end of a stream is the client.
local function learn_client(stream, from, data, at, stop)
  if stream.sure then
    return
  end
  if K.surely_request(data, at, stop) then
    if stream.client ~= from then
      stream.client = from
      stream.pending, stream.first, stream.last = {}, 1, 0
    end
    stream.sure = true
  elseif not stream.client and K.reads_as_request(data, at, stop) then
    stream.client = from
  end
end

local function wait_for(stream, frame)
  stream.last = stream.last + 1
  stream.pending[stream.last] = frame
  if stream.last - stream.first >= MOST_PENDING then
    stream.pending[stream.first] = nil
    stream.first = stream.first + 1
  end
end

local function request_of(stream, correlation_id)
  for i = stream.first, stream.last do
    local request = stream.pending[i]
    if request.correlation_id == correlation_id then
      for j = stream.first, i do
        stream.pending[j] = nil
      end
      stream.first = i + 1
      return request
    end
  end
end

local function is_pending(stream, correlation_id)
  for i = stream.first, stream.last do
    if stream.pending[i].correlation_id == correlation_id then
      return true
    end
  end
  return false
end

-- The acks of a Produce request; nil where they can't be read.
local function acks_of(data, at, stop)
  local _, body = read_ahead(data, at, stop)
  return body.kept.acks
end

-- Whether a whole frame can't be a request: no api has its key, and its client id is none; or it is too short.
local function is_no_request(data, at, stop)
  if stop - at < 12 then
    return true
  elseif K.apis[K.signed(data, at + 4, 2)] then
    return false
  end
  local length = stop - at >= 14 and K.signed(data, at + 12, 2)
  return not length or length > stop - at - 14
end

-- What a frame is, at the first pass. `number` and `time` are the packet's.
function K.classify(stream, from, data, at, stop, number, time)
  learn_client(stream, from, data, at, stop)
  local frame = {number = number, time = time}
  local size = stop - at - 4
  if stream.client == from then
    local reads = K.reads_as_request(data, at, stop)
    if stream.tokens and reads then
      stream.tokens = false
    end
    if not reads then
      local last = stream.pending[stream.last]
      local handshaken = last and last.key == SASL_HANDSHAKE and last.version == 0
      local first = not stream.served and (is_no_request(data, at, stop) or data:byte(at + 5) == 0x60)
      if stream.tokens or handshaken or first or size < 8 then
        stream.tokens = true
        frame.kind = "sasl-token"
        return frame
      end
    end
    frame.kind = "request"
    frame.key, frame.version = K.signed(data, at + 4, 2), K.signed(data, at + 6, 2)
    frame.correlation_id = K.signed(data, at + 8, 4)
    frame.api = K.apis[frame.key]
    stream.served = true
    if not (frame.key == 0 and frame.api and acks_of(data, at, stop) == 0) then
      wait_for(stream, frame)
    end
    return frame
  end
  if stream.tokens then
    frame.kind = "sasl-token"
    return frame
  end
  if size < 4 then
    frame.kind = "unknown"
    return frame
  end
  frame.kind = "response"
  frame.correlation_id = K.signed(data, at + 4, 4)
  local request = request_of(stream, frame.correlation_id)
  if request then
    frame.request = request
    request.response = frame
    frame.key, frame.version, frame.api = request.key, request.version, request.api
  end
  return frame
end

-- Whether a frame answers a SaslHandshake version 0 without an error, which is followed by tokens.
function K.accepts_tokens(frame, data, at, stop)
  return frame.kind == "response" and frame.key == SASL_HANDSHAKE and frame.version == 0 and stop - at >= 10
    and K.signed(data, at + 8, 2) == 0
end

-- Whether a frame may begin at `at`. Bytes in which a loss or the start of the capture cut a frame are none.
function K.may_begin(stream, from, data, at, stop)
  if stop - at < 4 then
    return true
  end
  local size = K.signed(data, at, 4)
  if size < 0 or size > MOST_SIZE then
    return false
  end
  if stream.tokens then
    return true
  end
  if stream.client == from then
    if stop - at < 12 or K.reads_as_request(data, at, stop) then
      return true
    end
    local last = stream.pending[stream.last]
    local handshaken = last and last.key == SASL_HANDSHAKE and last.version == 0
    local token = not stream.served and size > 0 and data:byte(at + 5) == 0x60
    return handshaken or token or at + 4 + size == stop
  end
  if stop - at < 8 then
    return true
  end
  if is_pending(stream, K.signed(data, at + 4, 4)) then
    return true
  end
  if stream.client == nil and K.reads_as_request(data, at, stop) then
    return true
  end
  -- An answer whose request was not seen: its size has to lead to the end of the data, by way of other frames or not.
  local next_at = at
  while stop - next_at >= 4 do
    local more = K.signed(data, next_at, 4)
    if more < 4 or more > MOST_SIZE then
      return false
    end
    next_at = next_at + 4 + more
  end
  return next_at == stop or (stream.begun[from] == true and stream.first > stream.last)
end

-- Where a frame begins behind `at`, or nil: a request that names its client, or an answer to a request that waits.
function K.find_frame(stream, from, data, at, stop)
  for place = at + 1, stop - 12 do
    local first = data:byte(place + 1)
    if first < 7 then
      if stream.client ~= from then
        local size = K.signed(data, place, 4)
        if size >= 4 and size <= MOST_SIZE and is_pending(stream, K.signed(data, place + 4, 4)) then
          return place
        end
      end
      if stream.client == nil or stream.client == from then
        local reads, named = K.reads_as_request(data, place, stop)
        if reads and named then
          return place
        end
      end
    end
  end
end
