-- A function's summary in a window of its own, and the C test that reproduces a failure.
local M = {}

local function window(name, lines, filetype)
  local buffer = vim.fn.bufadd(name)
  vim.fn.bufload(buffer)
  vim.bo[buffer].buftype = 'nofile'
  vim.bo[buffer].swapfile = false
  vim.bo[buffer].modifiable = true
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, lines)
  vim.bo[buffer].filetype = filetype
  vim.bo[buffer].modifiable = filetype ~= 'markdown'
  local shown = vim.fn.bufwinid(buffer)
  if shown == -1 then
    vim.cmd('botright vertical sbuffer ' .. buffer)
    shown = vim.api.nvim_get_current_win()
    vim.cmd.wincmd('p')
  end
  if filetype == 'markdown' then
    vim.wo[shown].wrap, vim.wo[shown].number, vim.wo[shown].conceallevel, vim.wo[shown].signcolumn = true, false, 2, 'no'
    vim.keymap.set('n', 'q', '<cmd>close<cr>', { buffer = buffer, nowait = true })
  end
  return buffer
end

-- Shows the summary that { uri, function } or { uri, position } asks for.
function M.open(target)
  require('proofline').command('proofline.summary', target, function(summary)
    if not summary then
      return require('proofline').say('there is no function here')
    end
    window('proofline://summary', vim.split(summary.markdown, '\n'), 'markdown')
  end)
end

-- `:ProoflineSummary [FUNCTION]`
function M.show(args)
  local uri = vim.uri_from_bufnr(0)
  if args and args.args and args.args ~= '' then
    return M.open({ uri = uri, ['function'] = args.args })
  end
  local client = require('proofline').client(0)
  local params = vim.lsp.util.make_position_params(0, client and client.offset_encoding or 'utf-16')
  M.open({ uri = uri, position = params.position })
end

-- Shows the test that reproduces a finding: { uri, finding }.
function M.open_test(finding)
  require('proofline').command('proofline.test', finding, function(test)
    if not test then
      return require('proofline').say('that failure is not there any more')
    end
    window('proofline://' .. test.name, vim.split(test.text, '\n'), 'c')
    if test.confirmed == true then
      require('proofline').say('running ' .. test.name .. ' confirmed the failure')
    elseif test.confirmed == false then
      require('proofline').say('running ' .. test.name .. ' did not show the failure', vim.log.levels.WARN)
    end
  end)
end

-- `:ProoflineTest`: the failure nearest to the cursor.
function M.test()
  local finding = require('proofline').nearest()
  if not finding then
    return require('proofline').say('no failure with a counterexample in this file')
  end
  M.open_test(finding)
end

return M
