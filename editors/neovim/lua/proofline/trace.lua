-- The open counterexample: its steps in the location list and, with their values, behind the lines; `]t` and `[t` step.
local M = {}

local namespace = vim.api.nvim_create_namespace('proofline.trace')
local open -- { trace, marks = { { buffer, id } }, current, keys = { buffer -> true } }

local function proofline()
  return require('proofline')
end

local function plain(text)
  return (text:gsub('`', ''))
end

-- A step's text with the values that it does not say already.
local function words(step)
  local text = plain(step.text)
  local parts = { text }
  for _, v in ipairs(step.values or {}) do
    local value = v.name .. ' = ' .. v.value
    if not text:find(value, 1, true) then
      parts[#parts + 1] = value
    end
  end
  return table.concat(parts, ', ')
end

-- Where a step is now: an extmark moves with the text.
local function place(index)
  local mark = open.marks[index]
  local at = vim.api.nvim_buf_get_extmark_by_id(mark.buffer, namespace, mark.id, {})
  return mark.buffer, at[1] or 0, at[2] or 0
end

-- Draws the texts behind the lines: one text per line, the current step marked.
local function draw()
  for buffer in pairs(open.buffers) do
    vim.api.nvim_buf_clear_namespace(buffer, open.text_namespace, 0, -1)
    local lines = {}
    for index, step in ipairs(open.trace.steps) do
      local at, row = place(index)
      if at == buffer then
        lines[row] = lines[row] or {}
        table.insert(lines[row], index)
      end
    end
    for row, indices in pairs(lines) do
      local chunks = { { '  ' } }
      for _, index in ipairs(indices) do
        local current = index == open.current
        local step = open.trace.steps[index]
        local group = step.kind == 'failure' and 'DiagnosticVirtualTextError' or 'DiagnosticVirtualTextWarn'
        chunks[#chunks + 1] = { ('%s(%d) %s'):format(current and '▶' or '', step.number, words(step)), current and { group, 'ProoflineCurrentStep' } or group }
        chunks[#chunks + 1] = { ' ' }
      end
      vim.api.nvim_buf_set_extmark(buffer, open.text_namespace, row, 0, { virt_text = chunks, hl_mode = 'combine' })
    end
  end
end

local function keys(buffer)
  local map = proofline().config.keys
  if not map then
    return
  end
  open.keys[buffer] = {}
  for _, key in ipairs({ { map.next, M.next, 'Next step of the counterexample' }, { map.previous, M.previous, 'Previous step of the counterexample' } }) do
    -- What the buffer had on that key comes back when the trace closes.
    local before = vim.api.nvim_buf_call(buffer, function()
      return vim.fn.maparg(key[1], 'n', false, true)
    end)
    open.keys[buffer][key[1]] = before.buffer == 1 and before or false
    vim.keymap.set('n', key[1], key[2], { buffer = buffer, desc = key[3] })
  end
end

-- Ends the open counterexample: texts, keys and the location list go.
function M.close()
  if not open then
    return
  end
  local was = open
  open = nil
  require('proofline.memory').close()
  for buffer in pairs(was.buffers) do
    if vim.api.nvim_buf_is_valid(buffer) then
      vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
      vim.api.nvim_buf_clear_namespace(buffer, was.text_namespace, 0, -1)
      for key, before in pairs(was.keys[buffer] or {}) do
        pcall(vim.keymap.del, 'n', key, { buffer = buffer })
        if before then
          vim.api.nvim_buf_call(buffer, function()
            vim.fn.mapset('n', false, before)
          end)
        end
      end
    end
  end
  pcall(vim.api.nvim_del_augroup_by_name, 'proofline.trace')
  if vim.api.nvim_win_is_valid(was.window) then
    vim.api.nvim_win_call(was.window, function()
      if vim.fn.getloclist(0, { title = 0 }).title == was.title then
        vim.cmd.lclose()
        vim.fn.setloclist(0, {}, 'r', { title = '', items = {} })
      end
    end)
  end
end

local function go(index)
  if not open then
    return proofline().say('no counterexample is open; :ProoflineTrace opens one')
  end
  open.current = math.max(1, math.min(index, #open.trace.steps))
  local buffer, row, column = place(open.current)
  -- Never in the list's own window.
  if vim.api.nvim_win_is_valid(open.window) then
    vim.api.nvim_set_current_win(open.window)
  end
  if vim.api.nvim_get_current_buf() ~= buffer then
    vim.cmd.normal({ "m'", bang = true })
    vim.api.nvim_set_current_buf(buffer)
  end
  vim.api.nvim_win_set_cursor(0, { row + 1, math.min(column, #vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1]) })
  vim.fn.setloclist(open.window, {}, 'a', { idx = open.current, title = open.title })
  draw()
  if proofline().config.memory then
    local step = open.trace.steps[open.current]
    local picture = type(step.picture) == 'number' and (open.trace.pictures or {})[step.picture + 1] or nil
    require('proofline.memory').show(picture, step.number)
  end
end

function M.next()
  go((open and open.current or 0) + 1)
end

function M.previous()
  go((open and open.current or 0) - 1)
end

-- The open counterexample, for scripts: the trace, and the index of the current step.
function M.current()
  return open and { trace = open.trace, step = open.current } or nil
end

-- Is the failure among the diagnostics of now? If not, the counterexample closes.
local function still_there()
  if not open then
    return
  end
  local buffer = vim.uri_to_bufnr(open.trace.uri)
  local row = vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, open.failure, {})[1]
  for _, d in ipairs(vim.diagnostic.get(buffer)) do
    local finding = vim.tbl_get(d, 'user_data', 'lsp', 'data', 'finding')
    if finding == open.trace.finding or (d.source == 'proofline' and d.code == open.trace.check and d.lnum == row) then
      return
    end
  end
  M.close()
  proofline().say('the failure whose counterexample was open is gone')
end

local function begin(trace, encoding)
  M.close()
  vim.api.nvim_set_hl(0, 'ProoflineCurrentStep', { bold = true, default = true })
  local title = ('Proofline: %s'):format(trace.title)
  open = { trace = trace, marks = {}, buffers = {}, keys = {}, current = 1, title = title, window = vim.api.nvim_get_current_win() }
  open.text_namespace = vim.api.nvim_create_namespace('proofline.trace.text')
  local items = {}
  local function mark(uri, range)
    local buffer = vim.uri_to_bufnr(uri)
    vim.fn.bufload(buffer)
    vim.bo[buffer].buflisted = true
    local row = math.min(range.start.line, vim.api.nvim_buf_line_count(buffer) - 1)
    local line = vim.api.nvim_buf_get_lines(buffer, row, row + 1, false)[1] or ''
    local column = range.start.character
    if encoding ~= 'utf-8' then
      local ok, byte = pcall(vim.lsp.util._str_byteindex_enc or vim.str_byteindex, line, column, encoding)
      column = ok and byte or column
    end
    return buffer, row, math.min(column, #line)
  end
  local at = { uri = trace.uri, range = trace.range }
  for index, step in ipairs(trace.steps) do
    -- A step without a place stands where the step before it does.
    if type(step.uri) == 'string' and type(step.range) == 'table' then
      at = { uri = step.uri, range = step.range }
    end
    local buffer, row, column = mark(at.uri, at.range)
    open.marks[index] = { buffer = buffer, id = vim.api.nvim_buf_set_extmark(buffer, namespace, row, column, { right_gravity = true }) }
    if not open.buffers[buffer] then
      open.buffers[buffer] = true
      keys(buffer)
    end
    items[index] = { bufnr = buffer, lnum = row + 1, col = column + 1, type = step.kind == 'failure' and 'E' or 'I', text = ('%s(%d) %s'):format(('│ '):rep(step.depth), step.number, words(step)) }
  end
  local buffer, row, column = mark(trace.uri, trace.range)
  open.failure = vim.api.nvim_buf_set_extmark(buffer, namespace, row, column, {})
  vim.fn.setloclist(0, {}, ' ', { title = title, items = items })
  vim.cmd('lopen ' .. math.min(#items, 10))
  vim.api.nvim_set_current_win(open.window)
  local group = vim.api.nvim_create_augroup('proofline.trace', {})
  vim.api.nvim_create_autocmd('DiagnosticChanged', { group = group, buffer = buffer, callback = vim.schedule_wrap(still_there) })
  go(1)
end

-- Opens the counterexample of a finding: { uri, finding }.
function M.open(finding)
  proofline().command('proofline.trace', finding, function(trace, client)
    if not trace then
      return proofline().say('that failure is not there any more')
    end
    begin(trace, client.offset_encoding or 'utf-16')
  end)
end

-- `:ProoflineTrace`: the failure nearest to the cursor.
function M.show()
  local finding = proofline().nearest()
  if not finding then
    return proofline().say('no failure with a counterexample in this file')
  end
  M.open(finding)
end

return M
