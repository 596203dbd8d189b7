-- What the dissector uses of Wireshark, for a plain interpreter: `lua shim.lua kwire.lua FRAMES` prints every item that
-- is added to the tree. A line of FRAMES is `>` for a request or `<` for a response, and the frame in hex.

local function hex(text)
  return (text:gsub(".", function(char) return string.format("%02x", char:byte()) end))
end

local function shown(value)
  if type(value) == "number" then
    return string.format("%d", value)
  end
  return tostring(value)
end

base = setmetatable({}, {__index = function(_, name) return name end})
frametype, ENC_UTF_8, DESEGMENT_ONE_MORE_SEGMENT = base, "UTF-8", -1
expert = {group = base, severity = base}
ProtoField = setmetatable({}, {__index = function(_, kind)
  return function(abbreviation) return kind .. " " .. abbreviation end
end})
ProtoExpert = {new = function(abbreviation) return abbreviation end}
Pref = setmetatable({}, {__index = function() return function(_, default) return default end end})
local wide = {}
wide.__add = function(a, b) return setmetatable({text = tostring(a) .. "+" .. tostring(b)}, wide) end
wide.__tostring = function(number) return number.text end
Int64 = setmetatable({new = function(low, high)
  return setmetatable({text = shown(low) .. ":" .. shown(high or 0)}, wide)
end}, {__call = function(self, number) return self.new(number) end})
local time = {__sub = function() return "difference" end}
NSTime = {new = function() return setmetatable({}, time) end}
Field = {new = function() return function() return {value = 1} end end}

local protocol
function Proto()
  protocol = {prefs = {}, register_heuristic = function() end}
  return protocol
end
DissectorTable = {get = function() return {add = function() end, remove = function() end} end}

local Tree = {}
Tree.__index = Tree
local function quiet(self) return self end
for _, name in ipairs({"set_generated", "set_hidden", "set_len"}) do
  Tree[name] = quiet
end
for _, name in ipairs({"set_text", "append_text", "prepend_text", "add_proto_expert_info"}) do
  Tree[name] = function(self, ...)
    print(name, ...)
    return self
  end
end
function Tree:add(...)
  local parts = {}
  for _, part in ipairs({...}) do
    parts[#parts + 1] = type(part) == "table" and part.range or part == protocol and "kwire" or shown(part)
  end
  print(table.concat(parts, "\t"))
  return setmetatable({}, Tree)
end
Tree.add_packet_field = Tree.add

local function tvb_of(data)
  local tvb = {}
  function tvb:len() return #data end
  tvb.reported_len = tvb.len
  function tvb:offset() return 0 end
  function tvb:raw(from, size) return data:sub(from + 1, from + size) end
  return setmetatable(tvb, {__call = function(_, from, size)
    from, size = from or 0, size or #data
    assert(from >= 0 and size >= 0 and from + size <= #data, "outside of the data")
    return {range = string.format("[%d,%d) %s", from, from + size, hex(data:sub(from + 1, from + size)))}
  end})
end

dofile(arg[1])
local number = 0
for line in io.lines(arg[2]) do
  number = number + 1
  local is_request = line:sub(1, 1) == ">"
  local data = line:sub(2):gsub("..", function(digits) return string.char(tonumber(digits, 16)) end)
  local pinfo = {number = number, visited = false, src = "a", dst = "b", src_port = 5000, dst_port = 9092, cols = {},
    abs_ts = number + 0.5, can_desegment = 1, match_uint = 9092}
  if not is_request then
    pinfo.src_port, pinfo.dst_port, pinfo.src, pinfo.dst = 9092, 5000, "b", "a"
  end
  protocol.dissector(tvb_of(data), pinfo, setmetatable({}, Tree))
  print(pinfo.cols.info)
end
