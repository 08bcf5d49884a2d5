/** Default FlowSchemas and PriorityLevelConfigurations, in either vocabulary. Pure. Source: upstream's bootstrap
 *  configuration of release 1.24. */
import type {
  FlowSchema,
  FlowSchemaSpec,
  PolicyRulesWithSubjects,
  PriorityLevelConfiguration,
  QueuingConfiguration,
  ResourcePolicyRule,
  Subject,
} from '#api/gen/flowcontrol-apiserver-v1beta2.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { AUTHENTICATED_GROUP, MASTERS_GROUP, UNAUTHENTICATED_GROUP } from '../authn/users.ts';

export const EXEMPT = 'exempt';
export const CATCH_ALL = 'catch-all';

export interface FlowDefaults {
  readonly levels: readonly PriorityLevelConfiguration[];
  readonly schemas: readonly FlowSchema[];
}

/** Returns the key of the annotation that says whether servers maintain the spec of an object. */
export const autoUpdateKey = ({ domain }: Vocabulary): string => `apf.${domain}/autoupdate-spec`;

/** Names of the objects whose spec is fixed. */
export const isMandatory = (name: string): boolean => name === EXEMPT || name === CATCH_ALL;

const users = (...names: readonly string[]): readonly Subject[] =>
  names.map((name) => ({ kind: 'User', user: { name } }));
const groups = (...names: readonly string[]): readonly Subject[] =>
  names.map((name) => ({ kind: 'Group', group: { name } }));
const accounts = (namespace: string, ...names: readonly string[]): readonly Subject[] =>
  names.map((name) => ({ kind: 'ServiceAccount', serviceAccount: { namespace, name } }));

const EVERYONE = groups(UNAUTHENTICATED_GROUP, AUTHENTICATED_GROUP);
const ALL = ['*'];
const LEADER_VERBS = ['get', 'create', 'update'];

const allOf = (subjects: readonly Subject[]): PolicyRulesWithSubjects => ({
  subjects,
  resourceRules: [{ verbs: ALL, apiGroups: ALL, resources: ALL, clusterScope: true, namespaces: ALL }],
  nonResourceRules: [{ verbs: ALL, nonResourceURLs: ALL }],
});

const inNamespaces = (
  verbs: readonly string[],
  group: string,
  ...resources: readonly string[]
): ResourcePolicyRule => ({ verbs, apiGroups: [group], resources, namespaces: ALL });

type Distinguisher = 'ByUser' | 'ByNamespace' | undefined;

function specOf(
  level: string,
  matchingPrecedence: number,
  distinguisher: Distinguisher,
  rule: PolicyRulesWithSubjects,
): FlowSchemaSpec {
  return {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence,
    ...(distinguisher === undefined ? {} : { distinguisherMethod: { type: distinguisher } }),
    rules: [rule],
  };
}

function schemaSpecs(words: Vocabulary): Readonly<Record<string, FlowSchemaSpec>> {
  const { componentPrefix, systemNamespace } = words;
  const manager = `${componentPrefix}-controller-manager`;
  const scheduler = `${componentPrefix}-scheduler`;
  const systemAccounts = accounts(systemNamespace, '*');
  const leases = inNamespaces(LEADER_VERBS, `coordination.${words.apiGroupDomain}`, 'leases');
  const nodes = groups('system:nodes');
  return {
    [EXEMPT]: specOf(EXEMPT, 1, undefined, allOf(groups(MASTERS_GROUP))),
    probes: specOf(EXEMPT, 2, undefined, {
      subjects: EVERYONE,
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
    }),
    'system-leader-election': specOf('leader-election', 100, 'ByUser', {
      subjects: [...users(`system:${manager}`, `system:${scheduler}`), ...systemAccounts],
      resourceRules: [leases],
    }),
    'endpoint-controller': specOf('workload-high', 150, 'ByUser', {
      subjects: [
        ...users(`system:${manager}`),
        ...accounts(systemNamespace, 'endpoint-controller', 'endpointslicemirroring-controller'),
      ],
      resourceRules: [inNamespaces(LEADER_VERBS, '', 'endpoints')],
    }),
    'workload-leader-election': specOf('leader-election', 200, 'ByUser', {
      subjects: systemAccounts,
      resourceRules: [inNamespaces(LEADER_VERBS, '', 'endpoints', 'configmaps'), leases],
    }),
    'system-node-high': specOf('node-high', 400, 'ByUser', {
      subjects: nodes,
      resourceRules: [
        { ...inNamespaces(ALL, '', 'nodes', 'nodes/status'), clusterScope: true },
        inNamespaces(ALL, `coordination.${words.apiGroupDomain}`, 'leases'),
      ],
    }),
    'system-nodes': specOf('system', 500, 'ByUser', allOf(nodes)),
    [manager]: specOf('workload-high', 800, 'ByNamespace', allOf(users(`system:${manager}`))),
    [scheduler]: specOf('workload-high', 800, 'ByNamespace', allOf(users(`system:${scheduler}`))),
    [`${systemNamespace}-service-accounts`]: specOf(
      'workload-high',
      900,
      'ByNamespace',
      allOf(systemAccounts),
    ),
    'service-accounts': specOf('workload-low', 9000, 'ByUser', allOf(groups('system:serviceaccounts'))),
    'global-default': specOf('global-default', 9900, 'ByUser', allOf(EVERYONE)),
    [CATCH_ALL]: specOf(CATCH_ALL, 10_000, 'ByUser', allOf(EVERYONE)),
  };
}

interface LevelRow {
  readonly name: string;
  readonly shares: number;
  /** Absent: requests beyond the seats are rejected. */
  readonly queuing?: QueuingConfiguration;
}

const queuing = (queues: number, handSize: number): QueuingConfiguration => ({
  queues,
  handSize,
  queueLengthLimit: 50,
});

const LIMITED: readonly LevelRow[] = [
  { name: 'system', shares: 30, queuing: queuing(64, 6) },
  { name: 'node-high', shares: 40, queuing: queuing(64, 6) },
  { name: 'leader-election', shares: 10, queuing: queuing(16, 4) },
  { name: 'workload-high', shares: 40, queuing: queuing(128, 6) },
  { name: 'workload-low', shares: 100, queuing: queuing(128, 6) },
  { name: 'global-default', shares: 20, queuing: queuing(128, 6) },
  { name: CATCH_ALL, shares: 5 },
];

export function flowDefaults(vocabulary: Vocabulary): FlowDefaults {
  const apiVersion = `flowcontrol.apiserver.${vocabulary.apiGroupDomain}/v1beta2`;
  const metadataOf = (name: string) => ({ name, annotations: { [autoUpdateKey(vocabulary)]: 'true' } });
  const level = (name: string, spec: PriorityLevelConfiguration['spec']): PriorityLevelConfiguration => ({
    apiVersion,
    kind: 'PriorityLevelConfiguration',
    metadata: metadataOf(name),
    spec: spec ?? { type: 'Exempt' },
  });
  return {
    levels: [
      level(EXEMPT, { type: 'Exempt' }),
      ...LIMITED.map((row) =>
        level(row.name, {
          type: 'Limited',
          limited: {
            assuredConcurrencyShares: row.shares,
            limitResponse:
              row.queuing === undefined ? { type: 'Reject' } : { type: 'Queue', queuing: row.queuing },
          },
        }),
      ),
    ],
    schemas: Object.entries(schemaSpecs(vocabulary)).map(([name, spec]) => ({
      apiVersion,
      kind: 'FlowSchema',
      metadata: metadataOf(name),
      spec,
    })),
  };
}
