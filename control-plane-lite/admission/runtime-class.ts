/** Applies the runtime class of a pod: its overhead and its node selection. Source: RuntimeClass, document 2
 *  §2.7; upstream's plugin, release 1.24. */
import { isDeepStrictEqual } from 'node:util';
import type { Pod, Toleration } from '#api/gen/core-v1.ts';
import type { RuntimeClass } from '#api/gen/node-v1.ts';
import { compareQuantities } from '#api/meta/quantity.ts';
import { typed } from '../resources/view.ts';
import type { AdmissionPlugin, AdmissionRequest } from './contract.ts';
import type { AdmissionDeps } from './deps.ts';
import { refusal } from './refusal.ts';
import { type PodSpec, setInSpec } from './spec-draft.ts';

type Amounts = Readonly<Record<string, string>>;

const NONE: Amounts = {};

function sameAmounts(left: Amounts, right: Amounts): boolean {
  const keys = Object.keys(left);
  return (
    keys.length === Object.keys(right).length &&
    keys.every((key) => {
      const other = right[key];
      return other !== undefined && compareQuantities(left[key] ?? '', other) === 0;
    })
  );
}

export function createRuntimeClassAdmission({ vocabulary, objects }: AdmissionDeps): AdmissionPlugin {
  const classes = objects(`node.${vocabulary.apiGroupDomain}`, 'runtimeclasses');

  async function apply(request: AdmissionRequest, pod: Pod, name: string): Promise<void> {
    const { object } = request;
    const found = classes.get(name) ?? (await classes.find(name));
    if (found === undefined)
      throw refusal(request, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
    if (object === undefined) return;
    const { overhead, scheduling } = typed<RuntimeClass>(found.object());
    const fixed = overhead?.podFixed ?? NONE;
    const given = pod.spec?.overhead ?? NONE;
    if (Object.keys(given).length > 0 && !sameAmounts(given, fixed))
      throw refusal(request, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    setInSpec<PodSpec>(object, {
      ...(Object.keys(fixed).length > 0 ? { overhead: { ...fixed } } : {}),
      ...placement(request, pod, scheduling),
    });
  }

  return {
    name: 'RuntimeClass',
    operations: ['CREATE'],
    resources: new Set(['/pods']),
    mutate(request) {
      if (request.object === undefined || request.subresource !== '') return undefined;
      const pod = typed<Pod>(request.object);
      const name = pod.spec?.runtimeClassName ?? '';
      if (name !== '') return apply(request, pod, name);
      if (Object.keys(pod.spec?.overhead ?? NONE).length === 0) return undefined;
      throw refusal(
        request,
        'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
      );
    },
  };
}

/** Where the class lets its pods run.
 *  @throws StatusError Forbidden if the node selector of the pod conflicts */
function placement(
  request: AdmissionRequest,
  { spec }: Pod,
  scheduling: RuntimeClass['scheduling'],
): Partial<PodSpec> {
  const { nodeSelector: wanted = {}, tolerations: more = [] } = scheduling ?? {};
  const own = spec?.nodeSelector ?? {};
  for (const [key, value] of Object.entries(wanted)) {
    const other = own[key];
    if (other !== undefined && other !== value)
      throw refusal(
        request,
        `conflict: runtimeClass.scheduling.nodeSelector[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${other}`,
      );
  }
  const tolerations: readonly Toleration[] = spec?.tolerations ?? [];
  const missing = more.filter((each) => !tolerations.some((known) => isDeepStrictEqual(known, each)));
  return {
    ...(Object.keys(wanted).length > 0 ? { nodeSelector: { ...own, ...wanted } } : {}),
    ...(missing.length > 0 ? { tolerations: [...tolerations, ...missing] } : {}),
  };
}
