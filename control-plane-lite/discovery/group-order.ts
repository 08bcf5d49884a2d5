/** Order of API groups: clients resolve an ambiguous short name to the first group that has it. Pure. Source:
 *  the priorities that upstream registers its groups with. */
import type { Vocabulary } from '#api/vocabulary.ts';

/** Groups by their names without the domain. */
const PRIORITIES: Readonly<Record<string, number>> = {
  '': 18_000,
  apiregistration: 17_900,
  apps: 17_800,
  events: 17_750,
  authentication: 17_700,
  authorization: 17_600,
  autoscaling: 17_500,
  batch: 17_400,
  certificates: 17_300,
  networking: 17_200,
  policy: 17_100,
  'rbac.authorization': 17_000,
  storage: 16_800,
  apiextensions: 16_700,
  admissionregistration: 16_700,
  scheduling: 16_600,
  coordination: 16_500,
  node: 16_300,
  discovery: 16_200,
  'flowcontrol.apiserver': 16_100,
  // Low, as in upstream's metrics server: `pods` and `nodes` without a group mean the core group.
  metrics: 100,
};

/** Groups of custom resources. */
export const CUSTOM_PRIORITY = 1000;

/** Highest first: the priority of a group that the server itself has, and of custom ones. */
export function priorityOf(group: string, { apiGroupDomain }: Vocabulary): number {
  const suffix = `.${apiGroupDomain}`;
  const name = group.endsWith(suffix) ? group.slice(0, -suffix.length) : group;
  return Object.hasOwn(PRIORITIES, name) ? (PRIORITIES[name] ?? CUSTOM_PRIORITY) : CUSTOM_PRIORITY;
}
