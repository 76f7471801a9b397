-- A user's configuration: the plugin, nothing else. PROOFLINE is the program, PLUGIN this repository's plugin.
vim.opt.runtimepath:prepend(os.getenv('PLUGIN'))
vim.o.number, vim.o.signcolumn, vim.o.swapfile, vim.o.shadafile = true, 'yes:2', false, 'NONE'
vim.o.laststatus, vim.o.hlsearch = 2, false
vim.o.statusline = ' %t %m%=%{v:lua.require("proofline").status()}  %l:%c '
if vim.o.background ~= 'dark' then
  vim.o.background = 'dark'
end
vim.diagnostic.config({ virtual_text = false, float = { border = 'rounded', source = true } })
vim.keymap.set('n', 'gl', vim.diagnostic.open_float)
vim.keymap.set('n', 'gra', vim.lsp.buf.code_action)
vim.keymap.set('n', 'K', vim.lsp.buf.hover)
vim.cmd('filetype on | syntax on')
require('proofline').setup({ cmd = { os.getenv('PROOFLINE'), 'lsp' } })
