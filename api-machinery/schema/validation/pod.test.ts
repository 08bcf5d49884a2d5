import { describe, expect, it, test } from 'vitest';
import { VOCABULARIES } from '../../vocabulary.ts';
import { errorsOf, type PodChanges } from './base-pod.fixture.ts';
import { validatePod } from './pod.ts';

type Row = readonly [name: string, changes: PodChanges, fieldErrors?: readonly string[]];

function rows(table: readonly Row[]): void {
  test.each(table.map(([name, changes, fieldErrors = []]) => ({ name, changes, fieldErrors })))(
    '$name',
    ({ changes, fieldErrors }) => {
      expect(errorsOf(changes)).toEqual(fieldErrors);
    },
  );
}

describe('pod', () => {
  rows([
    ['is valid as it stands', {}],
    [
      'with another end',
      { spec: { restartPolicy: 'Never', terminationGracePeriodSeconds: 0, activeDeadlineSeconds: 1 } },
    ],
    [
      'with a negative grace period',
      { spec: { terminationGracePeriodSeconds: -1 } },
      ['FieldValueInvalid spec.terminationGracePeriodSeconds'],
    ],
    [
      'with no time at all',
      { spec: { activeDeadlineSeconds: 0 } },
      ['FieldValueInvalid spec.activeDeadlineSeconds'],
    ],
    [
      'with too much time',
      { spec: { activeDeadlineSeconds: 2 ** 31 } },
      ['FieldValueInvalid spec.activeDeadlineSeconds'],
    ],
    [
      'with references to names that no object can have',
      {
        spec: {
          nodeName: 'N',
          serviceAccountName: 'a_b',
          priorityClassName: '-',
          runtimeClassName: 'a..b',
          imagePullSecrets: [{}],
        },
      },
      [
        'FieldValueInvalid spec.nodeName',
        'FieldValueInvalid spec.serviceAccountName',
        'FieldValueInvalid spec.priorityClassName',
        'FieldValueInvalid spec.runtimeClassName',
        'FieldValueRequired spec.imagePullSecrets[0].name',
      ],
    ],
    ['for Linux by name', { spec: { os: { name: 'linux' } } }],
    ['for another system', { spec: { os: { name: 'windows' } } }, ['FieldValueNotSupported spec.os.name']],
    ['with overhead', { spec: { overhead: { cpu: '1m' } } }],
    [
      'with negative overhead',
      { spec: { overhead: { cpu: '-1m' } } },
      ['FieldValueInvalid spec.overhead[cpu]'],
    ],
  ]);

  it('needs a spec', () => {
    const errors = validatePod(
      { metadata: { name: 'a', namespace: 'b' } },
      { vocabulary: VOCABULARIES.plat },
    );
    expect(errors.map((error) => error.field)).toEqual(['spec.containers']);
  });
});

describe('metadata', () => {
  rows([
    ['without a name', { metadata: { name: '' } }, ['FieldValueRequired metadata.name']],
    ['with a bad name', { metadata: { name: 'Web' } }, ['FieldValueInvalid metadata.name']],
    ['without a namespace', { metadata: { namespace: '' } }, ['FieldValueRequired metadata.namespace']],
    ['with a bad namespace', { metadata: { namespace: 'a.b' } }, ['FieldValueInvalid metadata.namespace']],
    [
      'with bad labels and annotations',
      { metadata: { labels: { 'a b': 'x', k: '-' }, annotations: { '/': 'x' } } },
      [
        'FieldValueInvalid metadata.labels',
        'FieldValueInvalid metadata.labels[k]',
        'FieldValueInvalid metadata.annotations',
        'FieldValueInvalid metadata.annotations',
      ],
    ],
    [
      'with owners',
      {
        metadata: {
          ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u', controller: true }],
        },
      },
    ],
    [
      'with bad owners',
      {
        metadata: {
          ownerReferences: [
            { apiVersion: '', kind: 'A', name: 'a', uid: '1', controller: true },
            { apiVersion: 'v1', kind: 'B', name: 'b', uid: '2', controller: true },
          ],
        },
      },
      [
        'FieldValueRequired metadata.ownerReferences[0].apiVersion',
        'FieldValueInvalid metadata.ownerReferences',
      ],
    ],
    [
      'with a bad finalizer',
      { metadata: { finalizers: ['a b'] } },
      ['FieldValueInvalid metadata.finalizers[0]'],
    ],
  ]);
});

describe('security context of the pod', () => {
  const security = (securityContext: object, spec: object = {}): PodChanges => ({
    spec: { securityContext, ...spec },
  });
  const at = 'spec.securityContext';
  rows([
    [
      'with users and groups',
      security({ runAsUser: 0, runAsGroup: 2 ** 31 - 1, fsGroup: 1, supplementalGroups: [0, 1] }),
    ],
    [
      'with users and groups out of range',
      security({ runAsUser: -1, runAsGroup: 2 ** 31, fsGroup: -5, supplementalGroups: [0, -1] }),
      [
        `FieldValueInvalid ${at}.runAsUser`,
        `FieldValueInvalid ${at}.runAsGroup`,
        `FieldValueInvalid ${at}.fsGroup`,
        `FieldValueInvalid ${at}.supplementalGroups[1]`,
      ],
    ],
    ['with a runtime seccomp profile', security({ seccompProfile: { type: 'RuntimeDefault' } })],
    [
      'with a local seccomp profile',
      security({ seccompProfile: { type: 'Localhost', localhostProfile: 'a/b.json' } }),
    ],
    [
      'with an empty local seccomp profile',
      security({ seccompProfile: { type: 'Localhost', localhostProfile: '' } }),
      [`FieldValueRequired ${at}.seccompProfile.localhostProfile`],
    ],
    [
      'without the local seccomp profile',
      security({ seccompProfile: { type: 'Localhost' } }),
      [`FieldValueRequired ${at}.seccompProfile.localhostProfile`],
    ],
    [
      'with a seccomp profile elsewhere',
      security({ seccompProfile: { type: 'Localhost', localhostProfile: '/a' } }),
      [`FieldValueInvalid ${at}.seccompProfile.localhostProfile`],
    ],
    [
      'with a seccomp profile further up',
      security({ seccompProfile: { type: 'Localhost', localhostProfile: 'a/../../b' } }),
      [`FieldValueInvalid ${at}.seccompProfile.localhostProfile`],
    ],
    [
      'with a profile that its type does not use',
      security({ seccompProfile: { type: 'Unconfined', localhostProfile: 'a' } }),
      [`FieldValueInvalid ${at}.seccompProfile.localhostProfile`],
    ],
    [
      'with sysctls',
      security({
        sysctls: [
          { name: 'net.ipv4.tcp_syncookies', value: '1' },
          { name: 'kernel/shm_rmid_forced', value: '0' },
        ],
      }),
    ],
    [
      'with bad sysctls',
      security({
        sysctls: [
          { name: '', value: '1' },
          { name: 'A.b', value: '1' },
          { name: 'a.b', value: '1' },
          { name: 'a/b', value: '2' },
        ],
      }),
      [
        `FieldValueRequired ${at}.sysctls[0].name`,
        `FieldValueInvalid ${at}.sysctls[1].name`,
        `FieldValueDuplicate ${at}.sysctls[3].name`,
      ],
    ],
    [
      'with sysctls of a namespace that is the host’s',
      security(
        {
          sysctls: [
            { name: 'net.a', value: '1' },
            { name: 'kernel.shmmax', value: '1' },
          ],
        },
        { hostNetwork: true, hostIPC: true },
      ),
      [`FieldValueInvalid ${at}.sysctls[0].name`, `FieldValueInvalid ${at}.sysctls[1].name`],
    ],
    ['that shares processes with itself', { spec: { shareProcessNamespace: true } }],
    [
      'that shares processes with itself and the host',
      { spec: { shareProcessNamespace: true, hostPID: true } },
      ['FieldValueInvalid spec.shareProcessNamespace'],
    ],
  ]);
});

describe('profile annotations', () => {
  const annotated = (key: string, value: string): PodChanges => ({
    metadata: { annotations: { [key]: value } },
  });
  const { appArmorContainerPrefix, seccompPod, seccompContainerPrefix } = VOCABULARIES.plat;
  const fieldError = (key: string): readonly string[] => [`FieldValueInvalid metadata.annotations[${key}]`];
  rows([
    ['AppArmor default', annotated(`${appArmorContainerPrefix}app`, 'runtime/default')],
    ['AppArmor profile of the node', annotated(`${appArmorContainerPrefix}app`, 'localhost/x')],
    [
      'AppArmor profile without a name',
      annotated(`${appArmorContainerPrefix}app`, 'localhost/'),
      fieldError(`${appArmorContainerPrefix}app`),
    ],
    [
      'AppArmor word',
      annotated(`${appArmorContainerPrefix}app`, 'none'),
      fieldError(`${appArmorContainerPrefix}app`),
    ],
    [
      'AppArmor for no container',
      annotated(`${appArmorContainerPrefix}gone`, 'unconfined'),
      fieldError(`${appArmorContainerPrefix}gone`),
    ],
    ['seccomp of the pod', annotated(seccompPod, 'localhost/a.json')],
    ['seccomp without a path', annotated(seccompPod, 'localhost/'), fieldError(seccompPod)],
    [
      'seccomp further up',
      annotated(`${seccompContainerPrefix}app`, 'localhost/../a'),
      fieldError(`${seccompContainerPrefix}app`),
    ],
  ]);
});

describe('names and DNS', () => {
  const dns = (dnsConfig: object, spec: object = {}): PodChanges => ({ spec: { dnsConfig, ...spec } });
  rows([
    ['with hostname and subdomain', { spec: { hostname: 'a', subdomain: 'b' } }],
    [
      'with bad hostname and subdomain',
      { spec: { hostname: 'a.b', subdomain: '-' } },
      ['FieldValueInvalid spec.hostname', 'FieldValueInvalid spec.subdomain'],
    ],
    [
      'with DNS of its own',
      dns(
        {
          nameservers: ['10.0.0.1', 'fd00::1'],
          searches: ['a.b', 'c.'],
          options: [{ name: 'ndots', value: '2' }],
        },
        { dnsPolicy: 'None' },
      ),
    ],
    ['with policy None alone', { spec: { dnsPolicy: 'None' } }, ['FieldValueRequired spec.dnsConfig']],
    [
      'with policy None without servers',
      dns({}, { dnsPolicy: 'None' }),
      ['FieldValueRequired spec.dnsConfig.nameservers'],
    ],
    [
      'with DNS beyond what resolvers take',
      dns({
        nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'],
        searches: ['a', 'b', 'c', 'd', 'e', 'f', 'g'],
      }),
      ['FieldValueTooMany spec.dnsConfig.nameservers', 'FieldValueTooMany spec.dnsConfig.searches'],
    ],
    [
      'with long search domains',
      dns({ searches: ['a'.repeat(130), 'b'.repeat(130)].map((name) => name.replaceAll(/(.{60})/g, '$1.')) }),
      ['FieldValueTooLong spec.dnsConfig.searches'],
    ],
    [
      'with DNS that would break the file it is written to',
      dns({
        nameservers: ['ns1'],
        searches: ['a b'],
        options: [{}, { name: 'a', value: 'x\nnameserver 6.6.6.6' }],
      }),
      [
        'FieldValueInvalid spec.dnsConfig.nameservers[0]',
        'FieldValueInvalid spec.dnsConfig.searches[0]',
        'FieldValueRequired spec.dnsConfig.options[0].name',
        'FieldValueInvalid spec.dnsConfig.options[1]',
      ],
    ],
    ['with host aliases', { spec: { hostAliases: [{ ip: '::1', hostnames: ['a', 'a.b'] }] } }],
    [
      'with host aliases that would break the file they are written to',
      { spec: { hostAliases: [{ ip: '1.2.3', hostnames: ['a\nb'] }, { hostnames: [] }] } },
      [
        'FieldValueInvalid spec.hostAliases[0].ip',
        'FieldValueInvalid spec.hostAliases[0].hostnames[0]',
        'FieldValueInvalid spec.hostAliases[1].ip',
      ],
    ],
  ]);

  it('takes more search domains where the gate allows them', () => {
    const searches = Array.from({ length: 32 }, (_, index) => `s${index}`);
    expect(errorsOf(dns({ searches }), { expandedDNSConfig: true })).toEqual([]);
    expect(errorsOf(dns({ searches }))).toHaveLength(1);
  });
});

describe('scheduling', () => {
  const selectorTerms = (...matchExpressions: readonly object[]): PodChanges => ({
    spec: {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions }] },
        },
      },
    },
  });
  const expression =
    'spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions';
  rows([
    ['with a node selector', { spec: { nodeSelector: { 'x.io/a': 'b' } } }],
    [
      'with a bad node selector',
      { spec: { nodeSelector: { 'a b': '-' } } },
      ['FieldValueInvalid spec.nodeSelector', 'FieldValueInvalid spec.nodeSelector[a b]'],
    ],
    [
      'with node affinity',
      selectorTerms(
        { key: 'a', operator: 'In', values: ['x'] },
        { key: 'b', operator: 'Gt', values: ['1'] },
        { key: 'c', operator: 'Exists' },
      ),
    ],
    [
      'with bad node affinity',
      selectorTerms(
        { key: 'a', operator: 'In' },
        { key: 'b', operator: 'Lt', values: ['1', '2'] },
        { key: 'c', operator: 'Exists', values: ['x'] },
        { key: '', operator: 'Exists' },
      ),
      [
        `FieldValueRequired ${expression}[0].values`,
        `FieldValueRequired ${expression}[1].values`,
        `FieldValueForbidden ${expression}[2].values`,
        `FieldValueInvalid ${expression}[3].key`,
      ],
    ],
    [
      'with empty and heavy terms',
      {
        spec: {
          affinity: {
            nodeAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] },
              preferredDuringSchedulingIgnoredDuringExecution: [
                { weight: 101, preference: { matchFields: [{ key: 'x', operator: 'Exists' }] } },
              ],
            },
          },
        },
      },
      [
        'FieldValueRequired spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms',
        'FieldValueInvalid spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight',
        'FieldValueNotSupported spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[0].operator',
        'FieldValueNotSupported spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchFields[0].key',
      ],
    ],
    [
      'with bad pod affinity',
      {
        spec: {
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                {
                  topologyKey: '',
                  namespaces: ['A'],
                  labelSelector: { matchExpressions: [{ key: 'a', operator: 'Like' }] },
                },
              ],
              preferredDuringSchedulingIgnoredDuringExecution: [
                { weight: 0, podAffinityTerm: { topologyKey: 'a' } },
              ],
            },
          },
        },
      },
      ['labelSelector.matchExpressions[0].operator', 'namespaces[0]', 'topologyKey']
        .map(
          (member, index) =>
            `${['FieldValueNotSupported', 'FieldValueInvalid', 'FieldValueRequired'][index]} spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].${member}`,
        )
        .concat(
          'FieldValueInvalid spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight',
        ),
    ],
    [
      'with tolerations',
      {
        spec: {
          tolerations: [
            { operator: 'Exists' },
            { key: 'a', value: 'b', effect: 'NoExecute', tolerationSeconds: 5 },
            { key: 'a', operator: 'Exists' },
          ],
        },
      },
    ],
    [
      'with bad tolerations',
      {
        spec: {
          tolerations: [
            { operator: 'Equal' },
            { key: 'a b', operator: 'Exists', value: 'x' },
            { key: 'a', value: '-' },
            { key: 'a', tolerationSeconds: 1 },
          ],
        },
      },
      [
        'FieldValueInvalid spec.tolerations[0].operator',
        'FieldValueInvalid spec.tolerations[1].key',
        'FieldValueInvalid spec.tolerations[1].value',
        'FieldValueInvalid spec.tolerations[2].value',
        'FieldValueInvalid spec.tolerations[3].effect',
      ],
    ],
    [
      'with bad topology spread',
      {
        spec: {
          topologySpreadConstraints: [
            { maxSkew: 0, topologyKey: 'a', whenUnsatisfiable: 'DoNotSchedule', minDomains: 0 },
            { maxSkew: 1, topologyKey: 'a', whenUnsatisfiable: 'DoNotSchedule' },
          ],
        },
      },
      ['maxSkew', 'minDomains']
        .map((member) => `FieldValueInvalid spec.topologySpreadConstraints[0].${member}`)
        .concat('FieldValueDuplicate spec.topologySpreadConstraints[1].topologyKey'),
    ],
    [
      'with a bad readiness gate',
      { spec: { readinessGates: [{ conditionType: 'a b' }] } },
      ['FieldValueInvalid spec.readinessGates[0].conditionType'],
    ],
  ]);
});
