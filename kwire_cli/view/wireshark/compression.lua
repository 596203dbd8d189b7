-- Compressed records, as far as the Wireshark that runs can decompress them: gzip in 4.0, and snappy and zstd in 4.4. No
-- version has a function for LZ4. Nothing tells these functions where to stop. So a batch stays bytes if it may become
-- large, and everything does once the batches of a packet have become `MOST` bytes.

local MOST = 67108864
local MOST_GZIP = 65536 -- bytes of a batch, which become at most a thousand times as many
local MOST_ZSTD = 64 -- blocks of a batch, which become at most 131072 bytes each
local MOST_PER_BYTE = 64 / 3 -- what a byte of a snappy block becomes at most
local ZSTD = "\40\181\47\253"
local XERIAL, XERIAL_HEADER = "\130SNAPPY\0", 16 -- the stream of chunks that Kafka's clients in Java write

-- The first of these methods that ranges of bytes have, nil if they have none of them.
local function method(...)
  for _, name in ipairs({...}) do
    local good, found = pcall(function() return TvbRange[name] end)
    if good and found then
      return found
    end
  end
end

local METHODS = {
  gzip = method("uncompress_zlib", "uncompress"), snappy = method("uncompress_snappy"),
  zstd = method("uncompress_zstd"),
}

-- The decompressed range, nil if Wireshark can't make it or was built without the library for it.
local function decompressed(codec, range, title)
  local good, made = pcall(METHODS[codec], range, title)
  return good and made or nil
end

-- The length that a raw block of snappy states.
local function stated(data, from, to)
  local pos = from
  while pos < to and pos - from < 4 and data:byte(pos + 1) >= 128 do
    pos = pos + 1
  end
  return pos < to and K.varint(data, from, pos + 1, 64, false):tonumber() or 0
end

-- A raw block of snappy in [from, to).
local function snappy_block(w, from, to, title)
  if stated(w.data, from, to) > (to - from) * MOST_PER_BYTE then
    return nil -- it lies, and would be allocated
  end
  return decompressed("snappy", w.tvb(w.base + from, to - from), title)
end

-- Snappy in [from, to): a stream of chunks, or one raw block.
local function snappy(w, from, to, title)
  local data = w.data
  if data:sub(from + 1, from + #XERIAL) ~= XERIAL then
    return snappy_block(w, from, to, title)
  end
  local whole, pos, first = ByteArray.new(), from + XERIAL_HEADER, nil
  while pos + 4 <= to do
    local size = K.signed(data, pos, 4)
    if size < 0 or pos + 4 + size > to then
      return nil
    end
    local block = snappy_block(w, pos + 4, pos + 4 + size, title)
    if not block then
      return nil
    end
    pos = pos + 4 + size
    if not first and pos == to then
      return block
    end
    first = first or block
    whole:append(block:bytes())
  end
  return first and whole:tvb(title):range()
end

-- Whether bytes are one frame of zstd with few blocks.
local function is_small_zstd(data, from, to)
  if data:sub(from + 1, from + #ZSTD) ~= ZSTD or to - from < 9 then
    return false
  end
  local flags = data:byte(from + #ZSTD + 1)
  local size_flag, single = math.floor(flags / 64), math.floor(flags / 32) % 2
  local size = ({[0] = single, 2, 4, 8})[size_flag]
  local dictionary = ({[0] = 0, 1, 2, 4})[flags % 4]
  local pos = from + #ZSTD + 1 + (1 - single) + dictionary + size
  for _ = 1, MOST_ZSTD do
    if pos + 3 > to then
      return false
    end
    local low, middle, high = data:byte(pos + 1, pos + 3)
    local head = low + middle * 256 + high * 65536
    local length = math.floor(head / 8)
    pos = pos + 3 + (math.floor(head / 2) % 4 == 1 and 1 or length) -- a block of one repeated byte has only this byte
    if head % 2 == 1 then
      return pos + (math.floor(flags / 4) % 2 == 1 and 4 or 0) == to
    end
  end
  return false
end

-- The decompressed bytes behind the header of a batch as surroundings of a walk, nil where they stay bytes.
function K.opened(w, codec, from, to)
  local left = w.room.unpacked or MOST
  if not METHODS[codec] or left <= 0 or codec == "gzip" and to - from > MOST_GZIP
    or codec == "zstd" and not is_small_zstd(w.data, from, to) then
    return nil
  end
  local title = "records, from " .. codec
  local range
  if codec == "snappy" then
    range = snappy(w, from, to, title)
  else
    range = decompressed(codec, w.tvb(w.base + from, to - from), title)
  end
  if not range or range:len() == 0 then
    return nil
  end
  w.room.unpacked = left - range:len()
  return setmetatable({tvb = range:tvb(), base = 0, data = range:raw()}, {__index = w})
end
