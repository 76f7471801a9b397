/** The numbered steps of the open counterexample, with their values, behind the lines they stand on. */
import * as vscode from 'vscode';
import type { OpenTrace, PlacedStep } from './open';
import { plain } from './view';

/** A line with what stands behind it has no more columns than this, or it runs out of the window. The hover of the line has the rest. */
const WIDEST = 100;

/** Behind a line that is long itself, a step has this many columns. */
const NARROWEST = 30;

export class TraceDecorations implements vscode.Disposable {
  private readonly line = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    backgroundColor: new vscode.ThemeColor('proofline.stepBackground'),
    overviewRulerColor: new vscode.ThemeColor('proofline.stepForeground'),
    overviewRulerLane: vscode.OverviewRulerLane.Center,
  });
  private readonly currentLine = vscode.window.createTextEditorDecorationType({
    isWholeLine: true,
    rangeBehavior: vscode.DecorationRangeBehavior.ClosedClosed,
    backgroundColor: new vscode.ThemeColor('proofline.currentStepBackground'),
    borderColor: new vscode.ThemeColor('proofline.currentStepBorder'),
    borderStyle: 'solid',
    borderWidth: '1px 0',
  });
  private readonly subscriptions: vscode.Disposable[];

  constructor(private readonly open: OpenTrace) {
    this.subscriptions = [
      open.onDidChange(() => vscode.window.visibleTextEditors.forEach((editor) => this.draw(editor))),
      vscode.window.onDidChangeVisibleTextEditors((editors) => editors.forEach((editor) => this.draw(editor))),
    ];
  }

  private draw(editor: vscode.TextEditor): void {
    const here = this.open.steps.filter((placed) => placed.uri.toString() === editor.document.uri.toString());
    const lines = new Map<number, PlacedStep[]>();
    for (const placed of here) {
      const line = Math.min(placed.range.start.line, editor.document.lineCount - 1);
      lines.set(line, [...(lines.get(line) ?? []), placed]);
    }
    const current = this.open.steps[this.open.current];
    const options = [...lines].map(([line, steps]) => option(editor, line, steps, current));
    editor.setDecorations(this.line, options);
    const at = current !== undefined && here.includes(current) ? [editor.document.lineAt(Math.min(current.range.start.line, editor.document.lineCount - 1)).range] : [];
    editor.setDecorations(this.currentLine, at);
  }

  dispose(): void {
    this.line.dispose();
    this.currentLine.dispose();
    this.subscriptions.forEach((s) => s.dispose());
  }
}

/** What stands behind a line, and in its hover what has no room there. */
function option(editor: vscode.TextEditor, line: number, steps: PlacedStep[], current: PlacedStep | undefined): vscode.DecorationOptions {
  const { range, text } = editor.document.lineAt(line);
  const tab = ' '.repeat(Number(editor.options.tabSize));
  const whole = steps.map((placed) => said(placed, current));
  const shown = fitting(whole, nearest(steps, current), Math.max(NARROWEST, WIDEST - text.replaceAll('\t', tab).length));
  return {
    range,
    ...(shown === whole.join(GAP) ? {} : { hoverMessage: new vscode.MarkdownString().appendCodeblock(whole.join('\n'), 'text') }),
    renderOptions: {
      after: {
        contentText: `${GAP}${shown}`,
        color: new vscode.ThemeColor(steps.every((s) => s.touched) ? 'disabledForeground' : 'proofline.stepForeground'),
        fontStyle: 'italic',
        margin: '0 0 0 1.5em',
      },
    },
  };
}

/** Blanks that are not drawn as one. */
const GAP = '\u00a0\u00a0';

/** `④ low = 2`; the current step is marked. */
function said(placed: PlacedStep, current: PlacedStep | undefined): string {
  const { step } = placed;
  const text = plain(step.text);
  const more = step.values.map((v) => `${v.name} = ${v.value}`).filter((v) => !text.includes(v));
  return `${placed === current ? '▶' : ''}${numeral(step.number)} ${[text, ...more].join(', ')}`;
}

/** Of a line's steps, the one where the path has come to: the current one, or the last before it. */
function nearest(steps: PlacedStep[], current: PlacedStep | undefined): number {
  const passed = steps.filter((placed) => current !== undefined && placed.step.number <= current.step.number);
  return Math.max(0, passed.length - 1);
}

/** All texts if they fit into so many columns; or else one of them, what is behind and before it as long as that fits, and how many are missing. */
function fitting(texts: string[], one: number, width: number): string {
  const part = (begin: number, end: number) => texts.slice(begin, end).join(GAP);
  const missing = (begin: number, end: number) => (end - begin === texts.length ? '' : `${GAP}+${texts.length - (end - begin)} more`);
  const fits = (begin: number, end: number) => part(begin, end).length + missing(begin, end).length <= width;
  let [begin, end] = [one, one + 1];
  while (end < texts.length && fits(begin, end + 1)) end++;
  while (begin > 0 && fits(begin - 1, end)) begin--;
  const room = width - missing(begin, end).length;
  const shown = part(begin, end);
  return (shown.length > room ? `${shown.slice(0, room - 1)}…` : shown) + missing(begin, end);
}

/** A number in a circle where every font has a character for it. */
function numeral(n: number): string {
  return n >= 1 && n <= 10 ? String.fromCodePoint(0x2460 + n - 1) : `(${n})`;
}
