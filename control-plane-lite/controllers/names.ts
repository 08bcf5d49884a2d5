/** Names of all controllers, and the selection by `--controllers`. Pure. Source: upstream's controller
 *  manager, release 1.24. */

/** In output order. Only the controllers that this server implements. */
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

/** Reports whether the list selects a controller: the first match of its name, or of its name after a minus,
 *  decides; else `*`. */
function isChosen(words: readonly string[], name: ControllerName): boolean {
  const own = words.find((word) => word === name || word === `-${name}`);
  return own === undefined ? words.includes(EVERY) : own === name;
}

/** The controllers that `--controllers` selects: `*`, `name`, `-name`. */
export const chooseControllers = (words: readonly string[]): ReadonlySet<ControllerName> =>
  new Set(CONTROLLER_NAMES.filter((name) => isChosen(words, name)));

/** Elements that name no controller. */
export function unknownControllers(words: readonly string[]): readonly string[] {
  const names = new Set<string>(CONTROLLER_NAMES);
  return words.filter((word) => word !== EVERY && !names.has(word.startsWith('-') ? word.slice(1) : word));
}
