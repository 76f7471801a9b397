-- Neovim's own API against the plugin and the server. Usage: nvim --headless -u init.lua average.c -c 'luafile check.lua'
-- The folder holds average.c, table.c and limit.h. Exit code 1 when a check fails.
local failed = 0
local function wait(what, condition, seconds)
  if not vim.wait((seconds or 60) * 1000, condition, 20) then
    error('never: ' .. what, 2)
  end
end
local function check(name, f)
  local start = vim.uv.hrtime()
  local ok, err = xpcall(f, debug.traceback)
  io.stdout:write(('%s %s (%d ms)\n'):format(ok and 'ok     ' or 'FAILED ', name, (vim.uv.hrtime() - start) / 1e6))
  if not ok then
    io.stdout:write('        ' .. tostring(err):gsub('\n', '\n        ') .. '\n')
    failed = failed + 1
  end
end
local function equal(got, want, what)
  assert(vim.deep_equal(got, want), ('%s: %s instead of %s'):format(what, vim.inspect(got), vim.inspect(want)))
end
local buffer = vim.api.nvim_get_current_buf()
local uri = vim.uri_from_bufnr(buffer)
local original = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
local function errors(b)
  return vim.diagnostic.get(b or buffer, { severity = vim.diagnostic.severity.ERROR })
end
local function ask(method, params)
  local answers = vim.lsp.buf_request_sync(buffer, method, params, 30000)
  for _, answer in pairs(answers or {}) do
    assert(not answer.err, vim.inspect(answer.err))
    return answer.result
  end
  error('no answer to ' .. method)
end
local function texts()
  local out = {}
  local ns = vim.api.nvim_get_namespaces()['proofline.trace.text']
  for _, mark in ipairs(ns and vim.api.nvim_buf_get_extmarks(buffer, ns, 0, -1, { details = true }) or {}) do
    local text = {}
    for _, chunk in ipairs(mark[4].virt_text) do
      text[#text + 1] = chunk[1]
    end
    out[mark[2] + 1] = vim.trim(table.concat(text))
  end
  return out
end
local function states()
  local out = {}
  for _, f in ipairs(require('proofline.functions').of(buffer)) do
    out[f.name] = f.state
  end
  return out
end

io.stdout:write(vim.fn.matchstr(vim.fn.execute('version'), 'NVIM v[0-9.]*') .. '\n')

check('a failure is a diagnostic with its numbered steps', function()
  wait('a diagnostic', function()
    return #errors() == 1
  end, 90)
  local d = errors()[1]
  equal({ d.lnum + 1, d.source, d.code }, { 11, 'proofline', 'signed-overflow' }, 'diagnostic')
  local related = d.user_data.lsp.relatedInformation
  assert(#related > 4, 'steps')
  for number, step in ipairs(related) do
    equal(tonumber(step.message:match('^(%d+): ')), number, 'number of step')
  end
end)

check('every function has its verdict: signs and status line', function()
  wait('verdicts', function()
    local s = states()
    return s.careful == 'proved' and s.average == 'violated' and s.main ~= 'running' and s.main ~= 'queued'
  end)
  local signs = vim.api.nvim_buf_get_extmarks(buffer, vim.api.nvim_get_namespaces()['proofline.functions'], 0, -1, { details = true })
  equal(#signs, 3, 'signs')
  local status = require('proofline').status(buffer)
  assert(status:find('✗1', 1, true), status)
end)

check('hover has the summary', function()
  local hover = ask('textDocument/hover', { textDocument = { uri = uri }, position = { line = 5, character = 12 } })
  assert(hover.contents.value:find('careful', 1, true), vim.inspect(hover))
  assert(hover.contents.value:find('proved', 1, true), vim.inspect(hover))
end)

check('a code action shows the trace: location list, and values behind the lines', function()
  local d = errors()[1]
  local actions = ask('textDocument/codeAction', { textDocument = { uri = uri }, range = d.user_data.lsp.range, context = { diagnostics = { d.user_data.lsp } } })
  local action = vim.iter(actions):find(function(a)
    return a.title:find('counterexample')
  end)
  assert(action, vim.inspect(actions))
  local client = vim.lsp.get_clients({ name = 'proofline' })[1]
  local run = action.command.command and action.command or action
  if client.exec_cmd then
    client:exec_cmd(run, { bufnr = buffer })
  else
    client:_exec_cmd(run, { bufnr = buffer })
  end
  wait('a trace', function()
    return require('proofline.trace').current() ~= nil
  end)
  local list = vim.fn.getloclist(0)
  assert(#list > 4 and list[1].lnum == 15, vim.inspect(list))
  local behind = texts()
  assert(behind[15]:find('low = ', 1, true) and behind[15]:find('▶(1)', 1, true), vim.inspect(behind))
  assert(behind[11], vim.inspect(behind))
  require('proofline.trace').close()
  equal(vim.tbl_count(texts()), 0, 'texts after closing')
end)

check(':ProoflineTrace, ]t and [t step through it', function()
  vim.api.nvim_win_set_cursor(0, { 11, 0 })
  vim.cmd('ProoflineTrace')
  wait('a trace', function()
    return require('proofline.trace').current() ~= nil
  end)
  local function line()
    return vim.api.nvim_win_get_cursor(0)[1]
  end
  equal(line(), 15, 'first step')
  vim.cmd('normal ]t')
  equal(line(), 16, 'second step')
  vim.cmd('normal [t')
  equal(line(), 15, 'first step again')
  equal(vim.fn.getloclist(0, { idx = 0 }).idx, 1, 'place in the list')
end)

check('an edit elsewhere keeps failure and trace, at their new places', function()
  local before = texts()
  vim.api.nvim_buf_set_lines(buffer, 0, 0, false, { '// one more line' })
  local after = {}
  for line, text in pairs(before) do
    after[line + 1] = text
  end
  equal(texts(), after, 'texts')
  wait('the failure one line below', function()
    return #errors() == 1 and errors()[1].lnum + 1 == 12
  end)
  vim.wait(1500, function()
    return false
  end)
  assert(require('proofline.trace').current(), 'the trace is still open')
  vim.api.nvim_buf_set_lines(buffer, 0, 1, false, {})
  wait('the failure where it was', function()
    return #errors() == 1 and errors()[1].lnum + 1 == 11
  end)
end)

check('an edit that mends the failure clears it, and the trace with it', function()
  vim.api.nvim_buf_set_lines(buffer, 10, 11, false, { '    return low + (high - low) / 2;' })
  wait('no failure', function()
    return #errors() == 0
  end)
  wait('no trace', function()
    return require('proofline.trace').current() == nil and vim.tbl_count(texts()) == 0
  end)
  wait('proved', function()
    return states().average == 'proved'
  end)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, original)
  wait('the failure again', function()
    return #errors() == 1
  end)
end)

check(':ProoflineSummary', function()
  vim.api.nvim_win_set_cursor(0, { 7, 5 })
  vim.cmd('ProoflineSummary')
  local shown
  wait('the summary', function()
    shown = vim.fn.bufnr('proofline://summary')
    return shown ~= -1
  end)
  local text = table.concat(vim.api.nvim_buf_get_lines(shown, 0, -1, false), '\n')
  assert(text:find('careful', 1, true), text)
  vim.cmd('bwipeout! ' .. shown)
end)

check(':ProoflineProof lists why, each line with its place', function()
  vim.api.nvim_win_set_cursor(0, { 7, 5 })
  vim.cmd('ProoflineProof')
  wait('the list', function()
    return vim.fn.getloclist(0, { title = 0 }).title == 'Proofline: why careful'
  end)
  local list = vim.fn.getloclist(0)
  local holds = vim.iter(list):find(function(line)
    return line.text:find('holds: ', 1, true)
  end)
  assert(holds and holds.lnum == 7, vim.inspect(list))
  vim.cmd('lclose')
  vim.cmd('buffer ' .. buffer)
end)

check('a file of 30,000 lines that is still being read says so', function()
  local lines = { 'int first(void) { return 0; }' }
  for n = 1, 30000 do
    lines[#lines + 1] = ('int f%d(int x) { int y = x > 9 ? 9 : x < 0 ? 0 : x; return y / (y + 1) + %d; }'):format(n, n)
  end
  vim.fn.writefile(lines, 'long.c')
  local start = vim.uv.hrtime()
  vim.cmd('edit long.c')
  wait('a sign of life', function()
    return require('proofline').status() ~= ''
  end, 5)
  local took = (vim.uv.hrtime() - start) / 1e6
  assert(took < 1000, ('%d ms until the status line says something'):format(took))
  wait('a share', function()
    return require('proofline').status():find('%d+ of 30001') ~= nil
  end)
  vim.cmd('ProoflineCancel')
  vim.cmd('bwipeout!')
  vim.cmd('buffer ' .. buffer)
end)

check(':ProoflineVerify gives the same verdicts again', function()
  local before = states()
  vim.cmd('ProoflineVerify')
  vim.wait(300, function()
    return false
  end)
  wait('the same verdicts', function()
    return vim.deep_equal(states(), before)
  end)
end)

check('an unsaved edit of a header reaches the file that includes it', function()
  vim.cmd('edit table.c')
  local includer = vim.api.nvim_get_current_buf()
  wait('verdict of table.c', function()
    local f = require('proofline.functions').of(includer)[1]
    return f and f.state == 'proved'
  end)
  vim.cmd('edit limit.h')
  vim.bo.filetype = 'c'
  vim.api.nvim_buf_set_lines(0, 3, 4, false, { '#define LIMIT 9' })
  wait('a failure in table.c', function()
    return #errors(includer) == 1
  end)
  vim.api.nvim_buf_set_lines(0, 3, 4, false, { '#define LIMIT 8' })
  wait('no failure in table.c', function()
    return #errors(includer) == 0
  end)
  vim.cmd('buffer ' .. buffer)
end)

check('memory at a step is in the corner, and goes with the trace', function()
  vim.cmd.edit('list.c')
  local other = vim.api.nvim_get_current_buf()
  wait('a diagnostic', function()
    return #errors(other) > 0
  end)
  vim.api.nvim_win_set_cursor(0, { errors(other)[1].lnum + 1, 0 })
  local trace = require('proofline.trace')
  trace.close()
  vim.cmd('ProoflineTrace')
  wait('a trace', function()
    return trace.current() ~= nil
  end)
  local memory = require('proofline.memory')
  for _ = 2, #trace.current().trace.steps do
    vim.cmd('normal ]t')
  end
  local lines = assert(memory.lines(), 'a float')
  local told = table.concat(lines, '\n')
  assert(told:find('list → heap object 3', 1, true) and told:find('heap object 2 (16 bytes, freed)', 1, true), told)
  trace.close()
  equal(memory.lines(), nil, 'the float after closing')
  vim.cmd.buffer(buffer)
end)

check(':checkhealth has no error', function()
  vim.cmd('checkhealth proofline')
  local text = table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), '\n')
  assert(not text:find('ERROR'), text)
  assert(text:find('client %d'), text)
  vim.cmd('bwipeout!')
end)

vim.cmd(failed == 0 and 'qa!' or 'cquit 1')
