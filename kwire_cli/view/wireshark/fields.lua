-- The protocol, its preferences and its fields. Wireshark wants all fields when it loads the file.

K.proto = Proto("kwire", "Kafka (kwire)")
K.proto.prefs.secrets = Pref.bool("Show secrets", false,
  "Show SASL tokens, keys and sensitive configs as fields. The bytes of a packet are in the file in any case.")
K.proto.prefs.ports = Pref.range("Ports of brokers", "9092-9099", "TCP ports whose data are taken for Kafka's.", 65535)
K.proto.prefs.records = Pref.bool("Dissect records", true, "Dissect record batches that are not compressed.")

local all = {}

local function own(name, field)
  all[#all + 1] = field
  K.f = K.f or {}
  K.f[name] = field
end

local API_NAMES = {}
for key, api in pairs(K.apis) do
  API_NAMES[key] = api[1]
end

own("size", ProtoField.int32("kwire.size", "size", base.DEC, nil, 0, "Bytes of the frame with its size prefix"))
own("kind", ProtoField.string("kwire.kind", "kind", base.UNICODE, "request, response or sasl-token"))
own("api", ProtoField.string("kwire.api", "api"))
own("api_key", ProtoField.int16("kwire.api_key", "apiKey", base.DEC, API_NAMES))
own("api_version", ProtoField.int16("kwire.api_version", "apiVersion"))
own("correlation_id", ProtoField.int32("kwire.correlation_id", "correlationId"))
own("client_id", ProtoField.string("kwire.client_id", "clientId", base.UNICODE))
own("request_frame", ProtoField.framenum("kwire.request_frame", "request in frame", base.NONE, frametype.REQUEST))
own("response_frame", ProtoField.framenum("kwire.response_frame", "response in frame", base.NONE, frametype.RESPONSE))
own("latency", ProtoField.relative_time("kwire.latency", "latency"))
own("topic", ProtoField.string("kwire.topic", "topic", base.UNICODE, "Any topic, by name"))
own("topic_id", ProtoField.string("kwire.topic_id", "topic id", base.UNICODE, "Any topic id"))
own("error_code", ProtoField.int16("kwire.error_code", "error", base.DEC, K.errors, nil, "Any error code"))
own("count", ProtoField.int32("kwire.count", "count", base.DEC, nil, 0, "Elements of an array of numbers or texts"))
own("anomaly", ProtoField.string("kwire.anomaly", "anomaly", base.UNICODE, "The code of what is wrong"))
own("redacted", ProtoField.string("kwire.redacted", "redacted", base.UNICODE, "The size of a secret"))
own("unknown_tag", ProtoField.bytes("kwire.unknown_tag", "unknown tag"))
own("gap", ProtoField.bytes("kwire.gap", "gap", base.NONE, "Bytes that could not be decoded"))
own("compressed", ProtoField.bytes("kwire.record.compressed", "compressed records"))
own("record_offset", ProtoField.int64("kwire.record.offset", "offset"))

-- The parts of the attributes of batches: a flag is a bool, anything else a text.
K.attribute_fields = {}
for magic = 0, 2 do
  for _, part in ipairs(K.attributes[magic]) do
    local name = part[1]
    if not K.attribute_fields[name] then
      local of_kind = part[3] == 2 and part[4][1] == "true" and ProtoField.bool or ProtoField.string
      K.attribute_fields[name] = of_kind("kwire.batch." .. name, name)
      all[#all + 1] = K.attribute_fields[name]
    end
  end
end

K.experts = {}
local experts = {}
for code, meaning in pairs(K.meaning) do
  local expert_field = ProtoExpert.new("kwire.note." .. code:lower(), code .. ": " .. meaning, expert.group.PROTOCOL,
    expert.severity.WARN)
  K.experts[code] = expert_field
  experts[#experts + 1] = expert_field
end

K.failed = ProtoExpert.new("kwire.failed", "The dissector failed", expert.group.UNDECODED, expert.severity.ERROR)
experts[#experts + 1] = K.failed

local MAKE = {
  b = ProtoField.int8, h = ProtoField.int16, H = ProtoField.uint16, i = ProtoField.int32, I = ProtoField.uint32,
  l = ProtoField.int64, d = ProtoField.double, a = ProtoField.int32, o = ProtoField.bool, u = ProtoField.string,
  y = ProtoField.bytes, r = ProtoField.bytes, n = ProtoField.none,
}
local FLAGS = {t = "is_topic", u = "is_topic_id", e = "is_error", x = "is_secret", c = "is_config", f = "carries",
  k = "is_kept"}
local SHARED = {
  RequestHeader = {requestApiKey = "api_key", requestApiVersion = "api_version", correlationId = "correlation_id",
    clientId = "client_id"},
  ResponseHeader = {correlationId = "correlation_id"},
}
-- A message of the record formats 0 and 1 is a record, too.
local IN_BATCH = {offset = "record_offset", timestamp = "record.timestamp", key = "record.key",
  value = "record.value"}
local by_name = {}

local function make(abbreviation, name, kind, names)
  local known = by_name[abbreviation]
  if known then
    return known
  end
  local field
  if kind == "s" then
    field = ProtoField.string(abbreviation, name, base.UNICODE)
  elseif names then
    field = MAKE[kind](abbreviation, name, base.DEC, names)
  else
    field = MAKE[kind](abbreviation, name)
  end
  by_name[abbreviation] = field
  all[#all + 1] = field
  return field
end

local function declare(title, message, keeps)
  local shared = SHARED[title] or {}
  message.name = title
  message.proto = make("kwire." .. title, title, "n")
  for number, row in ipairs(message.fields) do
    local text, names = row, nil
    if type(row) == "table" then
      text, names = row[1], row[2]
    end
    local path, kind, flags = text:match("^(%S+) (.)(.*)$")
    local name = path:match("[^.]+$")
    local field = {name = name, path = path, kind = kind, flags = flags}
    for letter, flag in pairs(FLAGS) do
      field[flag] = flags:find(letter, 1, true) ~= nil
    end
    field.held = K.held[flags:match("[mgp]") or ""]
    field.is_kept = keeps or field.is_kept
    if field.is_error then
      names = K.errors
    elseif name == "apiKey" and kind == "h" then
      names = API_NAMES
    end
    if shared[path] then
      field.proto = K.f[shared[path]]
    elseif title == "batch" and IN_BATCH[path] then
      local where = IN_BATCH[path]
      field.proto = K.f[where] or make("kwire." .. where, name, kind)
    else
      field.proto = make("kwire." .. title .. "." .. path, name, kind, names)
    end
    message.fields[number] = field
  end
end

for title, message in pairs(K.messages) do
  declare(title, message, false)
end
for title, message in pairs(K.records) do
  declare(title, message, true)
end
K.f.record_timestamp = make("kwire.record.timestamp", "timestamp", "l")

K.proto.fields = all
K.proto.experts = experts
