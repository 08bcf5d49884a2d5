/** Values for completion that the running agent knows. Never throws: without an agent there are none. */
import type { Pod } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import { parseKind } from '../args/kinds.ts';
import type { LocalApi } from '../client/api-client.ts';
import { fetchPods, listMember, textMember } from '../client/responses.ts';
import { findPod, parsePodName } from '../listing/find-pod.ts';
import type { Candidate, Completion } from './complete.ts';

/** Completion must not delay the shell for longer. */
const TIMEOUT_MS = 3000;

export async function fetchCandidates(
  api: LocalApi,
  imageNames: () => Promise<readonly string[]>,
  completion: Extract<Completion, { kind: 'values' }>,
): Promise<readonly Candidate[]> {
  const { prefix } = completion;
  try {
    const names = completion.source === 'images' ? await imageNames() : await fetchNames(api, completion);
    return [...new Set(names)].map((name) => ({ text: `${prefix}${name}`, description: '' }));
  } catch {
    return [];
  }
}

async function fetchNames(
  api: LocalApi,
  { source, namespace, operands }: Extract<Completion, { kind: 'values' }>,
): Promise<readonly string[]> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  switch (source) {
    case 'pods':
      return podNames(await fetchPods(api), namespace);
    case 'namespaces':
      return (await fetchPods(api)).map(({ metadata }) => metadata?.namespace ?? '');
    case 'containers': {
      const { spec } = findPod(await fetchPods(api), parsePodName(operands[0] ?? '', namespace));
      const lists = [spec?.containers, spec?.initContainers, spec?.ephemeralContainers];
      return lists.flatMap((list) => (list ?? []).map(({ name }) => name));
    }
    case 'names': {
      const kind = parseKind(operands[0] ?? '');
      if (kind === 'Pod') return podNames(await fetchPods(api), namespace);
      const items = listMember(await api.json({ path: ['objects'], signal }), 'items').filter(isObject);
      return items
        .filter((object) => textMember(object, 'kind') === kind)
        .map(({ metadata }) => (isObject(metadata) ? textMember(metadata, 'name') : ''));
    }
    case 'images':
    case 'files':
      return [];
    default:
      return source satisfies never;
  }
}

/** Pods of other namespaces need their namespace in front. */
const podNames = (pods: readonly Pod[], namespace: string | undefined): readonly string[] =>
  pods.flatMap(({ metadata }) => {
    const { name = '', namespace: own = '' } = metadata ?? {};
    if (own === (namespace ?? 'default')) return [name];
    return namespace === undefined ? [`${own}/${name}`] : [];
  });
