// The debug adapter under Microsoft's own test client. Usage: NODE_PATH=…/node_modules node dap.js PATH-OF-proofline
const { DebugClient } = require('@vscode/debugadapter-testsupport'), assert = require('assert'), fs = require('fs'), os = require('os'), path = require('path');

const TEXT = `#include <assert.h>
extern int __VERIFIER_nondet_int(void);
int total;
static int twice(int n) {
    int result = n * 2;
    total = total + 1;
    return result;
}
int main(void) {
    int x = __VERIFIER_nondet_int();
    if (x < 0 || x > 100)
        return 0;
    int y = twice(x);
    int z = twice(y);
    assert(z < 400);
    return z;
}
`;

(async () => {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'proofline-dap-')), 'replay.c');
  fs.writeFileSync(file, TEXT);
  const client = new DebugClient('', '', 'proofline');
  const cp = require('child_process'), adapter = cp.spawn(process.argv[2], ['dap'], { stdio: ['pipe', 'pipe', 'inherit'] });
  client.connect(adapter.stdout, adapter.stdin);
  const ended = new Promise((done) => adapter.on('exit', done));
  const abilities = await client.initializeRequest();
  assert(abilities.body.supportsStepBack, 'it steps back');
  const initialized = client.waitForEvent('initialized');
  await client.launchRequest({ program: file });
  await initialized;
  const breakpoints = await client.setBreakpointsRequest({ source: { path: file }, breakpoints: [{ line: 6 }, { line: 2 }] });
  assert.deepEqual(breakpoints.body.breakpoints.map((b) => b.verified), [true, false], 'only lines on the path are verified');
  const frames = async () => (await client.stackTraceRequest({ threadId: 1 })).body.stackFrames;
  const where = async () => (await frames()).map((frame) => `${frame.name}:${frame.line}`).join(' < ');
  const move = async (request) => (await Promise.all([client.waitForEvent('stopped'), client.send(request, { threadId: 1 })]))[0].body.reason;
  const scope = async (wanted) => {
    const frame = (await frames())[0].id, { scopes } = (await client.scopesRequest({ frameId: frame })).body;
    const reference = scopes.find((s) => s.name === wanted).variablesReference;
    return Object.fromEntries((await client.variablesRequest({ variablesReference: reference })).body.variables.map((v) => [v.name, v.value]));
  };
  const value = async (expression) => (await client.evaluateRequest({ expression, frameId: (await frames())[0].id })).body.result;

  const [entry] = await Promise.all([client.waitForEvent('stopped'), client.configurationDoneRequest()]);
  assert.equal(entry.body.reason, 'entry');
  assert.equal(await where(), 'main:10');
  assert.equal((await scope('Inputs')).x, '100');
  assert.equal(await move('continue'), 'breakpoint');
  assert.equal(await where(), 'twice:6 < main:13', 'the call is on the stack');
  assert.deepEqual(await scope('Locals'), { n: '100', result: '200' });
  assert.deepEqual(await scope('Globals'), { total: '1' });
  assert.equal(await value('result - n * 2 == 0 && total >= 1'), '1');
  assert.equal(await move('continue'), 'breakpoint');
  assert.equal(await where(), 'twice:6 < main:14');
  assert.deepEqual(await scope('Locals'), { n: '200', result: '400' });
  assert.equal(await move('stepOut'), 'step');
  assert.equal(await where(), 'main:14');
  assert.equal((await scope('Locals')).z, '400');
  assert.equal(await move('reverseContinue'), 'breakpoint');
  assert.deepEqual(await scope('Globals'), { total: '2' });
  assert.equal(await move('reverseContinue'), 'breakpoint');
  assert.deepEqual(await scope('Globals'), { total: '1' }, 'values go back as well');
  assert.equal(await move('stepBack'), 'step');
  assert.equal(await where(), 'twice:5 < main:13');
  await client.setBreakpointsRequest({ source: { path: file }, breakpoints: [] });
  assert.equal(await move('continue'), 'exception', 'it ends at the failure');
  assert.equal(await where(), 'main:15');
  assert.equal(await value('z'), '400');
  const fault = await client.send('exceptionInfo', { threadId: 1 });
  assert.equal(fault.body.exceptionId, 'assertion');
  await client.disconnectRequest();
  assert.equal(await ended, 0, 'the adapter ends with the session');
  console.log('debug adapter: ok');
})().catch((error) => { console.error(error); process.exit(1); });
