/** Shows the progress of starting pods: a redrawn table on a terminal, otherwise a line for each change. */
import { formatTable } from '../cli/views/table.ts';
import type { PodLine } from './pod-line.ts';

export interface Progress {
  show(lines: readonly PodLine[]): void;
  /** Keeps the last state on the screen, so that other text can follow. */
  finish(): void;
}

export interface ProgressOutput {
  write(text: string): void;
  /** Characters per line; undefined when the output is not a terminal. */
  readonly columns: number | undefined;
}

const TITLES = ['POD', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'IP'];

export function createProgress(output: ProgressOutput): Progress {
  return output.columns === undefined ? createLineProgress(output) : createTableProgress(output);
}

function tableRows(lines: readonly PodLine[]): readonly string[] {
  const cells = lines.map((line) => [
    line.name,
    line.ready,
    line.status,
    String(line.restarts),
    line.age,
    line.ip,
  ]);
  return formatTable(TITLES, cells).trimEnd().split('\n');
}

function createTableProgress(output: ProgressOutput): Progress {
  let drawn = 0;
  let last = '';
  return {
    show(lines) {
      const width = output.columns ?? 80;
      const rows = tableRows(lines).map((row, index) => colour(row.slice(0, width), lines[index - 1]));
      const text = `${rows.join('\n')}\n`;
      if (text === last) return;
      // Move up to the first row of the last drawing, then clear to the end of the screen.
      output.write(`${drawn === 0 ? '' : `\u001b[${drawn}A`}\u001b[0J${text}`);
      drawn = rows.length;
      last = text;
    },
    finish: () => {
      drawn = 0;
      last = '';
    },
  };
}

/** Green for a pod that has reached its goal, yellow for one in progress; the title is bold. */
function colour(row: string, line: PodLine | undefined): string {
  if (line === undefined) return `\u001b[1m${row}\u001b[0m`;
  return `\u001b[${line.settled ? 32 : 33}m${row}\u001b[0m`;
}

function createLineProgress(output: ProgressOutput): Progress {
  const shown = new Map<string, string>();
  return {
    show(lines) {
      for (const line of lines) {
        const ip = line.ip === '' ? '' : ` at ${line.ip}`;
        const restarts = line.restarts === 0 ? '' : `, ${line.restarts} restarts`;
        const text = `${line.name}: ${line.status}, ${line.ready} ready${restarts}${ip}`;
        if (shown.get(line.name) === text) continue;
        shown.set(line.name, text);
        output.write(`  ${text}\n`);
      }
    },
    finish: () => undefined,
  };
}
