-- Neovim 0.11+: `vim.lsp.enable('proofline')` is enough. Older ones: `require('proofline').setup()`.
return require('proofline').lsp_config()
