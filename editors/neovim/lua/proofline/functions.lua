-- The functions of every file with their verdicts, as the server last said: signs, status line, list.
local M = {}

local files = {} -- uri -> list of functions
local namespace = vim.api.nvim_create_namespace('proofline.functions')

local LOOK = {
  queued = { '·', 'Comment' },
  running = { '…', 'DiagnosticSignHint' },
  proved = { '✓', 'DiagnosticSignOk' },
  asks = { '↑', 'DiagnosticSignInfo' },
  violated = { '✗', 'DiagnosticSignError' },
  unknown = { '?', 'DiagnosticSignWarn' },
  stale = { '~', 'Comment' },
  ['internal-error'] = { '!', 'DiagnosticSignError' },
}
-- First what needs attention.
local ORDER = { 'violated', 'internal-error', 'unknown', 'stale', 'running', 'queued', 'asks', 'proved' }

local function draw(uri)
  local buffer = vim.uri_to_bufnr(uri)
  if not vim.api.nvim_buf_is_loaded(buffer) then
    return
  end
  vim.api.nvim_buf_clear_namespace(buffer, namespace, 0, -1)
  if not require('proofline').config.signs then
    return
  end
  local last = vim.api.nvim_buf_line_count(buffer) - 1
  for _, f in ipairs(files[uri]) do
    local look = LOOK[f.state] or LOOK.unknown
    -- Below diagnostics (priority 10 and more): on a line with both, the failure is what to see.
    vim.api.nvim_buf_set_extmark(buffer, namespace, math.min(f.selectionRange.start.line, last), 0, { sign_text = look[1], sign_hl_group = look[2], priority = 9 })
  end
end

-- Takes in a notification of the server.
function M.update(params)
  files[params.uri] = params.functions
  draw(params.uri)
  vim.api.nvim_exec_autocmds('User', { pattern = 'ProoflineFunctions', data = params, modeline = false })
  vim.cmd.redrawstatus()
end

-- The functions of a buffer.
function M.of(buffer)
  return files[vim.uri_from_bufnr(buffer or 0)] or {}
end

-- `41 of 113 ✗1 ?2 ✓38`; while nothing is known yet, that the file is being read.
function M.status(buffer)
  buffer = buffer or vim.api.nvim_get_current_buf()
  local functions = M.of(buffer)
  if #functions == 0 and files[vim.uri_from_bufnr(buffer)] == nil then
    local attached = vim.bo[buffer].filetype == 'c' and #vim.lsp.get_clients({ name = 'proofline', bufnr = buffer }) > 0
    return attached and 'reading…' or ''
  end
  local count, parts = {}, {}
  for _, f in ipairs(functions) do
    count[f.state] = (count[f.state] or 0) + 1
  end
  local open = (count.queued or 0) + (count.running or 0)
  if open > 0 then
    parts[1] = ('%d of %d'):format(#functions - open, #functions)
  end
  for _, state in ipairs(ORDER) do
    if count[state] and state ~= 'queued' and state ~= 'running' then
      parts[#parts + 1] = LOOK[state][1] .. count[state]
    end
  end
  return table.concat(parts, ' ')
end

-- A function's verdict in words: the server's, and why something is not decided.
function M.describe(f)
  local text = f.headline
  if f.state == 'unknown' and f.reason and not text:find(f.reason, 1, true) then
    text = text .. ': ' .. f.reason
  end
  return text
end

-- The functions of this file in the location list.
function M.list()
  local buffer = vim.api.nvim_get_current_buf()
  local items = {}
  for _, f in ipairs(M.of(buffer)) do
    items[#items + 1] = { bufnr = buffer, lnum = f.selectionRange.start.line + 1, col = 1, text = ('%s %s: %s'):format((LOOK[f.state] or LOOK.unknown)[1], f.name, M.describe(f)) }
  end
  if #items == 0 then
    return require('proofline').say('no function of this file has been verified')
  end
  vim.fn.setloclist(0, {}, ' ', { title = 'Proofline: functions', items = items })
  vim.cmd('lopen ' .. math.min(#items, 10))
end

function M.verify()
  require('proofline').command('proofline.verify', { uri = vim.uri_from_bufnr(0) })
end

function M.cancel()
  require('proofline').command('proofline.cancel', { uri = vim.uri_from_bufnr(0) })
end

return M
