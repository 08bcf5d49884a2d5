/** Which pods are static: only whoever wrote their manifest makes them again. Pure.
 *  Deviation: upstream knows pods of a server and static ones alone. On a node without a server, pods that were applied
 *  over the socket stand in for the server's: else such a node had nothing to give up when it runs short. */
import type { SourceName, SourcePod } from '../sources/types.ts';

const OF_MANIFESTS: ReadonlySet<SourceName> = new Set(['file', 'url']);

/** @param joined whether the node has an API server */
export const staticPods =
  (joined: boolean) =>
  ({ origin: { source } }: Pick<SourcePod, 'origin'>): boolean =>
    joined ? source !== 'api' : OF_MANIFESTS.has(source);
