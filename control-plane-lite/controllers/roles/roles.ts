/** Cluster roles of the controllers, in the neutral vocabulary: the rules that their declarations require, and those that
 *  upstream's controllers need beyond them, so that upstream's controller manager can run each of its controllers with an
 *  account of its own. Pure. Source: upstream's bootstrap policy, release 1.24; decision 0111. */
import type { PolicyRule } from '#api/gen/rbac-authorization-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ControllerRole } from '../../authz/bootstrap.ts';
import { CONTROLLERS } from '../table.ts';
import { declaredRules } from './declared-rules.ts';
import { EVENTS_RULE, grantsOn, withDomain } from './grants.ts';

const core = grantsOn('');
const apps = grantsOn('apps');
/** Upstream's rules also name the group that these kinds were in first. */
const extensions = grantsOn('extensions');
const batch = grantsOn('batch');
const certificates = grantsOn(withDomain('certificates'));
const every = grantsOn('*');
const storage = grantsOn(withDomain('storage'));

const { domain, apiServerClientSigner, nodeClientSigner, nodeServingSigner } = VOCABULARIES.plat;

const signers = (verb: string, ...names: readonly string[]): PolicyRule => ({
  ...certificates(verb, 'signers'),
  resourceNames: names.map((name) => `${domain}/${name}`),
});

interface RoleFact {
  /** Names of the controllers that share the role; empty if this server has none of them. */
  readonly controllers: readonly string[];
  /** Rules that no declaration of theirs requires. */
  readonly further: readonly PolicyRule[];
}

/** By the name of the role and of its account. */
const ROLES: Readonly<Record<string, RoleFact>> = {
  'attachdetach-controller': { controllers: ['attachdetach'], further: [core('patch', 'nodes/status')] },
  'certificate-controller': {
    controllers: ['csrapproving', 'csrcleaner', 'csrsigning'],
    further: [
      signers('approve', nodeClientSigner),
      signers('sign', 'legacy-unknown', apiServerClientSigner, nodeClientSigner, nodeServingSigner),
      grantsOn(withDomain('authorization'))('create', 'subjectaccessreviews'),
      EVENTS_RULE,
    ],
  },
  'clusterrole-aggregation-controller': {
    controllers: ['clusterrole-aggregation'],
    further: [grantsOn(withDomain('rbac.authorization'))('escalate patch', 'clusterroles')],
  },
  'cronjob-controller': {
    controllers: ['cronjob'],
    further: [
      batch('update', 'cronjobs', 'cronjobs/finalizers'),
      batch('patch update', 'jobs'),
      core('delete list', 'pods'),
    ],
  },
  'daemon-set-controller': {
    controllers: ['daemonset'],
    further: [
      apps('update', 'daemonsets/finalizers'),
      apps('patch', 'controllerrevisions'),
      extensions('get list watch', 'daemonsets'),
      extensions('update', 'daemonsets/status', 'daemonsets/finalizers'),
      core('patch', 'pods'),
      core('create', 'pods/binding'),
    ],
  },
  'deployment-controller': {
    controllers: ['deployment'],
    further: [
      apps('update', 'deployments', 'deployments/finalizers'),
      apps('patch', 'replicasets'),
      extensions('get list update watch', 'deployments'),
      extensions('update', 'deployments/status', 'deployments/finalizers'),
      extensions('create delete get list patch update watch', 'replicasets'),
      core('update', 'pods'),
    ],
  },
  'disruption-controller': {
    controllers: ['disruption'],
    further: [
      apps('get list watch', 'deployments', 'replicasets', 'statefulsets'),
      extensions('get list watch', 'deployments', 'replicasets'),
      core('get list watch', 'replicationcontrollers'),
      every('get', '*/scale'),
    ],
  },
  'endpoint-controller': {
    controllers: ['endpoint'],
    further: [core('create', 'endpoints/restricted'), EVENTS_RULE],
  },
  'endpointslice-controller': {
    controllers: ['endpointslice'],
    further: [core('update', 'services/finalizers'), EVENTS_RULE],
  },
  'endpointslicemirroring-controller': {
    controllers: ['endpointslicemirroring'],
    further: [core('update', 'services/finalizers', 'endpoints/finalizers'), EVENTS_RULE],
  },
  'ephemeral-volume-controller': {
    controllers: ['ephemeral-volume'],
    further: [core('update', 'pods/finalizers')],
  },
  'expand-controller': {
    controllers: ['persistentvolume-expander'],
    further: [
      core('patch', 'persistentvolumes', 'persistentvolumeclaims/status'),
      core('get', 'services', 'endpoints', 'secrets'),
      storage('get list watch', 'storageclasses'),
    ],
  },
  'generic-garbage-collector': {
    controllers: ['garbagecollector'],
    further: [every('get list patch watch', '*'), EVENTS_RULE],
  },
  'horizontal-pod-autoscaler': {
    controllers: ['horizontalpodautoscaling'],
    further: [
      every('get', '*/scale'),
      { ...core('get', 'services/proxy'), resourceNames: ['https:heapster:', 'http:heapster:'] },
      grantsOn(withDomain('metrics'))('list', 'pods'),
      grantsOn(withDomain('custom.metrics'), withDomain('external.metrics'))('get list', '*'),
    ],
  },
  'job-controller': {
    controllers: ['job'],
    further: [batch('patch update', 'jobs'), batch('update', 'jobs/finalizers'), core('patch', 'pods')],
  },
  'namespace-controller': {
    controllers: ['namespace'],
    further: [every('deletecollection get list', '*')],
  },
  'node-controller': {
    controllers: ['nodeipam', 'nodelifecycle'],
    further: [core('delete patch', 'nodes'), core('patch', 'nodes/status')],
  },
  'persistent-volume-binder': {
    controllers: ['persistentvolume-binder'],
    further: [
      core('create delete', 'persistentvolumes'),
      core('create delete get list watch', 'pods'),
      core('create delete get update', 'endpoints'),
      core('create delete get', 'services'),
      core('get', 'secrets'),
      core('get list', 'nodes'),
      core('watch', 'events'),
    ],
  },
  'pod-garbage-collector': { controllers: ['podgc'], further: [] },
  'pv-protection-controller': { controllers: ['pv-protection'], further: [EVENTS_RULE] },
  'pvc-protection-controller': { controllers: ['pvc-protection'], further: [EVENTS_RULE] },
  'replicaset-controller': {
    controllers: ['replicaset'],
    further: [
      apps('update', 'replicasets', 'replicasets/finalizers'),
      extensions('get list update watch', 'replicasets'),
      extensions('update', 'replicasets/status', 'replicasets/finalizers'),
      core('patch', 'pods'),
    ],
  },
  'replication-controller': {
    controllers: ['replicationcontroller'],
    further: [
      core('update', 'replicationcontrollers', 'replicationcontrollers/finalizers'),
      core('patch', 'pods'),
    ],
  },
  'resourcequota-controller': {
    controllers: ['resourcequota'],
    further: [every('list watch', '*'), EVENTS_RULE],
  },
  'root-ca-cert-publisher': { controllers: ['root-ca-cert-publisher'], further: [EVENTS_RULE] },
  'route-controller': {
    controllers: [],
    further: [core('list watch', 'nodes'), core('patch', 'nodes/status'), EVENTS_RULE],
  },
  'service-account-controller': { controllers: ['serviceaccount'], further: [EVENTS_RULE] },
  'service-controller': {
    controllers: [],
    further: [
      core('get list watch', 'services'),
      core('patch update', 'services/status'),
      core('list watch', 'nodes'),
      EVENTS_RULE,
    ],
  },
  'statefulset-controller': {
    controllers: ['statefulset'],
    further: [
      apps('update', 'statefulsets/finalizers'),
      apps('patch', 'controllerrevisions'),
      core('patch', 'pods'),
    ],
  },
  'ttl-after-finished-controller': { controllers: ['ttl-after-finished'], further: [EVENTS_RULE] },
  'ttl-controller': { controllers: [], further: [core('list patch update watch', 'nodes'), EVENTS_RULE] },
};

/** Returns the same grants with one rule for each set of verbs on resources of a group. */
function merged(rules: readonly PolicyRule[]): readonly PolicyRule[] {
  const verbsOf = new Map<string, Set<string>>();
  for (const { apiGroups = [], resources = [], verbs } of rules) {
    for (const resource of apiGroups.flatMap((group) => resources.map((name) => `${group} ${name}`))) {
      verbsOf.set(resource, new Set([...(verbsOf.get(resource) ?? []), ...verbs]));
    }
  }
  const resourcesOf = new Map<string, string[]>();
  for (const [resource, verbs] of verbsOf) {
    const [group = '', name = ''] = resource.split(' ');
    const key = [group, ...[...verbs].toSorted()].join(' ');
    resourcesOf.set(key, [...(resourcesOf.get(key) ?? []), name]);
  }
  return [...resourcesOf].map(([key, resources]) => {
    const [group = '', ...verbs] = key.split(' ');
    return { verbs, apiGroups: [group], resources };
  });
}

/** Returns the role of each controller of upstream. */
export function controllerRoles(): readonly ControllerRole[] {
  return Object.entries(ROLES).map(([name, { controllers, further }]) => {
    const declared = CONTROLLERS.filter((controller) => controllers.includes(controller.name));
    const rules = [...declared.flatMap(declaredRules), ...further];
    return {
      name,
      rules: [
        ...merged(rules.filter(({ resourceNames }) => resourceNames === undefined)),
        ...rules.filter(({ resourceNames }) => resourceNames !== undefined),
      ],
    };
  });
}

/** Names of the controllers with a role of their own. */
export const controllersWithRole = (): ReadonlyMap<string, string> =>
  new Map(
    Object.entries(ROLES).flatMap(([role, { controllers }]) => controllers.map((name) => [name, role])),
  );
