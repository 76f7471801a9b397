-- Why a function is proved, in the location list: each line leads to its place.
local M = {}

-- The list of a proof: lines with a place, in the order in which they are to be read.
local function items(proof)
  local out = {}
  local function add(uri, range, text, kind)
    out[#out + 1] = { filename = vim.uri_to_fname(uri), lnum = range.start.line + 1, col = range.start.character + 1, text = text, type = kind }
  end
  add(proof.uri, proof.range, proof.headline)
  for _, line in ipairs(proof.lines) do
    local text = line.word .. ': ' .. line.text
    if #line.known > 0 then
      text = text .. ' (here ' .. table.concat(line.known, ', ') .. ')'
    end
    if line.because ~= '' then
      text = text .. ' — ' .. line.because
    end
    local has_place = line.uri ~= nil and line.uri ~= vim.NIL
    local kind = line.kind == 'failing' and 'E' or line.kind == 'open' and 'W' or nil
    add(has_place and line.uri or proof.uri, has_place and line.range or proof.range, text, kind)
  end
  return out
end

-- Shows the proof that { uri, function } or { uri, position } asks for.
function M.open(target)
  require('proofline').command('proofline.proof', target, function(proof)
    if not proof then
      return require('proofline').say('there is no function here')
    end
    local list = items(proof)
    vim.fn.setloclist(0, {}, ' ', { title = 'Proofline: why ' .. proof.name, items = list })
    vim.cmd('lopen ' .. math.min(#list, 12))
  end)
end

-- `:ProoflineProof [FUNCTION]`
function M.show(args)
  local uri = vim.uri_from_bufnr(0)
  if args and args.args and args.args ~= '' then
    return M.open({ uri = uri, ['function'] = args.args })
  end
  local client = require('proofline').client(0)
  local params = vim.lsp.util.make_position_params(0, client and client.offset_encoding or 'utf-16')
  M.open({ uri = uri, position = params.position })
end

return M
