/** Deprecated served resources: for the Warning header, the metric and the audit event. Source: deprecations,
 *  document 1 §9.4 and §9.5; upstream's release 1.24. */
import { VOCABULARIES, type Vocabulary } from '#api/vocabulary.ts';
import { wireGroup } from '../facts.ts';

/** A release of the API, such as 1.25. */
export interface Release {
  readonly major: number;
  readonly minor: number;
}

export interface Deprecation {
  /** As on the wire; `''` for the core group. */
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly since: Release;
  /** The release that no longer serves it; absent: not decided. */
  readonly removedIn?: Release;
  /** `apiVersion` that has the kind still. */
  readonly replacement?: string;
}

interface Fact extends Omit<Deprecation, 'group' | 'replacement'> {
  readonly group: string;
  /** Neutral group and version. */
  readonly replacedBy?: readonly [group: string, version: string];
}

const release = (minor: number): Release => ({ major: 1, minor });
const DOMAIN = VOCABULARIES.plat.apiGroupDomain;
const STORAGE = `storage.${DOMAIN}`;
const FLOW_CONTROL = `flowcontrol.apiserver.${DOMAIN}`;

/** A beta version, and the version of its group that upstream names in its place, if it names one. */
const beta = (
  [group, version, resource, kind]: readonly [string, string, string, string],
  since: number,
  removedIn: number,
  replacement?: string,
): Fact => ({
  group,
  version,
  resource,
  kind,
  since: release(since),
  removedIn: release(removedIn),
  ...(replacement !== undefined && { replacedBy: [group, replacement] }),
});

const FACTS: readonly Fact[] = [
  {
    group: '',
    version: 'v1',
    resource: 'componentstatuses',
    kind: 'ComponentStatus',
    since: release(19),
  },
  {
    group: 'policy',
    version: 'v1beta1',
    resource: 'podsecuritypolicies',
    kind: 'PodSecurityPolicy',
    since: release(21),
    removedIn: release(25),
  },
  {
    group: 'policy',
    version: 'v1beta1',
    resource: 'poddisruptionbudgets',
    kind: 'PodDisruptionBudget',
    since: release(21),
    removedIn: release(25),
    replacedBy: ['policy', 'v1'],
  },
  {
    group: STORAGE,
    version: 'v1beta1',
    resource: 'csistoragecapacities',
    kind: 'CSIStorageCapacity',
    since: release(24),
    removedIn: release(27),
    replacedBy: [STORAGE, 'v1'],
  },
  beta(['batch', 'v1beta1', 'cronjobs', 'CronJob'], 21, 25, 'v1'),
  beta([`discovery.${DOMAIN}`, 'v1beta1', 'endpointslices', 'EndpointSlice'], 21, 25, 'v1'),
  beta([`node.${DOMAIN}`, 'v1beta1', 'runtimeclasses', 'RuntimeClass'], 22, 25),
  beta([`events.${DOMAIN}`, 'v1beta1', 'events', 'Event'], 22, 25),
  beta(['autoscaling', 'v2beta1', 'horizontalpodautoscalers', 'HorizontalPodAutoscaler'], 22, 25, 'v2'),
  beta(['autoscaling', 'v2beta2', 'horizontalpodautoscalers', 'HorizontalPodAutoscaler'], 23, 26, 'v2'),
  beta([FLOW_CONTROL, 'v1beta1', 'flowschemas', 'FlowSchema'], 23, 26, 'v1beta2'),
  beta(
    [FLOW_CONTROL, 'v1beta1', 'prioritylevelconfigurations', 'PriorityLevelConfiguration'],
    23,
    26,
    'v1beta2',
  ),
];

/** Returns all deprecated resources in a vocabulary. */
export function deprecations(vocabulary: Vocabulary): readonly Deprecation[] {
  return FACTS.map(({ replacedBy, group, ...fact }) => ({
    ...fact,
    group: wireGroup(group, vocabulary),
    ...(replacedBy && { replacement: `${wireGroup(replacedBy[0], vocabulary)}/${replacedBy[1]}` }),
  }));
}

export const formatRelease = ({ major, minor }: Release): string => `${major}.${minor}`;

/** The text of the warning: `policy/v1beta1 PodSecurityPolicy is deprecated in v1.21+, unavailable in v1.25+`. */
export function deprecationWarning(deprecation: Deprecation): string {
  const { group, version, kind, since, removedIn, replacement } = deprecation;
  const apiVersion = group === '' ? version : `${group}/${version}`;
  const removed = removedIn === undefined ? '' : `, unavailable in v${formatRelease(removedIn)}+`;
  const instead = replacement === undefined ? '' : `; use ${replacement} ${kind}`;
  return `${apiVersion} ${kind} is deprecated in v${formatRelease(since)}+${removed}${instead}`;
}
