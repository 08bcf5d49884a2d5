/** Conditions and sources of the default rules, by their text in the table. Pure.
 *  Source: schema/data/defaults.json. */

import { isObject, textOf } from '../kit/object.ts';
import { formatQuantity, parseQuantity, QuantityError, roundUpToMilli } from '../meta/quantity.ts';
import { VOCABULARIES } from '../vocabulary.ts';
import { type JsonObject } from './default-rules.ts';

/** Input of a condition or source. */
export interface RuleContext {
  /** The object of the rule's type. */
  readonly root: JsonObject;
  /** The parent object of the field. */
  readonly parent: JsonObject;
}

export interface Condition {
  /** Holds in addition to the field being unset. */
  readonly holds: (context: RuleContext) => boolean;
  /** If it holds, optional objects on the path to the field are created. */
  readonly creates?: boolean;
  /** Depends on fields that later rules of the type fill, so it is evaluated before them. */
  readonly early?: boolean;
  /** The rule applies at another stage than decoding. */
  readonly elsewhere?: boolean;
}

const countOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);
const memberOf = (value: unknown, name: string): unknown => (isObject(value) ? value[name] : undefined);
const specOf = (root: JsonObject, name: string): unknown => memberOf(root['spec'], name);
const specText = (root: JsonObject, name: string): string => textOf(specOf(root, name));

/** Returns the tag and digest of an image reference; a name without both has the tag `latest`. */
export function imageTag(image: string): string {
  const at = image.indexOf('@');
  const name = at < 0 ? image : image.slice(0, at);
  const colon = name.indexOf(':', name.lastIndexOf('/') + 1);
  if (colon >= 0) return name.slice(colon + 1);
  return at >= 0 ? '' : 'latest';
}

function hasVolumeSource(volume: JsonObject): boolean {
  for (const member in volume) if (member !== 'name' && volume[member] !== undefined) return true;
  return false;
}

const strategyType = (root: JsonObject, member: string): string =>
  textOf(memberOf(specOf(root, member), 'type'));

const METRICS_ANNOTATIONS = Object.values(VOCABULARIES).map(
  ({ domain }) => `autoscaling.alpha.${domain}/metrics`,
);

/** Metrics other than CPU are stored in an annotation in version 1. */
function hasMetricsAnnotation(root: JsonObject): boolean {
  const annotations = memberOf(root['metadata'], 'annotations');
  return METRICS_ANNOTATIONS.some((key) => textOf(memberOf(annotations, key)) !== '');
}

const always: Condition = { holds: () => true };
const isContainerLimit: Condition = { holds: ({ parent }) => parent['type'] === 'Container' };

const PODS: readonly (readonly [string, Condition])[] = [
  ['hostNetwork=true and hostPort=0', { holds: ({ root }) => root['hostNetwork'] === true }],
  ['limit set and request absent', always],
  [
    'unset and image tag is latest or (no tag and no digest)',
    { holds: ({ parent }) => imageTag(textOf(parent['image'])) === 'latest' },
  ],
  ['unset otherwise', always],
  ['finer than 1/1000', always],
  ['no volume source set', { holds: ({ root }) => !hasVolumeSource(root) }],
  ['empty', always],
  [
    'allocatable unset and capacity set',
    { holds: ({ parent }) => Object.keys(isObject(parent['capacity']) ? parent['capacity'] : {}).length > 0 },
  ],
];

const isService = (...types: readonly string[]): Condition => ({
  holds: ({ root }) => types.includes(specText(root, 'type')),
});

const SERVICES: readonly (readonly [string, Condition])[] = [
  ['sessionAffinity=None', { holds: ({ root }) => specText(root, 'sessionAffinity') === 'None' }],
  [
    'sessionAffinity=ClientIP and unset',
    { holds: ({ root }) => specText(root, 'sessionAffinity') === 'ClientIP', creates: true },
  ],
  ['unset, 0 or empty string', always],
  ['type NodePort or LoadBalancer, unset', isService('NodePort', 'LoadBalancer')],
  ['type ClusterIP, NodePort or LoadBalancer, unset', isService('ClusterIP', 'NodePort', 'LoadBalancer')],
  ['type LoadBalancer, unset', isService('LoadBalancer')],
  [
    'type not ExternalName, unset, and clusterIPs or ipFamilies has 2 entries',
    {
      holds: ({ root }) =>
        specText(root, 'type') !== 'ExternalName' &&
        (countOf(specOf(root, 'clusterIPs')) === 2 || countOf(specOf(root, 'ipFamilies')) === 2),
    },
  ],
  // An update of a service preserves its policy, which is not known here.
  ['otherwise unset and type not ExternalName (set at IP allocation)', { ...always, elsewhere: true }],
  [
    'ipFamilyPolicy=RequireDualStack and 1 family given',
    {
      holds: ({ root }) =>
        specText(root, 'ipFamilyPolicy') === 'RequireDualStack' &&
        countOf(specOf(root, 'ipFamilies')) === 1 &&
        specText(root, 'type') !== 'ExternalName',
    },
  ],
];

const rolling = (member: string): Condition => ({
  holds: ({ root }) => strategyType(root, member) === 'RollingUpdate',
  creates: true,
});

const WORKLOADS: readonly (readonly [string, Condition])[] = [
  ['strategy.type=RollingUpdate, unset', rolling('strategy')],
  ['type=RollingUpdate, unset', rolling('updateStrategy')],
  [
    'updateStrategy.type unset and rollingUpdate unset',
    { holds: ({ root }) => strategyType(root, 'updateStrategy') === '', early: true },
  ],
  [
    'type=RollingUpdate, rollingUpdate set, partition unset',
    { holds: ({ root }) => strategyType(root, 'updateStrategy') === 'RollingUpdate' },
  ],
  ['unset, gate on', { ...always, creates: true }],
  ['completions and parallelism both unset', { holds: ({ parent }) => parent['parallelism'] === undefined }],
  ['no metric given', { holds: ({ root }) => !hasMetricsAnnotation(root) }],
  ['behavior set; filled per member', always],
  ['type=Container and absent', isContainerLimit],
];

const OTHERS: readonly (readonly [string, Condition])[] = [
  ['empty and egress empty', { holds: ({ parent }) => countOf(parent['egress']) === 0 }],
  ['empty and egress not empty', { holds: ({ parent }) => countOf(parent['egress']) > 0 }],
  ['parameters set, scope unset', always],
  [
    'empty and kind User or Group',
    { holds: ({ parent }) => parent['kind'] === 'User' || parent['kind'] === 'Group' },
  ],
  ['kind ServiceAccount', { holds: ({ parent }) => parent['kind'] === 'ServiceAccount' }],
];

/** Conditions by their text in the table. */
export const CONDITIONS: ReadonlyMap<string, Condition> = new Map([
  ...PODS,
  ...SERVICES,
  ...WORKLOADS,
  ...OTHERS,
]);

const crdKind = (root: JsonObject): string => textOf(memberOf(specOf(root, 'names'), 'kind'));
const unlessEmpty = (text: string, made: string): string | undefined => (text === '' ? undefined : made);

function storageVersion(root: JsonObject): readonly string[] | undefined {
  const versions = specOf(root, 'versions');
  const list: readonly unknown[] = Array.isArray(versions) ? versions : [];
  const named = list
    .filter((version) => memberOf(version, 'storage') === true)
    .map((version) => textOf(memberOf(version, 'name')));
  return named.length === 0 ? undefined : named;
}

/** Sources that are more than the path of another member. */
export const SOURCES: ReadonlyMap<string, (root: JsonObject) => unknown> = new Map<
  string,
  (root: JsonObject) => unknown
>([
  ['lower(spec.names.kind)', (root) => unlessEmpty(crdKind(root), crdKind(root).toLowerCase())],
  ['spec.names.kind + List', (root) => unlessEmpty(crdKind(root), `${crdKind(root)}List`)],
  ['name of the storage version', storageVersion],
]);

/** Values that the table describes instead of giving; they see the value found, if any. */
export const COMPUTED: ReadonlyMap<string, (found: unknown) => unknown> = new Map([
  ['rounded up to milli units', roundQuantity],
  ['other family', (found) => (Array.isArray(found) ? withOtherFamily(found) : found)],
]);

const withOtherFamily = (families: readonly unknown[]): readonly unknown[] => [
  ...families,
  families[0] === 'IPv6' ? 'IPv4' : 'IPv6',
];

/** Only these suffixes can be in a quantity finer than a thousandth. */
const MAY_BE_FINE = /[nu.eE]/;

function roundQuantity(found: unknown): unknown {
  if (typeof found !== 'string' || !MAY_BE_FINE.test(found)) return found;
  try {
    const quantity = parseQuantity(found);
    return quantity.nanos % 1_000_000n === 0n ? found : formatQuantity(roundUpToMilli(quantity));
  } catch (error) {
    if (error instanceof QuantityError) return found;
    throw error;
  }
}
