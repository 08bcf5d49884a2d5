/** Detection of static pods, which no controller recreates. Pure.
 *  Deviation: upstream knows pods of a server and static ones only. On a node without a server, pods applied
 *  through the socket are treated like those of a server: otherwise there would be nothing to evict under
 *  pressure. */
import type { SourceName, SourcePod } from '../sources/types.ts';

const OF_MANIFESTS: ReadonlySet<SourceName> = new Set(['file', 'url']);

/** @param joined whether the node has an API server */
export const staticPods =
  (joined: boolean) =>
  ({ origin: { source } }: Pick<SourcePod, 'origin'>): boolean =>
    joined ? source !== 'api' : OF_MANIFESTS.has(source);
