-- The commands. They load the rest when they are used.
if vim.g.loaded_proofline then
  return
end
vim.g.loaded_proofline = true

local function command(name, module, fn, desc)
  vim.api.nvim_create_user_command(name, function(args)
    require(module)[fn](args)
  end, { desc = desc, nargs = (name == 'ProoflineSummary' or name == 'ProoflineProof') and '?' or 0 })
end

command('ProoflineTrace', 'proofline.trace', 'show', 'Counterexample of the failure nearest to the cursor')
command('ProoflineNext', 'proofline.trace', 'next', 'Next step of the open counterexample')
command('ProoflinePrevious', 'proofline.trace', 'previous', 'Previous step of the open counterexample')
command('ProoflineClose', 'proofline.trace', 'close', 'Close the counterexample')
command('ProoflineReplay', 'proofline.replay', 'start', 'Replay the counterexample in nvim-dap, or step through it')
command('ProoflineSummary', 'proofline.summary', 'show', 'Summary of the function under the cursor, or of the named one')
command('ProoflineProof', 'proofline.proof', 'show', 'Why the function under the cursor, or the named one, is proved')
command('ProoflineTest', 'proofline.summary', 'test', 'Write a C test that reproduces the nearest failure')
command('ProoflineFunctions', 'proofline.functions', 'list', 'Functions of this file with their verdicts')
command('ProoflineVerify', 'proofline.functions', 'verify', 'Verify this file again, with a larger budget')
command('ProoflineCancel', 'proofline.functions', 'cancel', 'Stop verifying this file')
