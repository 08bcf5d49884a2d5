/** Colors on a terminal; none with NO_COLOR, TERM=dumb, or when the output is not a terminal. Pure.
 *  Source: no-color.org. */
import type { CliContext } from '../context.ts';
import type { PaintCell } from '../views/table.ts';

type Paint = (text: string) => string;

export interface Painter {
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly cyan: Paint;
  readonly bold: Paint;
  readonly dim: Paint;
}

function wantsColors({ out, env }: Pick<CliContext, 'out' | 'env'>): boolean {
  const { NO_COLOR: none = '', FORCE_COLOR: forced = '', TERM: terminal = '' } = env;
  if (none !== '') return false;
  if (forced !== '' && forced !== '0') return true;
  return out.terminal !== undefined && terminal !== 'dumb';
}

const escape =
  (on: number, off: number): Paint =>
  (text) =>
    text === '' ? '' : `\u001B[${on}m${text}\u001B[${off}m`;
const plain: Paint = (text) => text;

export function createPainter(context: Pick<CliContext, 'out' | 'env'>): Painter {
  const paint = wantsColors(context) ? escape : () => plain;
  return {
    red: paint(31, 39),
    green: paint(32, 39),
    yellow: paint(33, 39),
    cyan: paint(36, 39),
    bold: paint(1, 22),
    dim: paint(2, 22),
  };
}

const GOOD: ReadonlySet<string> = new Set(['Running', 'ok', 'valid']);
const DONE: ReadonlySet<string> = new Set(['Completed', 'Succeeded', 'Deleted']);
const ON_THE_WAY =
  /^(?:Pending|Terminating|ContainerCreating|PodInitializing|Init:\d.*|NotReady|Unknown|limited)$/;

/** Returns the function that colors the cells of a table by their meaning; undefined without colors. */
export function cellPainter(context: Pick<CliContext, 'out' | 'env'>): PaintCell | undefined {
  if (!wantsColors(context)) return undefined;
  const { green, red, yellow, dim } = createPainter(context);
  const status: Paint = (text) => {
    if (GOOD.has(text)) return green(text);
    if (DONE.has(text)) return dim(text);
    return ON_THE_WAY.test(text) ? yellow(text) : red(text);
  };
  return (heading, text) => {
    if (heading === 'STATUS' || heading === 'STATE') return status(text);
    return heading === 'TYPE' && text === 'Warning' ? yellow(text) : text;
  };
}
