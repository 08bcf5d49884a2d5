/** Formats pods as rows of the `ps` table. Pure. */
import type { Pod } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { formatSince } from '../args/duration.ts';
import { summarizePod } from './pod-status.ts';

export interface PodTableOptions {
  readonly wide: boolean;
  readonly withNamespace: boolean;
}

export function podHeadings({ wide, withNamespace }: PodTableOptions): readonly string[] {
  const usual = ['NAME', 'READY', 'STATUS', 'RESTARTS', 'AGE', 'IP', 'SOURCE'];
  return [...(withNamespace ? ['NAMESPACE'] : []), ...usual, ...(wide ? ['NODE', 'QOS', 'IMAGES'] : [])];
}

export function podRow(pod: Pod, options: PodTableOptions, nowMs: number): readonly string[] {
  const { metadata, spec, status } = pod;
  const { status: word, ready, total, restarts, lastRestart } = summarizePod(pod);
  const again =
    restarts === 0 || lastRestart === undefined ? '' : ` (${formatSince(lastRestart, nowMs)} ago)`;
  return [
    ...(options.withNamespace ? [metadata?.namespace ?? ''] : []),
    metadata?.name ?? '',
    `${ready}/${total}`,
    word,
    `${restarts}${again}`,
    formatSince(podCreated(pod), nowMs),
    status?.podIP ?? '<none>',
    podSource(pod),
    ...(options.wide ? [spec?.nodeName ?? '', status?.qosClass ?? '', imagesOf(pod)] : []),
  ];
}

const imagesOf = ({ spec }: Pod): string =>
  (spec?.containers ?? []).map(({ image }) => image ?? '').join(',');

/** Returns when the pod was created, or when it was first seen in its manifest. */
export function podCreated({ metadata, status }: Pod): string | undefined {
  return metadata?.creationTimestamp ?? status?.startTime ?? annotation(metadata, 'configSeen');
}

/** Returns `file`, `http`, `socket` or `api`. Only pods of the API server have no annotation. */
export const podSource = ({ metadata }: Pod): string => annotation(metadata, 'configSource') ?? 'api';

function annotation(metadata: Pod['metadata'], word: 'configSource' | 'configSeen'): string | undefined {
  const { annotations = {} } = metadata ?? {};
  return Object.values(VOCABULARIES)
    .map((vocabulary) => annotations[vocabulary[word]])
    .find((text) => text !== undefined);
}
