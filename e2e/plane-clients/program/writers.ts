/** Concurrent writers that record acknowledged writes until the server stops. */
import type { Random } from '../../../testing/random.ts';
import type { Body, Program, Reply } from './program.ts';

/** Last acknowledged write of an object; `value` is `undefined` if that was its deletion. */
export interface Acknowledged {
  readonly value: string | undefined;
  readonly revision: number;
}

export interface Ledger {
  readonly objects: Map<string, Acknowledged>;
  /** The last value that was sent, whether or not it was acknowledged; `undefined` is a deletion. */
  readonly sent: Map<string, string | undefined>;
  count: number;
  newest: number;
  /** Responses that no writer should get. */
  readonly surprises: string[];
}

export const createLedger = (): Ledger => ({
  objects: new Map(),
  sent: new Map(),
  count: 0,
  newest: 0,
  surprises: [],
});

export const COLLECTION = '/api/v1/namespaces/default/configmaps';

/** Each writer creates objects of its own, changes them and deletes some. Resolves when none of them gets a response any
 *  more; `onFirst` is called when the first one has. */
export async function writeUntilGone(
  program: Program,
  ledger: Ledger,
  random: Random,
  options: { readonly writers: number; readonly run: number; readonly onFirst?: () => void },
): Promise<void> {
  const { writers, run, onFirst } = options;
  const lines = Array.from({ length: writers }, (_, writer) =>
    writeAlone(program, ledger, random, `r${run}-w${writer}`, onFirst),
  );
  await Promise.all(lines);
}

async function writeAlone(
  program: Program,
  ledger: Ledger,
  random: Random,
  prefix: string,
  onFirst?: () => void,
): Promise<void> {
  const { objects, sent } = ledger;
  for (let index = 0; ; index += 1) {
    const old = `${prefix}-${random.below(Math.max(1, index))}`;
    const change = index > 0 && objects.get(old)?.value !== undefined && random.below(2) === 0;
    const name = change ? old : `${prefix}-${index}`;
    const value = change && random.below(3) === 0 ? undefined : `${prefix}.${index}`;
    sent.set(name, value);
    const reply = await send(program, name, value, change);
    if (reply === undefined) return;
    if (reply.status >= 300) {
      ledger.surprises.push(`${name}: ${reply.status} ${reply.text}`);
      continue;
    }
    // The response to a deletion has none.
    const revision = Number(reply.body.metadata.resourceVersion ?? 0);
    objects.set(name, { value, revision });
    ledger.count += 1;
    ledger.newest = Math.max(ledger.newest, revision);
    onFirst?.();
  }
}

/** `undefined`: the server is gone. */
async function send(
  program: Program,
  name: string,
  value: string | undefined,
  change: boolean,
): Promise<Reply | undefined> {
  const body = { metadata: { name }, data: { value } };
  try {
    if (value === undefined) return await program.call('DELETE', `${COLLECTION}/${name}`);
    return await (change
      ? program.call('PUT', `${COLLECTION}/${name}`, body)
      : program.call('POST', COLLECTION, body));
  } catch {
    return undefined;
  }
}

/** Returns unexpected and missing objects of the server. */
export function findLosses(ledger: Ledger, items: readonly Body[], revision: number): readonly string[] {
  const errors = [...ledger.surprises];
  const found = new Map(items.map((item) => [item.metadata.name, item]));
  for (const [name, { value, revision: own }] of ledger.objects) {
    const item = found.get(name);
    const shown = item?.data?.['value'];
    const isLater =
      shown === ledger.sent.get(name) && (item === undefined || Number(item.metadata.resourceVersion) > own);
    const isThat = shown === value && (item === undefined || Number(item.metadata.resourceVersion) === own);
    if (!isThat && !isLater)
      errors.push(`${name}: ${value ?? 'nothing'}@${own} acknowledged, ${JSON.stringify(item)} there`);
  }
  for (const [name, { data }] of found) {
    if (!/^r\d+-w/.test(name) || ledger.objects.has(name)) continue;
    if (data?.['value'] !== ledger.sent.get(name))
      errors.push(`${name}: ${JSON.stringify(data)} was never sent`);
  }
  if (revision < ledger.newest) errors.push(`the state is of ${revision}, ${ledger.newest} was acknowledged`);
  return errors;
}
