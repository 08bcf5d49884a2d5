/** Colors on a terminal; none with NO_COLOR, TERM=dumb, or when the output is not a terminal. Pure.
 *  Source: no-color.org. */
import type { CliContext } from '../context.ts';

type Paint = (text: string) => string;

export interface Painter {
  readonly red: Paint;
  readonly green: Paint;
  readonly yellow: Paint;
  readonly cyan: Paint;
  readonly bold: Paint;
  readonly dim: Paint;
}

export function wantsColors({ out, env }: Pick<CliContext, 'out' | 'env'>): boolean {
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
