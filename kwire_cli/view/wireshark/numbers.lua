-- Numbers in Lua strings. Positions count from 0. Lua 5.2 has doubles alone, Lua 5.4 integers too: nothing here
-- needs more than 53 bits but what goes into an Int64, and nothing needs bit operations.

local byte = string.byte

-- The unsigned number in `size` bytes, at most 6.
function K.unsigned(data, at, size)
  local value = 0
  for i = 1, size do
    value = value * 256 + byte(data, at + i)
  end
  return value
end

-- The number in `size` bytes in two's complement, at most 6.
function K.signed(data, at, size)
  local value = K.unsigned(data, at, size)
  if byte(data, at + 1) >= 128 then
    local range = 1
    for _ = 1, size do
      range = range * 256
    end
    return value - range
  end
  return value
end

-- An Int64 of two halves.
local function int64(high, low)
  return Int64.new(low, high)
end

function K.int64_at(data, at)
  return int64(K.unsigned(data, at, 4), K.unsigned(data, at + 4, 4))
end

local HALF = 4294967296

-- The value of a varint's bytes [from, to): a number of up to 32 bits, or an Int64.
function K.varint(data, from, to, bits, zigzag)
  local low, high, factor = 0, 0, 1
  for i = from, to - 1 do
    local part, group = byte(data, i + 1) % 128, i - from
    if group < 4 then
      low = low + part * factor
      factor = factor * 128
    elseif group == 4 then -- this one stands across the halves
      low = low + part % 16 * 268435456
      high = math.floor(part / 16)
      factor = 8
    else
      high = high + part * factor
      factor = factor * 128
    end
  end
  high = high % HALF
  if bits <= 32 then
    local range = bits == 32 and HALF or 65536
    low = low % range
    if zigzag then
      local half = math.floor(low / 2)
      return low % 2 == 1 and -half - 1 or half
    end
    return low >= range / 2 and low - range or low
  end
  if zigzag then
    local odd = low % 2 == 1
    low = math.floor(low / 2) + (high % 2) * (HALF / 2)
    high = math.floor(high / 2)
    if odd then
      low, high = HALF - 1 - low, HALF - 1 - high
    end
  end
  return int64(high, low)
end

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

-- The text of a uuid as Kafka writes it: base64 for URLs, without padding.
function K.uuid(data, at)
  local out = {}
  for from = 0, 15, 3 do
    local have = math.min(3, 16 - from)
    local value = K.unsigned(data, at + from, have)
    for _ = have, 2 do
      value = value * 256
    end
    local digits = ""
    for _ = 1, 4 do
      local digit = value % 64
      digits = ALPHABET:sub(digit + 1, digit + 1) .. digits
      value = math.floor(value / 64)
    end
    out[#out + 1] = digits:sub(1, have + 1)
  end
  return table.concat(out)
end

-- The well-formed sequences of more than one byte: no overlong forms, no surrogates, nothing above U+10FFFF.
local SEQUENCES = {
  "\240[\144-\191][\128-\191][\128-\191]", "[\241-\243][\128-\191][\128-\191][\128-\191]",
  "\244[\128-\143][\128-\191][\128-\191]", "\224[\160-\191][\128-\191]", "\237[\128-\159][\128-\191]",
  "[\225-\236\238\239][\128-\191][\128-\191]", "[\194-\223][\128-\191]",
}

function K.is_utf8(text)
  if not text:find("[\128-\255]") then
    return true
  end
  for _, sequence in ipairs(SEQUENCES) do
    text = text:gsub(sequence, ".")
  end
  return not text:find("[\128-\255]")
end

-- A name or a short text for titles: its beginning, with nothing that would break a line.
function K.short(text)
  if #text > 60 then
    text = text:sub(1, 57) .. "..."
  end
  if not K.is_utf8(text) then
    text = text:gsub("[\128-\255]", "?")
  end
  return (text:gsub("%c", "?"))
end
