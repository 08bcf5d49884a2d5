import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '../vocabulary.ts';
import { type DefaultRule, readDefaultRules } from './default-rules.ts';
import { applyDefaults, applyDefaultsInPlace } from './defaults.ts';

/** An object of the rule's type before and after. */
interface Case {
  readonly given: object;
  readonly expected: object;
  readonly gates?: readonly string[];
  /** Objects that the rule does not change, though other rules may. */
  readonly untouched?: readonly object[];
}

const keyOf = ({ type, path, when, from }: DefaultRule): string =>
  [type, path, when ?? '', from ?? ''].join(' ').trim();

const container = (resources: object): object => ({ spec: { containers: [{ name: 'a', resources }] } });
const initContainer = (resources: object): object => ({
  spec: { containers: [], initContainers: [{ name: 'a', resources }] },
});
const hostPort = (list: string): Case => ({
  given: { hostNetwork: true, [list]: [{ name: 'a', ports: [{ containerPort: 8 }] }] },
  expected: { [list]: [{ ports: [{ containerPort: 8, hostPort: 8 }] }] },
  untouched: [{ [list]: [{ name: 'a', ports: [{ containerPort: 8 }] }] }],
});
const latest: Case = { given: { image: 'a' }, expected: { imagePullPolicy: 'Always' } };
const pinned: Case = { given: { image: 'a:1' }, expected: { imagePullPolicy: 'IfNotPresent' } };
const labelled = { spec: { template: { metadata: { labels: { a: 'b' } } } } };
const ownLabels = { metadata: { labels: { c: 'd' } }, ...labelled };
const service = (spec: object, expected: object, ...untouched: readonly object[]): Case => ({
  given: { spec },
  expected: { spec: expected },
  untouched: untouched.map((other) => ({ spec: other })),
});

const PODS: Readonly<Record<string, Case>> = {
  'core/v1.PodSpec containers[].ports[].hostPort hostNetwork=true and hostPort=0 containerPort':
    hostPort('containers'),
  'core/v1.PodSpec initContainers[].ports[].hostPort hostNetwork=true and hostPort=0 containerPort':
    hostPort('initContainers'),
  'core/v1.Pod spec.containers[].resources.requests.<name> limit set and request absent resources.limits.<name>':
    {
      given: container({ limits: { cpu: '2', memory: '3' }, requests: { cpu: '1' } }),
      expected: container({ requests: { cpu: '1', memory: '3' } }),
    },
  'core/v1.Pod spec.initContainers[].resources.requests.<name> limit set and request absent resources.limits.<name>':
    {
      given: initContainer({ limits: { cpu: '2' } }),
      expected: { spec: { initContainers: [{ resources: { requests: { cpu: '2' } } }] } },
    },
  'core/v1.Container imagePullPolicy unset and image tag is latest or (no tag and no digest)': latest,
  'core/v1.Container imagePullPolicy unset otherwise': pinned,
  'core/v1.EphemeralContainerCommon imagePullPolicy unset and image tag is latest or (no tag and no digest)':
    latest,
  'core/v1.EphemeralContainerCommon imagePullPolicy unset otherwise': pinned,
  'core/v1.ResourceRequirements limits.<name> finer than 1/1000': {
    given: { limits: { cpu: '1500u', memory: '1Gi' } },
    expected: { limits: { cpu: '2m', memory: '1Gi' } },
  },
  'core/v1.ResourceRequirements requests.<name> finer than 1/1000': {
    given: { requests: { cpu: '1n' } },
    expected: { requests: { cpu: '1m' } },
  },
  'core/v1.Volume emptyDir no volume source set': {
    given: { name: 'v' },
    expected: { emptyDir: {} },
    untouched: [{ name: 'v', hostPath: { path: '/', type: '' } }],
  },
};

const DUAL = 'type not ExternalName, unset, and clusterIPs or ipFamilies has 2 entries';
const both = ['IPv4', 'IPv6'];
const CORE: Readonly<Record<string, Case>> = {
  'core/v1.Service spec.sessionAffinityConfig sessionAffinity=None': service(
    { sessionAffinity: 'None', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } },
    { sessionAffinity: 'None' },
    { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } },
  ),
  'core/v1.Service spec.sessionAffinityConfig.clientIP.timeoutSeconds sessionAffinity=ClientIP and unset':
    service(
      { sessionAffinity: 'ClientIP' },
      { sessionAffinityConfig: { clientIP: { timeoutSeconds: 10_800 } } },
      { sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
    ),
  'core/v1.ServicePort targetPort unset, 0 or empty string port': {
    given: { port: 80, targetPort: 0 },
    expected: { targetPort: 80 },
    untouched: [{ port: 80, targetPort: 'http' }],
  },
  'core/v1.Service spec.externalTrafficPolicy type NodePort or LoadBalancer, unset': service(
    { type: 'NodePort' },
    { externalTrafficPolicy: 'Cluster' },
    { type: 'ClusterIP' },
    { type: 'ExternalName' },
  ),
  'core/v1.Service spec.internalTrafficPolicy type ClusterIP, NodePort or LoadBalancer, unset': {
    ...service({}, { internalTrafficPolicy: 'Cluster' }, { type: 'ExternalName' }),
    gates: ['ServiceInternalTrafficPolicy'],
  },
  [`core/v1.Service spec.ipFamilyPolicy ${DUAL}`]: service(
    { ipFamilies: both },
    { ipFamilyPolicy: 'RequireDualStack' },
    { ipFamilies: ['IPv4'] },
    { type: 'ExternalName', ipFamilies: both },
  ),
  // The allocator of service addresses sets it: an update preserves the policy of the service.
  'core/v1.Service spec.ipFamilyPolicy otherwise unset and type not ExternalName (set at IP allocation)':
    service({}, {}, {}),
  'core/v1.Service spec.ipFamilies[1] ipFamilyPolicy=RequireDualStack and 1 family given': service(
    { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6'] },
    { ipFamilies: ['IPv6', 'IPv4'] },
    { ipFamilyPolicy: 'PreferDualStack', ipFamilies: ['IPv6'] },
    { ipFamilyPolicy: 'RequireDualStack' },
  ),
  'core/v1.Service spec.allocateLoadBalancerNodePorts type LoadBalancer, unset': service(
    { type: 'LoadBalancer' },
    { allocateLoadBalancerNodePorts: true },
    { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false },
    { type: 'NodePort' },
  ),
  // An empty map is omitted.
  'core/v1.ConfigMap data': { given: {}, expected: {}, untouched: [{}] },
  'core/v1.Node status.allocatable allocatable unset and capacity set status.capacity': {
    given: { status: { capacity: { cpu: '2' } } },
    expected: { status: { allocatable: { cpu: '2' } } },
    untouched: [{ status: {} }, { status: { capacity: { cpu: '2' }, allocatable: { cpu: '1' } } }],
  },
  'core/v1.ReplicationController spec.selector empty spec.template.metadata.labels': {
    given: labelled,
    expected: { spec: { selector: { a: 'b' } } },
    untouched: [{ spec: { ...labelled.spec, selector: { c: 'd' } } }],
  },
  'core/v1.ReplicationController metadata.labels empty spec.template.metadata.labels': {
    given: labelled,
    expected: { metadata: { labels: { a: 'b' } } },
    untouched: [ownLabels],
  },
  'core/v1.LimitRangeItem default.<name> type=Container and absent max.<name>': {
    given: { type: 'Container', max: { cpu: '2', memory: '1Gi' }, default: { cpu: '1' } },
    expected: { default: { cpu: '1', memory: '1Gi' } },
    untouched: [{ type: 'Pod', max: { cpu: '2' } }],
  },
  'core/v1.LimitRangeItem defaultRequest.<name> type=Container and absent default.<name>': {
    given: { type: 'Container', default: { cpu: '1' }, min: { cpu: '500m' } },
    expected: { defaultRequest: { cpu: '1' } },
    untouched: [{ type: 'Pod', default: { cpu: '2' } }],
  },
  'core/v1.LimitRangeItem defaultRequest.<name> type=Container and absent min.<name>': {
    given: { type: 'Container', min: { cpu: '500m' } },
    expected: { defaultRequest: { cpu: '500m' } },
    untouched: [{ type: 'Pod', min: { cpu: '2' } }],
  },
};

const rolling = (member: string, amount: string, value: string | number): Case => ({
  given: {},
  expected: { spec: { [member]: { type: 'RollingUpdate', rollingUpdate: { [amount]: value } } } },
  untouched: [
    { spec: { [member]: { type: member === 'strategy' ? 'Recreate' : 'OnDelete' } } },
    { spec: { [member]: { type: 'RollingUpdate', rollingUpdate: { [amount]: '1%' } } } },
  ],
});
const retention = (member: string): Case => ({
  given: { spec: {} },
  expected: { spec: { persistentVolumeClaimRetentionPolicy: { [member]: 'Retain' } } },
  gates: ['StatefulSetAutoDeletePVC'],
});
const DEPLOYED = 'strategy.type=RollingUpdate, unset';
const WORKLOADS: Readonly<Record<string, Case>> = {
  [`apps/v1.Deployment spec.strategy.rollingUpdate.maxUnavailable ${DEPLOYED}`]: rolling(
    'strategy',
    'maxUnavailable',
    '25%',
  ),
  [`apps/v1.Deployment spec.strategy.rollingUpdate.maxSurge ${DEPLOYED}`]: rolling(
    'strategy',
    'maxSurge',
    '25%',
  ),
  'apps/v1.DaemonSet spec.updateStrategy.rollingUpdate.maxUnavailable type=RollingUpdate, unset': rolling(
    'updateStrategy',
    'maxUnavailable',
    1,
  ),
  'apps/v1.DaemonSet spec.updateStrategy.rollingUpdate.maxSurge type=RollingUpdate, unset': {
    ...rolling('updateStrategy', 'maxSurge', 0),
    gates: ['DaemonSetUpdateSurge'],
  },
  'apps/v1.StatefulSet spec.updateStrategy.rollingUpdate updateStrategy.type unset and rollingUpdate unset': {
    given: {},
    expected: { spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { partition: 0 } } } },
    untouched: [{ spec: { updateStrategy: { type: 'RollingUpdate' } } }],
  },
  'apps/v1.StatefulSet spec.updateStrategy.rollingUpdate.partition type=RollingUpdate, rollingUpdate set, partition unset':
    {
      given: { spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: {} } } },
      expected: { spec: { updateStrategy: { rollingUpdate: { partition: 0 } } } },
      untouched: [{ spec: { updateStrategy: { type: 'OnDelete' } } }],
    },
  'apps/v1.StatefulSet spec.updateStrategy.rollingUpdate.maxUnavailable unset, gate on': {
    given: { spec: { updateStrategy: { type: 'RollingUpdate', rollingUpdate: {} } } },
    expected: { spec: { updateStrategy: { rollingUpdate: { maxUnavailable: 1 } } } },
    gates: ['MaxUnavailableStatefulSet'],
  },
  'apps/v1.StatefulSet spec.persistentVolumeClaimRetentionPolicy.whenDeleted unset, gate on':
    retention('whenDeleted'),
  'apps/v1.StatefulSet spec.persistentVolumeClaimRetentionPolicy.whenScaled unset, gate on':
    retention('whenScaled'),
  'batch/v1.Job spec.completions completions and parallelism both unset': {
    given: { spec: {} },
    expected: { spec: { completions: 1, parallelism: 1 } },
    untouched: [{ spec: { parallelism: 2 } }],
  },
  'batch/v1.Job metadata.labels empty spec.template.metadata.labels': {
    given: labelled,
    expected: { metadata: { labels: { a: 'b' } } },
    untouched: [ownLabels],
  },
};

const metricsKey = `autoscaling.alpha.${VOCABULARIES.plat.domain}/metrics`;
const cpu = {
  type: 'Resource',
  resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 80 } },
};
const percent = { type: 'Percent', value: 100, periodSeconds: 15 };
const AUTOSCALING: Readonly<Record<string, Case>> = {
  'autoscaling/v1.HorizontalPodAutoscaler spec.targetCPUUtilizationPercentage no metric given': {
    given: { spec: {} },
    expected: { spec: { targetCPUUtilizationPercentage: 80 } },
    untouched: [{ metadata: { annotations: { [metricsKey]: '[{}]' } }, spec: {} }],
  },
  'autoscaling/v2beta1.HorizontalPodAutoscaler spec.metrics empty': {
    given: { spec: { metrics: [] } },
    expected: {
      spec: { metrics: [{ type: 'Resource', resource: { name: 'cpu', targetAverageUtilization: 80 } }] },
    },
    untouched: [{ spec: { metrics: [{ type: 'Pods' }] } }],
  },
  ...Object.fromEntries(['v2', 'v2beta2'].flatMap((version) => Object.entries(autoscalerCases(version)))),
};

function autoscalerCases(version: string): Readonly<Record<string, Case>> {
  const kind = `autoscaling/${version}.HorizontalPodAutoscaler`;
  return {
    [`${kind} spec.metrics empty`]: {
      given: { spec: { metrics: [] } },
      expected: { spec: { metrics: [cpu] } },
      untouched: [{ spec: { metrics: [{ type: 'Pods' }] } }],
    },
    [`${kind} spec.behavior.scaleUp behavior set; filled per member`]: {
      given: { spec: { behavior: { scaleUp: { selectPolicy: 'Min' } } } },
      expected: {
        spec: {
          behavior: {
            scaleUp: {
              stabilizationWindowSeconds: 0,
              selectPolicy: 'Min',
              policies: [{ type: 'Pods', value: 4, periodSeconds: 15 }, percent],
            },
          },
        },
      },
      untouched: [{ spec: {} }],
    },
    [`${kind} spec.behavior.scaleDown behavior set; filled per member`]: {
      given: { spec: { behavior: {} } },
      expected: { spec: { behavior: { scaleDown: { selectPolicy: 'Max', policies: [percent] } } } },
      untouched: [{ spec: {} }],
    },
  };
}

const { apiGroupDomain } = VOCABULARIES.plat;
const NET = `networking.${apiGroupDomain}/v1`;
const RBAC = `rbac.authorization.${apiGroupDomain}`;
const CRD = `apiextensions.${apiGroupDomain}/v1.CustomResourceDefinition`;
const hook = (group: string, kind: string): Readonly<Record<string, Case>> => ({
  [`admissionregistration.${apiGroupDomain}/${group}.${kind} admissionReviewVersions empty`]: {
    given: { admissionReviewVersions: [] },
    expected: { admissionReviewVersions: ['v1beta1'] },
    untouched: [{ admissionReviewVersions: ['v1'] }],
  },
});
const roleRef: Case = {
  given: { roleRef: { kind: 'Role', name: 'a' } },
  expected: { roleRef: { apiGroup: RBAC } },
  untouched: [{ roleRef: { apiGroup: 'x' } }],
};
const OTHERS: Readonly<Record<string, Case>> = {
  [`${NET}.NetworkPolicy spec.policyTypes empty and egress empty`]: {
    given: { spec: {} },
    expected: { spec: { policyTypes: ['Ingress'] } },
    untouched: [{ spec: { policyTypes: ['Egress'] } }],
  },
  [`${NET}.NetworkPolicy spec.policyTypes empty and egress not empty`]: {
    given: { spec: { egress: [{}] } },
    expected: { spec: { policyTypes: ['Ingress', 'Egress'] } },
    untouched: [{ spec: { policyTypes: ['Egress'], egress: [{}] } }],
  },
  [`${NET}.IngressClass spec.parameters.scope parameters set, scope unset`]: {
    given: { spec: { parameters: { kind: 'A', name: 'a' } } },
    expected: { spec: { parameters: { scope: 'Cluster' } } },
    untouched: [{ spec: {} }, { spec: { parameters: { scope: 'Namespace' } } }],
  },
  [`${RBAC}/v1.ClusterRoleBinding roleRef.apiGroup empty`]: roleRef,
  [`${RBAC}/v1.RoleBinding roleRef.apiGroup empty`]: roleRef,
  [`${RBAC}/v1.Subject apiGroup empty and kind User or Group`]: {
    given: { kind: 'User', name: 'a' },
    expected: { apiGroup: RBAC },
    untouched: [
      { kind: 'ServiceAccount', name: 'a' },
      { kind: 'Group', apiGroup: 'x' },
    ],
  },
  // An empty string is omitted.
  [`${RBAC}/v1.Subject apiGroup kind ServiceAccount`]: {
    given: { kind: 'ServiceAccount', name: 'a' },
    expected: {},
    untouched: [{ kind: 'ServiceAccount', name: 'a' }],
  },
  [`storage.${apiGroupDomain}/v1.CSIDriver spec.volumeLifecycleModes empty`]: {
    given: { spec: { volumeLifecycleModes: [] } },
    expected: { spec: { volumeLifecycleModes: ['Persistent'] } },
    untouched: [{ spec: { volumeLifecycleModes: ['Ephemeral'] } }],
  },
  ...hook('v1beta1', 'ValidatingWebhook'),
  ...hook('v1beta1', 'MutatingWebhook'),
  [`${CRD} spec.names.singular empty lower(spec.names.kind)`]: {
    given: { spec: { names: { kind: 'CronTab' } } },
    expected: { spec: { names: { singular: 'crontab' } } },
    untouched: [{ spec: { names: { kind: 'CronTab', singular: 'ct' } } }, { spec: { names: {} } }],
  },
  [`${CRD} spec.names.listKind empty spec.names.kind + List`]: {
    given: { spec: { names: { kind: 'CronTab' } } },
    expected: { spec: { names: { listKind: 'CronTabList' } } },
    untouched: [{ spec: { names: { kind: 'CronTab', listKind: 'Tabs' } } }],
  },
  [`${CRD} status.storedVersions empty name of the storage version`]: {
    given: { spec: { versions: [{ name: 'v1' }, { name: 'v2', storage: true }] } },
    expected: { status: { storedVersions: ['v2'] } },
    untouched: [
      { spec: { versions: [{ name: 'v1' }] } },
      { spec: { versions: [{ name: 'v2', storage: true }] }, status: { storedVersions: ['v1'] } },
    ],
  },
};

const CASES: Readonly<Record<string, Case>> = {
  ...PODS,
  ...CORE,
  ...WORKLOADS,
  ...AUTOSCALING,
  ...OTHERS,
};

const isPlain = ({ when, from, gate, forced, note }: DefaultRule): boolean =>
  [when, from, gate, forced, note].every((mark) => mark === undefined);

/** `{spec: {type: value}}` from `spec.type`. */
const nested = (path: readonly string[], value: unknown): object => {
  const [member = '', ...rest] = path;
  return { [member]: rest.length === 0 ? value : nested(rest, value) };
};

/** Returns a value that is neither the default nor zero. */
function otherThan(value: unknown): unknown {
  if (typeof value === 'string') return 'Other';
  if (typeof value === 'number') return value + 7;
  if (typeof value === 'boolean') return !value;
  return Array.isArray(value) ? ['Other'] : { other: 1 };
}

function memberAt(object: unknown, path: readonly string[]): unknown {
  const [member = '', ...rest] = path;
  const value = (object as Readonly<Record<string, unknown>> | undefined)?.[member];
  return rest.length === 0 ? value : memberAt(value, rest);
}

describe('every rule without a condition', () => {
  const rules = readDefaultRules().filter(isPlain);

  it('is most of the table', () => expect(rules.length).toBeGreaterThan(100));

  test.each(rules.map((rule) => [rule.type, rule.path, rule] as const))('%s %s', (type, path, rule) => {
    const steps = path.split('.');
    const parents = steps.length === 1 ? {} : nested(steps.slice(0, -1), {});
    expect(memberAt(applyDefaults(type, parents), steps)).toEqual(rule.value);
    const other = otherThan(rule.value);
    if (rule.value === true) return;
    expect(memberAt(applyDefaults(type, nested(steps, other)), steps)).toMatchObject(other as object);
  });
});

describe('every other rule', () => {
  const rules = readDefaultRules().filter((rule) => !isPlain(rule));

  it('has a case, and every case a rule', () => {
    expect(Object.keys(CASES).toSorted()).toEqual(rules.map(keyOf).toSorted());
  });

  test.each(rules.map((rule) => [keyOf(rule), rule] as const))('%s', (key, rule) => {
    const { given, expected, gates = [], untouched = [] } = CASES[key] ?? { given: {}, expected: {} };
    const options = { gates: new Set(gates) };
    const result = applyDefaults(rule.type, given, options);
    expect(result).toMatchObject(expected);
    expect(applyDefaults(rule.type, result, options)).toEqual(result);
    for (const other of untouched) {
      const steps = rule.path.replace(/\[1\]|\.<name>$/, '').split('.');
      if (steps.some((step) => step.endsWith('[]'))) continue;
      expect(memberAt(applyDefaults(rule.type, other, options), steps)).toEqual(memberAt(other, steps));
    }
  });
});

describe('a rule behind a feature gate', () => {
  const gated = readDefaultRules().filter((rule) => rule.gate !== undefined);

  test.each(gated.map((rule) => [keyOf(rule), rule] as const))('%s', (key, rule) => {
    const { given, expected } = CASES[key] ?? { given: {}, expected: {} };
    expect(applyDefaults(rule.type, given)).not.toMatchObject(expected);
  });
});

describe('applyDefaultsInPlace', () => {
  it('changes the object itself, values from the vocabulary that is spoken', () => {
    const binding = { roleRef: { kind: 'Role', name: 'a' }, subjects: [{ kind: 'User', name: 'u' }] };
    applyDefaultsInPlace(`${RBAC}/v1.RoleBinding`, binding, { vocabulary: VOCABULARIES.kubernetes });
    const apiGroup = `rbac.authorization.${VOCABULARIES.kubernetes.apiGroupDomain}`;
    expect(binding).toEqual({
      roleRef: { kind: 'Role', name: 'a', apiGroup },
      subjects: [{ kind: 'User', name: 'u', apiGroup }],
    });
  });

  it('gives every object its own copy of a value', () => {
    const first = { spec: {} };
    const second = { spec: {} };
    for (const autoscaler of [first, second])
      applyDefaultsInPlace('autoscaling/v2.HorizontalPodAutoscaler', autoscaler);
    expect(first).toEqual(second);
    const [one, other] = [first, second].map((each) => memberAt(each, ['spec', 'metrics']));
    expect(one).not.toBe(other);
  });

  it('goes into the template of a workload, where rules for pods alone stay away', () => {
    const template = {
      spec: { containers: [{ name: 'a', image: 'x', resources: { limits: { cpu: '1' } } }] },
    };
    const deployment = { spec: { selector: {}, template } };
    applyDefaultsInPlace('apps/v1.Deployment', deployment);
    expect(deployment).toMatchObject({ spec: { replicas: 1, revisionHistoryLimit: 10 } });
    expect(template.spec).toMatchObject({ restartPolicy: 'Always' });
    expect(template.spec).not.toHaveProperty('enableServiceLinks');
    expect(template.spec.containers[0]?.resources).toEqual({ limits: { cpu: '1' } });
  });

  it('ends in types that contain themselves', () => {
    const schema = { type: 'object', properties: { a: { items: { type: 'string' } } } };
    const crd = { spec: { names: {}, versions: [{ name: 'v1', schema: { openAPIV3Schema: schema } }] } };
    applyDefaultsInPlace(CRD, crd);
    expect(crd.spec).toMatchObject({ conversion: { strategy: 'None' } });
  });
});
