/** Warnings about pods and pod templates that are accepted but use deprecated forms. Source: upstream's pod
 *  warnings, release 1.24. */

import type { Pod, PodSpec, PodTemplateSpec, Volume } from '#api/gen/core-v1.ts';
import { parseQuantity } from '#api/meta/quantity.ts';
import { isSeccompAnnotation, seccompPlaces } from '#api/schema/seccomp-annotations.ts';
import type { Vocabulary } from '#api/vocabulary.ts';

const NANOS = 1_000_000_000n;
const BYTE_RESOURCES: readonly string[] = ['memory', 'ephemeral-storage'];

const VOLUME_WARNINGS: ReadonlyMap<string, string> = new Map<keyof Volume, string>([
  ['gitRepo', 'deprecated in v1.11'],
  ['scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['flocker', 'deprecated in v1.22'],
  ['storageos', 'deprecated in v1.22'],
  ['quobyte', 'deprecated in v1.22'],
]);

/** Labels of nodes that have newer names. */
function renamedLabels({ domain }: Vocabulary): ReadonlyMap<string, string> {
  const text = (since: string, use: string): string => `deprecated since v${since}; use "${use}" instead`;
  return new Map([
    [`beta.${domain}/arch`, text('1.14', `${domain}/arch`)],
    [`beta.${domain}/os`, text('1.14', `${domain}/os`)],
    [`failure-domain.beta.${domain}/region`, text('1.17', `topology.${domain}/region`)],
    [`failure-domain.beta.${domain}/zone`, text('1.17', `topology.${domain}/zone`)],
    [`beta.${domain}/instance-type`, text('1.17', `node.${domain}/instance-type`)],
  ]);
}

function labelWarnings(spec: PodSpec, path: string, vocabulary: Vocabulary): readonly string[] {
  const { nodeSelector, affinity, topologySpreadConstraints = [] } = spec;
  const nodeAffinity = affinity?.nodeAffinity;
  if (nodeSelector === undefined && nodeAffinity === undefined && topologySpreadConstraints.length === 0)
    return [];
  const renamed = renamedLabels(vocabulary);
  const warnings: string[] = [];
  const note = (key: string, at: string): void => {
    const text = renamed.get(key);
    if (text !== undefined) warnings.push(`${path}.${at}: ${text}`);
  };
  for (const key of Object.keys(nodeSelector ?? {})) note(key, `nodeSelector[${key}]`);
  const required = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const preferred = nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  const [hard, soft] = [
    'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms',
    'affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution',
  ];
  for (const [index, term] of required.entries()) {
    for (const [at, { key }] of (term.matchExpressions ?? []).entries())
      note(key, `${hard}[${index}].matchExpressions[${at}].key`);
  }
  for (const [index, { preference }] of preferred.entries()) {
    for (const [at, { key }] of (preference.matchExpressions ?? []).entries())
      note(key, `${soft}[${index}].preference.matchExpressions[${at}].key`);
  }
  for (const [index, { topologyKey }] of topologySpreadConstraints.entries()) {
    note(topologyKey, `topologySpreadConstraints[${index}].topologyKey`);
  }
  return warnings;
}

/** Returns deprecation warnings for annotations. One with a matching field causes none: the server adds it itself. */
function annotationWarnings(
  template: PodTemplateSpec,
  path: string,
  vocabulary: Vocabulary,
): readonly string[] {
  const { domain } = vocabulary;
  const inFields = new Set(
    seccompPlaces(template, vocabulary)
      .filter(({ profile }) => profile !== undefined)
      .map(({ key }) => key),
  );
  const seccomp = (use: string): string =>
    `deprecated since v1.19, non-functional in v1.25; use the "${use}" field instead`;
  return Object.keys(template.metadata?.annotations ?? {}).flatMap((key) => {
    const at = `${path}[${key}]`;
    if (isSeccompAnnotation(key, vocabulary) && !inFields.has(key))
      return [`${at}: ${seccomp('seccompProfile')}`];
    if (key === `scheduler.alpha.${domain}/critical-pod`) {
      return [`${at}: non-functional in v1.16+; use the "priorityClassName" field instead`];
    }
    return [];
  });
}

function resourceWarnings(spec: PodSpec, path: string): readonly string[] {
  const warnings: string[] = [];
  for (const list of ['initContainers', 'containers'] as const) {
    for (const [index, { resources }] of (spec[list] ?? []).entries()) {
      for (const side of ['limits', 'requests'] as const) {
        for (const name of BYTE_RESOURCES) {
          const amount = resources?.[side]?.[name];
          if (amount === undefined || parseQuantity(amount).nanos % NANOS === 0n) continue;
          warnings.push(
            `${path}.${list}[${index}].resources.${side}[${name}]: fractional byte value "${amount}" is invalid, must be an integer`,
          );
        }
      }
    }
  }
  return warnings;
}

function specWarnings(spec: PodSpec, path: string, vocabulary: Vocabulary): readonly string[] {
  const warnings = [...labelWarnings(spec, path, vocabulary)];
  for (const [index, volume] of (spec.volumes ?? []).entries()) {
    for (const source in volume) {
      const text = VOLUME_WARNINGS.get(source);
      if (text !== undefined) warnings.push(`${path}.volumes[${index}].${source}: ${text}`);
    }
  }
  for (const [index, { name = '' }] of (spec.imagePullSecrets ?? []).entries()) {
    if (name === '') {
      warnings.push(`${path}.imagePullSecrets[${index}].name: invalid empty name ${JSON.stringify(name)}`);
    }
  }
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) {
    warnings.push(
      `${path}.terminationGracePeriodSeconds: must be >= 0; negative values are invalid and will be treated as 1`,
    );
  }
  return [...warnings, ...resourceWarnings(spec, path)];
}

/** Returns warnings for a template at `path`; `path` is empty for a pod. */
export function podTemplateWarnings(
  template: PodTemplateSpec | undefined,
  path: string,
  vocabulary: Vocabulary,
): readonly string[] {
  const { spec } = template ?? {};
  const prefix = path === '' ? '' : `${path}.`;
  return [
    ...(spec === undefined ? [] : specWarnings(spec, `${prefix}spec`, vocabulary)),
    ...annotationWarnings(template ?? {}, `${prefix}metadata.annotations`, vocabulary),
  ];
}

/** Warnings for a pod. */
export const podWarnings = (pod: Pod, vocabulary: Vocabulary): readonly string[] =>
  podTemplateWarnings(pod, '', vocabulary);
