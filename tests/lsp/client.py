"""A small client of the language server for tests that need raw control: every message the server sends is checked against
lsprotocol's types, which are generated from the specification's meta model."""
import json, os, pathlib, queue, subprocess, threading, time

from lsprotocol import types
from lsprotocol.converters import get_converter

PROOFLINE = os.environ.get("PROOFLINE") or str(pathlib.Path(__file__).parents[2] / "target/debug/proofline")
CONVERTER = get_converter()
CAPABILITIES = {
    "textDocument": {"publishDiagnostics": {"relatedInformation": True, "codeDescriptionSupport": True, "versionSupport": True}},
    "window": {"workDoneProgress": True},
    "experimental": {"proofline": {"functions": True}},
}


class Client:
    def __init__(self, capabilities=CAPABILITIES, options=None, env=None, params=None):
        self.process = subprocess.Popen(
            [PROOFLINE, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **(env or {})}
        )
        self.number, self.replies, self.waiting = 0, {}, {}
        self.answers = {"workspace/configuration": lambda params: [None]}
        self.messages, self.malformed, self.news = [], [], threading.Condition()
        threading.Thread(target=self.read, daemon=True).start()
        params = {"processId": os.getpid(), "rootUri": None, "capabilities": capabilities, **(params or {})}
        if options is not None:
            params["initializationOptions"] = options
        self.initialized = self.ask("initialize", params)
        self.tell("initialized", {})

    def read(self):
        out = self.process.stdout
        while True:
            length = 0
            while True:
                line = out.readline()
                if not line:
                    return
                if line == b"\r\n":
                    break
                name, value = line.split(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            message = json.loads(out.read(length))
            message["_time"] = time.monotonic()
            self.check(message)
            if "method" in message and "id" in message:
                answer = self.answers.get(message["method"])
                result = answer(message["params"]) if answer else None
                self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            with self.news:
                self.messages.append(message)
                self.news.notify_all()

    def check(self, message):
        plain = {key: value for key, value in message.items() if key != "_time"}
        try:
            if "method" in plain:
                if not plain["method"].startswith("proofline/"):
                    CONVERTER.structure(plain, types.METHOD_TO_TYPES[plain["method"]][0])
            elif "error" not in plain:
                method = self.waiting.get(plain["id"])
                if method in types.METHOD_TO_TYPES:
                    CONVERTER.structure(plain, types.METHOD_TO_TYPES[method][1])
        except Exception as fault:
            self.malformed.append((plain, repr(fault)))

    def send(self, message):
        body = json.dumps(message).encode()
        try:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass

    def tell(self, method, params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def start(self, method, params):
        self.number += 1
        self.waiting[self.number] = method
        self.send({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params})
        return self.number

    def reply(self, number, limit=20):
        return self.wait(lambda m: m.get("id") == number and "method" not in m, limit)

    def ask(self, method, params, limit=20):
        message = self.reply(self.start(method, params), limit)
        assert "error" not in message, message["error"]
        return message.get("result")

    def wait(self, wanted, limit=20, after=0):
        end = time.monotonic() + limit
        with self.news:
            while True:
                while after < len(self.messages):
                    if wanted(self.messages[after]):
                        return self.messages[after]
                    after += 1
                left = end - time.monotonic()
                assert left > 0, "nothing came in time; the last messages: %s" % json.dumps(self.messages[-3:])[:3000]
                self.news.wait(left)

    # Documents

    def open(self, path, text, version=1):
        uri = path if ":" in str(path) else pathlib.Path(path).as_uri()
        self.tell("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "c", "version": version, "text": text}})
        return uri

    def change(self, uri, version, *changes):
        self.tell("textDocument/didChange", {"textDocument": {"uri": uri, "version": version}, "contentChanges": list(changes)})

    def published(self, uri, version=None):
        """Every list of diagnostics of a document."""
        is_one = lambda m: m.get("method") == "textDocument/publishDiagnostics" and m["params"]["uri"] == uri
        found = [m["params"] for m in list(self.messages) if is_one(m)]
        return [p for p in found if version is None or p.get("version") == version]

    def settled(self, uri, version, limit=30):
        """The functions of a document when nothing is open any more."""
        is_open = lambda f: f["state"] in ("queued", "running", "stale")
        message = self.wait(
            lambda m: m.get("method") == "proofline/functions" and m["params"]["uri"] == uri
            and m["params"]["version"] == version and not any(map(is_open, m["params"]["functions"])),
            limit,
        )
        # The diagnostics of the same moment come just before.
        return {f["name"]: f for f in message["params"]["functions"]}

    def diagnostics(self, uri):
        found = self.published(uri)
        return found[-1]["diagnostics"] if found else []

    def close(self, limit=1.0):
        """Ends the server; returns its exit code and how long it took."""
        assert self.malformed == [], self.malformed
        self.ask("shutdown", None)
        begun = time.monotonic()
        self.tell("exit", None)
        code = self.process.wait(limit)
        return code, time.monotonic() - begun


def at(line, first, last, text):
    return {"range": {"start": {"line": line, "character": first}, "end": {"line": line, "character": last}}, "text": text}
