-- Allocation-rich work in rounds: a binary tree that is built and walked, a
-- dictionary of made-up words, closures over their own state, and strings
-- that are cut, joined and replaced.

local rounds = tonumber(arg[1]) or 1
local seed = 42

local function random(limit)
  seed = (seed * 1103515245 + 12345) % 2147483648
  return seed % limit
end

local function tree(depth)
  if depth == 0 then return {} end
  return { left = tree(depth - 1), right = tree(depth - 1), depth = depth }
end

local function nodes(node)
  if not node.left then return 1 end
  return 1 + nodes(node.left) + nodes(node.right)
end

local function word()
  local letters = {}
  for i = 1, 3 + random(6) do letters[i] = string.char(97 + random(26)) end
  return table.concat(letters)
end

local function dictionary(size)
  local counts, sentence = {}, {}
  for i = 1, size do
    local entry = word()
    local seen = counts[entry] or { count = 0, places = {} }
    seen.count = seen.count + 1
    seen.places[#seen.places + 1] = i
    counts[entry] = seen
    sentence[i] = entry
  end
  return counts, table.concat(sentence, " ")
end

local function counters(count)
  local made = {}
  for i = 1, count do
    local total = 0
    made[i] = function(step)
      total = total + step
      return total
    end
  end
  return made
end

local sum = 0
for round = 1, rounds do
  sum = sum + nodes(tree(13))

  local counts, text = dictionary(6000)
  for entry in text:gmatch("%a+") do
    sum = sum + #entry + counts[entry].count
  end
  local replaced = text:gsub("[aeiou]+", function(vowels) return vowels:upper() .. "-" end)
  sum = sum + #replaced + #text:reverse():rep(2, "|")

  for _ = 1, 3 do
    for i, counter in ipairs(counters(4000)) do sum = sum + counter(i) end
  end
end
print(rounds, sum)
