/** What is said between this extension and the server beyond the language server protocol. Knows nothing of VS Code. */
import type { Range } from 'vscode-languageclient';

/** The state of a function: one state machine in the server; gutter, status bar and Testing view only draw it. */
export type State = 'queued' | 'running' | 'proved' | 'asks' | 'violated' | 'unknown' | 'stale' | 'internal-error';

/** A function with its verdict; the counts are obligations. */
export interface FunctionState {
  name: string;
  range: Range;
  selectionRange: Range;
  state: State;
  reason?: string;
  proved: number;
  violated: number;
  asked: number;
  unknown: number;
  /** What callers must see to. */
  needs?: string[];
  /** The verdict in one sentence, as the server says it everywhere. */
  headline: string;
  timeMs?: number;
}

/** Notification `proofline/functions`. */
export interface FunctionsParams {
  uri: string;
  version?: number;
  functions: FunctionState[];
}

export interface Value {
  name: string;
  value: string;
}

/** One step of a path; `depth` is the depth of calls. A step without a place in the text has neither `uri` nor `range`. */
export interface Step {
  number: number;
  depth: number;
  kind: 'input' | 'branch' | 'assign' | 'call' | 'return' | 'failure' | 'other';
  text: string;
  function?: string;
  uri: string | null;
  range: Range | null;
  values: Value[];
  /** Which picture shows memory behind the step. */
  picture: number | null;
}

/** A line of an object. */
export interface MemoryCell {
  y: number;
  name: string;
  value: string;
  kind: 'text' | 'null' | 'pointer' | 'uninitialised' | 'open' | 'more';
  isNew: boolean;
}

/** An object: a box, in pixels. */
export interface MemoryObject {
  x: number;
  y: number;
  width: number;
  height: number;
  title: string;
  kind: 'variable' | 'named' | 'heap' | 'outside' | 'freed' | 'ended';
  cells: MemoryCell[];
}

/** Memory behind a step; `path` is as SVG writes it, `text` the same in words. */
export interface MemoryPicture {
  width: number;
  height: number;
  objects: MemoryObject[];
  arrows: { path: string; isNew: boolean; isDangling: boolean }[];
  more: string | null;
  text: string[];
}

/** Answer of `proofline.trace`. */
export interface Trace {
  finding: string;
  check: string;
  title: string;
  message: string;
  help?: string | null;
  uri: string;
  version?: number;
  range: Range;
  inputs: Value[];
  steps: Step[];
  pictures: MemoryPicture[];
  text: string;
}

/** Answer of `proofline.summary`. */
export interface Summary {
  name: string;
  uri: string;
  range: Range | null;
  state: State;
  requires: string[];
  ensures: string[];
  reads: string[];
  writes: string[];
  checks: { check: string; proved: number; violated: number; asked: number; unknown: number }[];
  headline: string;
  timeMs?: number;
  restsOn: string[];
  markdown: string;
}

/** A line of a proof: what holds and why, with its place if the text has one. */
export interface ProofLine {
  kind: 'needs' | 'invariant' | 'callee' | 'proved' | 'asked' | 'open' | 'failing' | 'ensures' | 'rests-on';
  word: string;
  text: string;
  because: string;
  known: string[];
  finding: string | null;
  uri: string | null;
  range: Range | null;
}

/** Answer of `proofline.proof`. */
export interface Proof {
  name: string;
  uri: string;
  range: Range;
  version?: number;
  state: State;
  headline: string;
  lines: ProofLine[];
  text: string;
}

/** Answer of `proofline.test`. */
export interface Reproduction {
  name: string;
  text: string;
  confirmed: boolean | null;
  output?: string;
}

/** Argument of the commands about a finding. */
export interface FindingArgument {
  uri: string;
  finding: string;
}

/** Argument of the commands about a function. */
export interface FunctionArgument {
  uri: string;
  function?: string;
}

/** The commands that the server may put into code actions and lenses for this client. */
export const CLIENT_COMMANDS = ['proofline.showTrace', 'proofline.replay', 'proofline.showSummary', 'proofline.showProof', 'proofline.openTest'];

/** A verdict in words, with the time that it took. */
export function describe(f: { headline: string; timeMs?: number | undefined }): string {
  const time = f.timeMs === undefined ? '' : f.timeMs < 1000 ? `, ${Math.round(f.timeMs)} ms` : `, ${(f.timeMs / 1000).toFixed(1)} s`;
  return f.headline + time;
}

/** The whole verdict, with the reason that something is not decided. */
export function explain(f: FunctionState): string {
  const reason = f.state === 'unknown' && f.reason !== undefined && !f.headline.includes(f.reason) ? `: ${f.reason}` : '';
  return describe(f) + reason;
}
