/** Finds the pod that an argument refers to. Pure. */

import type { Pod } from '#api/gen/core-v1.ts';
import { nearest } from '#api/kit/text/suggest.ts';
import { CommandError, UsageError } from '../errors.ts';

export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

export const DEFAULT_NAMESPACE = 'default';

/** Parses `web`, `pod/web`, or `namespace/web` as in `ps` and the log.
 *  @throws UsageError */
export function parsePodName(text: string, namespace: string | undefined): PodName {
  const parts = text.replace(/^(?:pods?|po)\//i, '').split('/');
  const [first = '', second] = parts;
  if (parts.length > 2 || first === '' || second === '') {
    throw new UsageError(`${JSON.stringify(text)} is not a pod name: use NAME, pod/NAME or NAMESPACE/NAME`);
  }
  if (second === undefined) return { namespace: namespace ?? DEFAULT_NAMESPACE, name: first };
  if (namespace !== undefined && namespace !== first) {
    throw new UsageError(`namespace ${first} of ${JSON.stringify(text)} contradicts -n ${namespace}`);
  }
  return { namespace: first, name: second };
}

const nameOf = ({ metadata }: Pod): string => metadata?.name ?? '';
const namespaceOf = ({ metadata }: Pod): string => metadata?.namespace ?? '';

/** Finds the pod by its name or by the name in its manifest: static pods get the node name as a suffix.
 *  @throws CommandError with suggestions */
export function findPod(pods: readonly Pod[], { namespace, name }: PodName): Pod {
  const here = pods.filter((pod) => namespaceOf(pod) === namespace);
  const exact = here.find((pod) => nameOf(pod) === name);
  if (exact !== undefined) return exact;
  const suffixed = here.filter((pod) => withoutNode(pod) === name);
  const [only] = suffixed;
  if (only !== undefined && suffixed.length === 1) return only;
  throw new CommandError(
    `pod ${JSON.stringify(name)} not found in namespace ${namespace}${hint(pods, namespace, name)}`,
  );
}

/** Returns the name without the suffix `-<node>`, if present. */
function withoutNode(pod: Pod): string | undefined {
  const node = pod.spec?.nodeName?.toLowerCase() ?? '';
  const name = nameOf(pod);
  return node !== '' && name.endsWith(`-${node}`) ? name.slice(0, -node.length - 1) : undefined;
}

function hint(pods: readonly Pod[], namespace: string, name: string): string {
  const elsewhere = pods.filter((pod) => nameOf(pod) === name || withoutNode(pod) === name).map(namespaceOf);
  if (elsewhere.length > 0) return `; found with -n ${elsewhere.join(' or -n ')}`;
  const here = pods.filter((pod) => namespaceOf(pod) === namespace);
  const names = here.flatMap((pod) => [nameOf(pod), withoutNode(pod) ?? nameOf(pod)]);
  const near = nearest(name, names);
  return near === undefined ? '; list all pods with nodeagent ps' : `; did you mean ${near}?`;
}
