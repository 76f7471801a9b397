"""The server under a client that nobody here wrote, once per recorded set of an editor's capabilities. pytest-lsp warns when an
answer uses something that the editor did not announce; a warning is a failure here."""
import asyncio, pathlib

import pytest, pytest_lsp
from client import PROOFLINE
from lsprotocol import types as t
from pytest_lsp import ClientServerConfig, LanguageClient, client_capabilities

FILE = (pathlib.Path(__file__).parents[2] / "examples/average.c").resolve()
pytestmark = pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning")
DOCUMENT = t.TextDocumentIdentifier(FILE.as_uri())


@pytest_lsp.fixture(params=["visual-studio-code", "neovim", "emacs"], config=ClientServerConfig(server_command=[PROOFLINE, "lsp"]))
async def client(request, lsp_client: LanguageClient):
    capabilities = client_capabilities(request.param)
    # What these editors answer and pytest-lsp leaves to the test.
    for method in (t.CLIENT_REGISTER_CAPABILITY, t.WORKSPACE_CODE_LENS_REFRESH, t.WORKSPACE_INLAY_HINT_REFRESH):
        lsp_client.feature(method)(lambda *_: None)
    await lsp_client.initialize_session(t.InitializeParams(capabilities=capabilities))
    lsp_client.set_configuration({}, section="proofline")
    yield
    await lsp_client.shutdown_session()


async def diagnostics(client):
    item = t.TextDocumentItem(uri=FILE.as_uri(), language_id="c", version=1, text=FILE.read_text())
    client.text_document_did_open(t.DidOpenTextDocumentParams(text_document=item))
    for _ in range(50):
        await asyncio.wait_for(client.wait_for_notification("textDocument/publishDiagnostics"), 10)
        if client.diagnostics.get(FILE.as_uri()):
            return client.diagnostics[FILE.as_uri()]


@pytest.mark.asyncio
async def test_the_path_arrives_in_the_editor(client):
    (found,) = await diagnostics(client)
    assert found.code == "signed-overflow" and found.severity == t.DiagnosticSeverity.Error
    context = t.CodeActionContext(diagnostics=[found])
    actions = await client.text_document_code_action_async(t.CodeActionParams(DOCUMENT, found.range, context))
    assert actions[0].title == "Show counterexample trace"
    # lsprotocol 2025 reads an action with a command as a bare command, so the argument is made here.
    finding = found.data["finding"] if isinstance(found.data, dict) else found.data.finding
    argument = {"uri": FILE.as_uri(), "finding": finding}
    trace = await client.workspace_execute_command_async(t.ExecuteCommandParams("proofline.trace", [argument]))
    text = trace["text"] if isinstance(trace, dict) else trace.text
    assert "call `average(" in text


@pytest.mark.asyncio
async def test_the_common_requests_are_answered_in_the_client_s_terms(client):
    await diagnostics(client)
    at = t.Position(9, 14)
    hover = await client.text_document_hover_async(t.HoverParams(DOCUMENT, at))
    assert "average" in hover.contents.value
    symbols = await client.text_document_document_symbol_async(t.DocumentSymbolParams(DOCUMENT))
    assert [s.name for s in symbols] == ["careful", "average", "main"]
    assert await client.text_document_definition_async(t.DefinitionParams(DOCUMENT, t.Position(20, 13)))
    assert await client.text_document_code_lens_async(t.CodeLensParams(DOCUMENT))
