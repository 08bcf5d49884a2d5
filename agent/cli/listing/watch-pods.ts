/** `nodeagent ps -w`: the table, followed by a line for each change. */

import type { Pod } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import type { LocalApi } from '../client/api-client.ts';
import { readJsonLines } from '../client/json-lines.ts';
import { readPod, textMember } from '../client/responses.ts';
import type { CommandContext } from '../command.ts';
import { type PodTableOptions, podHeadings, podRow } from '../views/pod-rows.ts';
import { columnWidths, formatRow } from '../views/table.ts';

export type PodChange =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly pod: Pod }
  /** All initial pods have been printed. */
  | { readonly type: 'BOOKMARK' };

/** Column widths for lines that are printed later; a wider cell shifts only its own line. */
const USUAL_ROW = [
  'a-namespace',
  'a-pod-of-usual-length',
  '0/0',
  'ContainerCreating',
  '0 (10m ago)',
  '10m',
  '10.100.100.100',
];

/** Yields every pod as ADDED, a BOOKMARK, then each change, until the signal fires or the agent ends the
 *  stream.
 *  @throws AgentUnreachableError, ApiError */
export async function* followPods(api: LocalApi, signal: AbortSignal): AsyncGenerator<PodChange> {
  const stream = await api.stream({ path: ['pods'], query: { watch: 'true' }, signal });
  for await (const value of readJsonLines(stream)) {
    if (!isObject(value)) continue;
    const type = textMember(value, 'type');
    if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') {
      yield { type, pod: readPod(value['object']) };
    }
    if (type === 'BOOKMARK') yield { type };
  }
}

export async function watchPodTable(
  { api, out, clock, signal }: Pick<CommandContext, 'api' | 'out' | 'clock' | 'signal'>,
  options: PodTableOptions,
  isWanted: (pod: Pod) => boolean,
  withHeadings = true,
): Promise<void> {
  const headings = podHeadings(options);
  const usual = options.withNamespace ? USUAL_ROW : USUAL_ROW.slice(1);
  const widths = columnWidths([headings, usual]);
  if (withHeadings) await out.write(formatRow(headings, widths));
  const shown = new Map<string, string>();
  for await (const change of followPods(api, signal)) {
    if (change.type === 'BOOKMARK' || !isWanted(change.pod)) continue;
    const { type, pod } = change;
    const uid = pod.metadata?.uid ?? '';
    const row = podRow(pod, options, clock.now());
    const cells = type === 'DELETED' ? row.with(statusColumn(options), 'Deleted') : row;
    // A change without visible effect in the table, such as the time of a condition, prints no line.
    const content = cells.filter((_, index) => headings[index] !== 'AGE').join('\n');
    if (shown.get(uid) === content) continue;
    if (type === 'DELETED') shown.delete(uid);
    else shown.set(uid, content);
    await out.write(formatRow(cells, widths));
  }
}

const statusColumn = (options: PodTableOptions): number => podHeadings(options).indexOf('STATUS');
