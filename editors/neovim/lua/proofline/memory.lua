-- Memory at the current step of the open counterexample, in words: a float in the corner that takes no keys.
local M = {}

local float -- { window, buffer }

function M.close()
  if float and vim.api.nvim_win_is_valid(float.window) then
    vim.api.nvim_win_close(float.window, true)
  end
  float = nil
end

-- Shows the lines of a picture; without one, closes.
function M.show(picture, number)
  if type(picture) ~= 'table' then
    return M.close()
  end
  local lines = vim.deepcopy(picture.text)
  local width = 24
  for _, line in ipairs(lines) do
    width = math.max(width, vim.fn.strdisplaywidth(line))
  end
  local place = {
    relative = 'editor',
    anchor = 'NE',
    row = 1,
    col = vim.o.columns,
    width = math.min(width, math.max(20, math.floor(vim.o.columns / 2))),
    height = math.max(1, math.min(#lines, vim.o.lines - 6)),
    style = 'minimal',
    border = 'rounded',
    title = (' memory at step %d '):format(number),
    focusable = false,
    zindex = 40,
  }
  if not (float and vim.api.nvim_win_is_valid(float.window)) then
    local buffer = vim.api.nvim_create_buf(false, true)
    vim.bo[buffer].bufhidden = 'wipe'
    float = { buffer = buffer, window = vim.api.nvim_open_win(buffer, false, vim.tbl_extend('force', place, { noautocmd = true })) }
    vim.wo[float.window].wrap = false
  else
    vim.api.nvim_win_set_config(float.window, place)
  end
  vim.api.nvim_buf_set_lines(float.buffer, 0, -1, false, lines)
end

-- What is shown, for scripts.
function M.lines()
  return float and vim.api.nvim_win_is_valid(float.window) and vim.api.nvim_buf_get_lines(float.buffer, 0, -1, false) or nil
end

return M
