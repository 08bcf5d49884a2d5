/** ExtendedResourceToleration: a pod that requests an extended resource tolerates the taint of the same name, with which
 *  nodes that have the resource keep other pods away. Source: upstream's plugin, release 1.24. */
import type { Pod, Toleration } from '#api/gen/core-v1.ts';
import { isExtendedResource } from '#api/meta/extended-resource.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin } from './contract.ts';
import { type PodSpec, setInSpec } from './spec-draft.ts';

const EFFECT = 'NoSchedule';

/** Whether a toleration has the taint of the resource, whatever its operator. */
const isOf = ({ key, value = '', effect }: Toleration, resource: string): boolean =>
  key === resource && value === '' && effect === EFFECT;

/** Returns the extended resources that the pod requests, sorted. */
function requestedBy({ containers, initContainers = [] }: PodSpec, domain: string): readonly string[] {
  const names = [...containers, ...initContainers].flatMap(({ resources }) =>
    Object.keys(resources?.requests ?? {}),
  );
  return [...new Set(names)].filter((name) => isExtendedResource(name, domain)).sort();
}

/** Replaces a toleration of the same taint, or adds one. */
function tolerating(given: readonly Toleration[], key: string): readonly Toleration[] {
  const wanted: Toleration = { key, operator: 'Exists', effect: EFFECT };
  const replaced = given.map((each) => (isOf(each, key) && each.operator !== 'Exists' ? wanted : each));
  return replaced.some((each) => isOf(each, key)) ? replaced : [...replaced, wanted];
}

export const createExtendedResources = ({ domain }: Pick<Vocabulary, 'domain'>): AdmissionPlugin => ({
  name: 'ExtendedResourceToleration',
  operations: ['CREATE', 'UPDATE'],
  resources: new Set(['/pods']),
  mutate({ object, subresource }) {
    const spec = object === undefined || subresource !== '' ? undefined : typed<Pod>(object).spec;
    if (object === undefined || spec === undefined) return;
    const names = requestedBy(spec, domain);
    if (names.length === 0) return;
    const tolerations = names.reduce(tolerating, spec.tolerations ?? []);
    setInSpec<PodSpec>(object, { tolerations: tolerations.map((each) => ({ ...each })) });
  },
});
