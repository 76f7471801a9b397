/** The numbered steps of the open counterexample, with their values, behind the lines they stand on. */
import * as vscode from 'vscode';
import type { OpenTrace, PlacedStep } from './open';
import { plain } from './view';

/** A line with what stands behind it is no longer than this, or the minimap covers its end; the tree has the texts whole. */
const WIDEST = 140;

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
    const options: vscode.DecorationOptions[] = [...lines].map(([line, steps]) => ({
      range: editor.document.lineAt(line).range,
      renderOptions: {
        after: {
          contentText: `\u00a0\u00a0${this.text(steps, current, WIDEST - editor.document.lineAt(line).text.length)}`,
          color: new vscode.ThemeColor(steps.every((s) => s.touched) ? 'disabledForeground' : 'proofline.stepForeground'),
          fontStyle: 'italic',
          margin: '0 0 0 1.5em',
        },
      },
    }));
    editor.setDecorations(this.line, options);
    const at = current !== undefined && here.includes(current) ? [editor.document.lineAt(Math.min(current.range.start.line, editor.document.lineCount - 1)).range] : [];
    editor.setDecorations(this.currentLine, at);
  }

  /** `① low = 2   ④ call f(2)`; the current step is marked. */
  private text(steps: PlacedStep[], current: PlacedStep | undefined, width: number): string {
    const room = Math.max(30, Math.floor(width / steps.length));
    return steps
      .map((placed) => {
        const { step } = placed;
        const said = plain(step.text);
        const more = step.values.map((v) => `${v.name} = ${v.value}`).filter((v) => !said.includes(v));
        const text = [said, ...more].join(', ');
        return `${placed === current ? '▶' : ''}${numeral(step.number)} ${text.length > room ? `${text.slice(0, room - 1)}…` : text}`;
      })
      .join('   ');
  }

  dispose(): void {
    this.line.dispose();
    this.currentLine.dispose();
    this.subscriptions.forEach((s) => s.dispose());
  }
}

/** A number in a circle where every font has a character for it. */
function numeral(n: number): string {
  return n >= 1 && n <= 10 ? String.fromCodePoint(0x2460 + n - 1) : `(${n})`;
}
