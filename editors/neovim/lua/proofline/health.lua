-- `:checkhealth proofline`
local M = {}

function M.check()
  local health = vim.health
  health.start('proofline')
  if vim.fn.has('nvim-0.10') == 1 then
    health.ok('Neovim ' .. tostring(vim.version()))
  else
    health.error('Neovim 0.10 or newer is needed')
  end
  local program = require('proofline').config.cmd[1]
  if vim.fn.executable(program) == 1 then
    local version = vim.trim(vim.fn.system({ program, '--version' }))
    if vim.v.shell_error == 0 then
      health.ok(('`%s` is %s'):format(program, version))
    else
      health.error(('`%s --version` failed: %s'):format(program, version), { 'Run it in a terminal and see what it says' })
    end
  else
    health.error(('there is no program `%s`'):format(program), {
      'Put `proofline` on the PATH, or name it: require("proofline").setup({ cmd = { "/path/to/proofline", "lsp" } })',
    })
  end
  local clients = vim.lsp.get_clients({ name = 'proofline' })
  if #clients == 0 then
    health.warn('the server runs for no buffer', { 'Open a C file', 'Call require("proofline").setup(), or vim.lsp.enable("proofline") in Neovim 0.11+' })
  end
  for _, client in ipairs(clients) do
    health.ok(('client %d: root %s, %d buffers'):format(client.id, client.config.root_dir or client.root_dir or 'none', vim.tbl_count(client.attached_buffers)))
  end
  if pcall(require, 'dap') then
    health.ok('nvim-dap is there: :ProoflineReplay uses it')
  else
    health.info('nvim-dap is not installed: :ProoflineReplay steps in the location list instead')
  end
end

return M
