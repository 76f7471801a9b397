-- Settings, the language client's configuration, and requests to the server.
local M = {}

M.config = {
  cmd = { 'proofline', 'lsp' }, -- the server
  settings = {}, -- the server's own: see the manual's chapter on configuration
  signs = true, -- a sign per function with its verdict
  memory = true, -- while a counterexample is open, memory at its current step, in the corner
  keys = { next = ']t', previous = '[t' }, -- while a counterexample is open; false for none
}

local ROOTS = { 'compile_commands.json', 'compile_flags.txt', '.git' }

-- The commands that the server puts into code actions and lenses when the client says that it knows them.
local function client_commands()
  return {
    ['proofline.showTrace'] = function(command)
      require('proofline.trace').open(command.arguments[1])
    end,
    ['proofline.replay'] = function(command)
      require('proofline.replay').open(command.arguments[1])
    end,
    ['proofline.showSummary'] = function(command)
      require('proofline.summary').open(command.arguments[1])
    end,
    ['proofline.showProof'] = function(command)
      require('proofline.proof').open(command.arguments[1])
    end,
    ['proofline.openTest'] = function(command)
      require('proofline.summary').open_test(command.arguments[1])
    end,
  }
end

-- The configuration of the client, for `vim.lsp.config` (0.11+) and `vim.lsp.start` alike.
function M.lsp_config()
  local capabilities = vim.lsp.protocol.make_client_capabilities()
  local commands = client_commands()
  local names = vim.tbl_keys(commands)
  table.sort(names)
  capabilities.experimental = { proofline = { functions = true, commands = names } }
  return {
    name = 'proofline',
    cmd = M.config.cmd,
    filetypes = { 'c' },
    root_markers = ROOTS,
    capabilities = capabilities,
    commands = commands,
    init_options = M.config.settings,
    settings = { proofline = M.config.settings },
    handlers = {
      ['proofline/functions'] = function(_, params)
        require('proofline.functions').update(params)
      end,
    },
  }
end

-- Starts Proofline for every C buffer. `options` overrides parts of `M.config`.
function M.setup(options)
  M.config = vim.tbl_deep_extend('force', M.config, options or {})
  if vim.lsp.config and vim.lsp.enable then
    vim.lsp.config('proofline', M.lsp_config())
    vim.lsp.enable('proofline')
    return
  end
  local function start(buffer)
    local config = M.lsp_config()
    config.root_dir = vim.fs.root and vim.fs.root(buffer, ROOTS) or vim.fs.dirname(vim.api.nvim_buf_get_name(buffer))
    vim.lsp.start(config, { bufnr = buffer })
  end
  local group = vim.api.nvim_create_augroup('proofline.start', {})
  vim.api.nvim_create_autocmd('FileType', {
    group = group,
    pattern = 'c',
    callback = function(event)
      start(event.buf)
    end,
  })
  for _, buffer in ipairs(vim.api.nvim_list_bufs()) do
    if vim.api.nvim_buf_is_loaded(buffer) and vim.bo[buffer].filetype == 'c' then
      start(buffer)
    end
  end
end

-- The client of a buffer, or of any buffer.
function M.client(buffer)
  return vim.lsp.get_clients({ name = 'proofline', bufnr = buffer })[1] or vim.lsp.get_clients({ name = 'proofline' })[1]
end

function M.say(text, level)
  vim.notify('Proofline: ' .. text, level or vim.log.levels.INFO)
end

-- Runs a command of the server; `done` gets its answer, or nil when there is none.
function M.command(name, argument, done)
  local client = M.client(vim.api.nvim_get_current_buf())
  if not client then
    return M.say('the server is not running here; see :checkhealth proofline', vim.log.levels.WARN)
  end
  local function answer(err, result)
    if err then
      return M.say(err.message or tostring(err), vim.log.levels.ERROR)
    end
    if result == vim.NIL then
      result = nil
    end
    if done then
      done(result, client)
    end
  end
  local params = { command = name, arguments = { argument } }
  if vim.fn.has('nvim-0.11') == 1 then
    client:request('workspace/executeCommand', params, answer)
  else
    client.request('workspace/executeCommand', params, answer)
  end
end

-- The failure with a counterexample that is nearest to the cursor: { uri, finding }.
function M.nearest()
  local buffer, line = vim.api.nvim_get_current_buf(), vim.api.nvim_win_get_cursor(0)[1] - 1
  local best, distance
  for _, d in ipairs(vim.diagnostic.get(buffer)) do
    local finding = d.source == 'proofline' and vim.tbl_get(d, 'user_data', 'lsp', 'data', 'finding')
    if finding and (not distance or math.abs(d.lnum - line) < distance) then
      best, distance = { uri = vim.uri_from_bufnr(buffer), finding = finding }, math.abs(d.lnum - line)
    end
  end
  return best
end

-- For a status line: `✗1 ?2 ✓5`, or an empty string.
function M.status(buffer)
  return require('proofline.functions').status(buffer)
end

return M
