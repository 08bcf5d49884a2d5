/** The names of all controllers, and which of them are wanted. Pure.
 *  Source: upstream's controller manager, `--controllers`, release 1.24. */

/** In the order in which they are told. Not every one that upstream has: only what this server has. */
export const CONTROLLER_NAMES = [
  'attachdetach',
  'bootstrapsigner',
  'clusterrole-aggregation',
  'cronjob',
  'csrapproving',
  'csrcleaner',
  'csrsigning',
  'daemonset',
  'deployment',
  'disruption',
  'endpoint',
  'endpointslice',
  'endpointslicemirroring',
  'ephemeral-volume',
  'garbagecollector',
  'job',
  'namespace',
  'nodelifecycle',
  'persistentvolume-binder',
  'persistentvolume-expander',
  'podgc',
  'pv-protection',
  'pvc-protection',
  'replicaset',
  'replicationcontroller',
  'resourcequota',
  'root-ca-cert-publisher',
  'serviceaccount',
  'serviceaccount-token',
  'statefulset',
  'tokencleaner',
  'ttl-after-finished',
] as const;

export type ControllerName = (typeof CONTROLLER_NAMES)[number];

const EVERY = '*';

/** Whether the words choose a controller: the first that is its name, or its name after a minus, decides; else `*`. */
function isChosen(words: readonly string[], name: ControllerName): boolean {
  const own = words.find((word) => word === name || word === `-${name}`);
  return own === undefined ? words.includes(EVERY) : own === name;
}

/** The controllers that `--controllers` chooses: `*`, `name`, `-name`. */
export const chooseControllers = (words: readonly string[]): ReadonlySet<ControllerName> =>
  new Set(CONTROLLER_NAMES.filter((name) => isChosen(words, name)));

/** Words that name no controller. */
export function unknownControllers(words: readonly string[]): readonly string[] {
  const names = new Set<string>(CONTROLLER_NAMES);
  return words.filter((word) => word !== EVERY && !names.has(word.startsWith('-') ? word.slice(1) : word));
}
