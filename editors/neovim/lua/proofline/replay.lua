-- Replay of a counterexample with nvim-dap, if that is installed; else stepping in the location list.
local M = {}

-- Replays a finding: { uri, finding }.
function M.open(finding)
  local ok, dap = pcall(require, 'dap')
  if not ok then
    return require('proofline.trace').open(finding)
  end
  dap.adapters.proofline = { type = 'executable', command = require('proofline').config.cmd[1], args = { 'dap' } }
  dap.run({ type = 'proofline', request = 'launch', name = 'Counterexample', program = vim.uri_to_fname(finding.uri), finding = finding.finding, stopOnEntry = true })
end

-- `:ProoflineReplay`: the failure nearest to the cursor.
function M.start()
  local finding = require('proofline').nearest()
  if not finding then
    return require('proofline').say('no failure with a counterexample in this file')
  end
  M.open(finding)
end

return M
