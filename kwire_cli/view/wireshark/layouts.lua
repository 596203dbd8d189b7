-- Layouts: from their text to nodes, when the first message of a version comes. A node has the function that reads
-- it in `read`; the letters are explained where kwire writes them (view/wireshark/layouts.py).

local FIXED = {b = 1, h = 2, H = 2, i = 4, I = 4, l = 8, o = 1, d = 8, u = 16}
local PREFIX = {s = "int16", y = "int32", r = "int32", a = "int32", S = "compact", Y = "compact", R = "compact",
  A = "compact", q = "zigzag", p = "zigzag", w = "zigzag"}
local SIZED = {s = "string", S = "string", q = "string", y = "bytes", Y = "bytes", p = "bytes", r = "records",
  R = "records"}

local Parser = {}
Parser.__index = Parser

function Parser:token()
  local token = self.tokens[self.at]
  self.at = self.at + 1
  return token
end

function Parser:peek()
  return self.tokens[self.at]
end

function Parser:field(number)
  return self.message.fields[tonumber(number) + 1]
end

-- The struct whose opening token is next; `field` is the one that it is, nil for elements and whole messages.
function Parser:struct(field)
  local open = self:token()
  local node = {read = K.read.struct, field = field, is_struct = true}
  local sized = open:match("^%((%d+)$")
  if sized then
    node.read, node.size_at = K.read.sized_struct, tonumber(sized) + 1
  end
  node.names_topic = open:find("n", 2, true) ~= nil
  node.holds_config = open:find("c", 2, true) ~= nil
  while true do
    local token = self:peek()
    if token == "}" or token == ")" then
      self:token()
      break
    elseif token == "[" then
      self:token()
      node.tags = self:tags()
    else
      node[#node + 1] = self:node()
    end
  end
  for i = 1, #node do
    local part = node[i]
    local says = part.text or (part.field and part.field.is_topic_id)
    if (says or (part.size and part.size <= 4)) and (not node.label or (says and not node.has_name)) then
      node.label, node.has_name = i, says -- what elements are called by: the first text or topic, or else a number
    end
  end
  if node.label then
    node[node.label].keep = true
  end
  if node.size_at then
    node[node.size_at].keep = true
  end
  return node
end

function Parser:tags()
  local tags = {known = {}, invalid = {}}
  while true do
    local token = self:token()
    if token == "]" then
      return tags
    elseif token:sub(1, 1) == "~" then
      tags.invalid[tonumber(token:sub(2))] = true
    else
      tags.known[tonumber(token:sub(2))] = self:node()
    end
  end
end

function Parser:node()
  local token = self:token()
  local letter = token:sub(1, 1)
  if letter == "." then
    return self:struct(self:field(token:sub(2)))
  end
  if letter == "n" or letter == "N" then
    local field = self:field(token:sub(2))
    return {read = K.read.nullable, tagged = letter == "N", field = field, struct = self:struct(field)}
  end
  local bits, number = token:match("^[zv](%d+):(%d+)$")
  if bits then
    bits = tonumber(bits)
    local most = math.floor((bits + 6) / 7)
    local room = 1
    for _ = 1, bits - 7 * (most - 1) do
      room = room * 2
    end
    return {read = K.read.varint, bits = bits, most = most, room = room, zigzag = letter == "z",
      field = self:field(number)}
  end
  local null = token:sub(2, 2) == "?"
  local field = self:field(token:sub(null and 3 or 2))
  if FIXED[letter] then
    local read = K.read[letter] or K.read.integer
    return {read = read, size = FIXED[letter], unsigned = letter == "H" or letter == "I", field = field,
      keep = field.flags ~= "" or field.is_kept}
  end
  local node = {prefix = K.prefix[PREFIX[letter]], nullable = null, field = field, keep = field.flags ~= ""}
  local sized = SIZED[letter]
  if sized then
    node.read, node.text = K.read[sized], sized == "string" and not field.is_config and not field.is_secret
    node.longest = (letter == "s" or letter == "S") and 32767 or 2147483647
  else
    node.read = K.read.array
    if self:peek():find("^[{(]") then
      node.element = self:struct(nil)
    else
      node.element = self:node()
    end
  end
  return node
end

-- The layout of a version of a message, and whether it is that of another version, as none is known.
function K.layout(message, version)
  local known = math.min(math.max(version, message.low), message.high)
  for _, run in ipairs(message) do
    if known >= run[1] and known <= run[2] then
      if type(run[3]) == "string" then
        local tokens = {}
        for token in run[3]:gmatch("%S+") do
          tokens[#tokens + 1] = token
        end
        run[3] = setmetatable({tokens = tokens, at = 1, message = message}, Parser):struct(nil)
      end
      return run[3], known ~= version
    end
  end
end

-- The version of the header before a version of a message.
function K.header_version(message, version)
  local number = math.min(math.max(version, message.low), message.high) - message.low + 1
  return tonumber(message.headers:sub(number, number))
end
