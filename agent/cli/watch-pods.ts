/** `nodeagent ps -w`: the table, and then a line for each change. */
import type { Pod } from '#api/schema/gen/core-v1.ts';
import { isPlainObject, readPod, textMember } from './answers.ts';
import type { LocalApi } from './api-client.ts';
import type { CommandContext } from './command.ts';
import { readJsonLines } from './json-lines.ts';
import { type PodTableOptions, podHeadings, podRow } from './pod-rows.ts';
import { columnWidths, formatRow } from './table.ts';

export type PodChange =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly pod: Pod }
  /** All that were there at the start have been told. */
  | { readonly type: 'BOOKMARK' };

/** Lines of pods that come and go are rarely wider than this; a wider cell moves its line only. */
const USUAL_ROW = [
  'a-namespace',
  'a-pod-of-usual-length',
  '0/0',
  'ContainerCreating',
  '0 (10m ago)',
  '10m',
  '10.100.100.100',
];

/** Every pod there is as ADDED, a BOOKMARK, then each change, until the signal fires or the agent ends.
 *  @throws AgentUnreachableError, ApiError */
export async function* followPods(api: LocalApi, signal: AbortSignal): AsyncGenerator<PodChange> {
  const stream = await api.stream({ path: ['pods'], query: { watch: 'true' }, signal });
  for await (const value of readJsonLines(stream)) {
    if (!isPlainObject(value)) continue;
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
): Promise<void> {
  const headings = podHeadings(options);
  const usual = options.withNamespace ? USUAL_ROW : USUAL_ROW.slice(1);
  const widths = columnWidths([headings, usual]);
  await out.write(formatRow(headings, widths));
  const shown = new Map<string, string>();
  for await (const change of followPods(api, signal)) {
    if (change.type === 'BOOKMARK' || !isWanted(change.pod)) continue;
    const { type, pod } = change;
    const uid = pod.metadata?.uid ?? '';
    const row = podRow(pod, options, clock.now());
    const words = type === 'DELETED' ? row.with(statusColumn(options), 'Deleted') : row;
    // A change that the table does not show, such as another condition's time, is no line of its own.
    const content = words.filter((_, index) => headings[index] !== 'AGE').join('\n');
    if (shown.get(uid) === content) continue;
    if (type === 'DELETED') shown.delete(uid);
    else shown.set(uid, content);
    await out.write(formatRow(words, widths));
  }
}

const statusColumn = (options: PodTableOptions): number => podHeadings(options).indexOf('STATUS');
