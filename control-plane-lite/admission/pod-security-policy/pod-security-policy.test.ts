import { describe, expect, test } from 'vitest';
import type { PodSecurityPolicySpec } from '#api/gen/policy-v1beta1.ts';
import { formatFieldError } from '#api/meta/field-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { choosePolicy, isUsable, type Mutable } from './choose.ts';
import type { PodParts } from './context.ts';
import { mutatePod, type Policy } from './mutate.ts';
import { validatePod } from './validate.ts';

const { domain: DOMAIN } = VOCABULARIES.kubernetes;

const words = VOCABULARIES.kubernetes;
const ANY = { rule: 'RunAsAny' };
const RANGES = {
  rule: 'MustRunAs',
  ranges: [
    { min: 10, max: 20 },
    { min: 30, max: 30 },
  ],
};
const MAY = { ...RANGES, rule: 'MayRunAs' };
const LABEL = { level: 's0:c1,c2', role: 'r', type: 't', user: 'u' };
const SELINUX = { rule: 'MustRunAs', seLinuxOptions: LABEL };

/** Allows everything that has no rule of its own. */
const policy = (spec: Partial<PodSecurityPolicySpec> = {}, annotations = {}, name = 'p'): Policy => ({
  name,
  annotations,
  spec: {
    seLinux: ANY,
    runAsUser: ANY,
    supplementalGroups: ANY,
    fsGroup: ANY,
    volumes: ['*'],
    allowPrivilegeEscalation: true,
    ...spec,
  },
});

const pod = (container: object = {}, spec: object = {}, annotations = {}): PodParts => ({
  spec: { containers: [{ name: 'c', ...container }], ...spec },
  annotations,
});
const context = (securityContext: object): object => ({ securityContext });
const errorsOf = (given: PodParts, by: Policy): readonly string[] =>
  validatePod(given, by, words).map(formatFieldError);

const C = 'spec.containers[0]';
const SC = `${C}.securityContext`;
const POD = 'spec.securityContext';
const SECCOMP = `pod.metadata.annotations[${words.seccompPod}]`;
const CONTAINER_SECCOMP = `pod.metadata.annotations[${words.seccompContainerPrefix}c]`;
const ARMOR = `${words.appArmorContainerPrefix}c`;
const allowSeccomp = (names: string): object => ({
  [`seccomp.security.alpha.${DOMAIN}/allowedProfileNames`]: names,
});
const allowArmor = (names: string): object => ({
  [`apparmor.security.beta.${DOMAIN}/allowedProfileNames`]: names,
});
const volume = (source: object): object => ({ volumes: [{ name: 'v', ...source }] });
const TOKEN = {
  projected: {
    sources: [
      { serviceAccountToken: { path: 'token', expirationSeconds: 3607 } },
      { configMap: { name: 'kube-root-ca.crt', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      {
        downwardAPI: {
          items: [{ path: 'namespace', fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.namespace' } }],
        },
      },
    ],
  },
};

describe('validatePod', () => {
  test.each<[string, PodParts, Policy]>([
    ['a plain pod', pod(), policy()],
    ['privileged', pod(context({ privileged: true })), policy({ privileged: true })],
    [
      'host namespaces',
      pod({}, { hostNetwork: true, hostPID: true, hostIPC: true }),
      policy({ hostNetwork: true, hostPID: true, hostIPC: true }),
    ],
    [
      'a host port',
      pod({ ports: [{ containerPort: 1, hostPort: 80 }] }),
      policy({ hostPorts: [{ min: 80, max: 80 }] }),
    ],
    ['a user in a range', pod(context({ runAsUser: 30 })), policy({ runAsUser: RANGES })],
    ['the user of the pod', pod({}, context({ runAsUser: 12 })), policy({ runAsUser: RANGES })],
    [
      'a user other than root',
      pod(context({ runAsUser: 1 })),
      policy({ runAsUser: { rule: 'MustRunAsNonRoot' } }),
    ],
    [
      'runAsNonRoot',
      pod({}, context({ runAsNonRoot: true })),
      policy({ runAsUser: { rule: 'MustRunAsNonRoot' } }),
    ],
    [
      'no group where it may have one',
      pod(),
      policy({ runAsGroup: MAY, fsGroup: MAY, supplementalGroups: MAY }),
    ],
    ['a group of the pod', pod({}, context({ runAsGroup: 10 })), policy({ runAsGroup: RANGES })],
    [
      'SELinux categories in any order',
      pod({}, context({ seLinuxOptions: { ...LABEL, level: 's0:c2,c1' } })),
      policy({ seLinux: SELINUX }),
    ],
    ['a capability', pod(context({ capabilities: { add: ['A'] } })), policy({ allowedCapabilities: ['A'] })],
    [
      'any capability',
      pod(context({ capabilities: { add: ['A'] } })),
      policy({ allowedCapabilities: ['*'] }),
    ],
    ['a volume type', pod({}, volume({ cephfs: { monitors: [] } })), policy({ volumes: ['cephFS'] })],
    ['the token with secrets', pod({}, volume(TOKEN)), policy({ volumes: ['secret'] })],
    [
      'a host path below',
      pod({}, volume({ hostPath: { path: '/a/b/' } })),
      policy({ allowedHostPaths: [{ pathPrefix: '/a/' }] }),
    ],
    [
      'a read-only host path',
      pod(
        { volumeMounts: [{ name: 'v', mountPath: '/x', readOnly: true }] },
        volume({ hostPath: { path: '/a' } }),
      ),
      policy({ allowedHostPaths: [{ pathPrefix: '/a', readOnly: true }] }),
    ],
    [
      'a flex driver',
      pod({}, volume({ flexVolume: { driver: 'd' } })),
      policy({ allowedFlexVolumes: [{ driver: 'd' }] }),
    ],
    [
      'a CSI driver',
      pod({}, volume({ csi: { driver: 'd' } })),
      policy({ allowedCSIDrivers: [{ name: 'd' }] }),
    ],
    ['procMount', pod(context({ procMount: 'Unmasked' })), policy({ allowedProcMountTypes: ['Unmasked'] })],
    [
      'a safe sysctl',
      pod({}, context({ sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] })),
      policy(),
    ],
    [
      'an unsafe sysctl',
      pod({}, context({ sysctls: [{ name: 'net.core.x', value: '1' }] })),
      policy({ allowedUnsafeSysctls: ['net.*'] }),
    ],
    [
      'a runtime class',
      pod({}, { runtimeClassName: 'r' }),
      policy({ runtimeClass: { allowedRuntimeClassNames: ['r'] } }),
    ],
    ['no runtime class', pod(), policy({ runtimeClass: { allowedRuntimeClassNames: [] } })],
    [
      'a seccomp profile',
      pod({}, context({ seccompProfile: { type: 'RuntimeDefault' } })),
      policy({}, allowSeccomp('docker/default')),
    ],
    [
      'any seccomp profile',
      pod(context({ seccompProfile: { type: 'Unconfined' } })),
      policy({}, allowSeccomp('*')),
    ],
    ['an AppArmor profile', pod({}, {}, { [ARMOR]: 'x' }), policy({}, allowArmor('x,y'))],
  ])('allows %s', (_, given, by) => {
    expect(errorsOf(given, by)).toEqual([]);
  });

  const ESCALATION = 'Allowing privilege escalation for containers is not allowed';
  test.each<[string, PodParts, Policy, readonly string[]]>([
    [
      'privileged',
      pod(context({ privileged: true })),
      policy(),
      [`${SC}.privileged: Invalid value: true: Privileged containers are not allowed`],
    ],
    [
      'a privileged init container',
      pod({}, { initContainers: [{ name: 'i', ...context({ privileged: true }) }] }),
      policy(),
      [
        'spec.initContainers[0].securityContext.privileged: Invalid value: true: Privileged containers are not allowed',
      ],
    ],
    [
      'a privileged ephemeral container',
      pod({}, { ephemeralContainers: [{ name: 'i', ...context({ privileged: true }) }] }),
      policy(),
      [
        'spec.ephemeralContainers[0].securityContext.privileged: Invalid value: true: Privileged containers are not allowed',
      ],
    ],
    [
      'host namespaces',
      pod({}, { hostNetwork: true, hostPID: true, hostIPC: true }),
      policy(),
      ['hostNetwork', 'hostPID', 'hostIPC'].map(
        (name) =>
          `${POD}.${name}: Invalid value: true: Host ${name.replace('host', '').replace('Network', 'network')} is not allowed to be used`,
      ),
    ],
    [
      'a host port',
      pod({ ports: [{ containerPort: 1, hostPort: 79 }] }),
      policy({
        hostPorts: [
          { min: 80, max: 80 },
          { min: 90, max: 99 },
        ],
      }),
      [`${C}.hostPort: Invalid value: 79: Host port 79 is not allowed to be used. Allowed ports: [80,90-99]`],
    ],
    [
      'a user beyond the ranges',
      pod(context({ runAsUser: 29 })),
      policy({ runAsUser: RANGES }),
      [`${SC}.runAsUser: Invalid value: 29: must be in the ranges: [{10 20} {30 30}]`],
    ],
    ['no user', pod(), policy({ runAsUser: RANGES }), [`${SC}.runAsUser: Required value`]],
    [
      'root',
      pod(context({ runAsUser: 0 })),
      policy({ runAsUser: { rule: 'MustRunAsNonRoot' } }),
      [`${SC}.runAsUser: Invalid value: 0: running with the root UID is forbidden`],
    ],
    [
      'a user that may be root',
      pod(context({ runAsNonRoot: false })),
      policy({ runAsUser: { rule: 'MustRunAsNonRoot' } }),
      [`${SC}.runAsNonRoot: Invalid value: false: must be true`],
    ],
    [
      'an open user',
      pod(),
      policy({ runAsUser: { rule: 'MustRunAsNonRoot' } }),
      [`${SC}.runAsNonRoot: Required value: must be true`],
    ],
    [
      'a group beyond the ranges',
      pod(context({ runAsGroup: 5 })),
      policy({ runAsGroup: MAY }),
      [`${SC}: Invalid value: [5]: group 5 must be in the ranges: [{10 20} {30 30}]`],
    ],
    [
      'no group',
      pod(),
      policy({ fsGroup: RANGES }),
      [`${POD}.fsGroup: Invalid value: []: unable to validate empty groups against required ranges`],
    ],
    [
      'a supplemental group',
      pod({}, context({ supplementalGroups: [10, 9] })),
      policy({ supplementalGroups: RANGES }),
      [`${POD}.supplementalGroups: Invalid value: [10,9]: group 9 must be in the ranges: [{10 20} {30 30}]`],
    ],
    [
      'no SELinux options',
      pod(),
      policy({ seLinux: SELINUX }),
      [`${POD}.seLinuxOptions: Required value`, `${SC}.seLinuxOptions: Required value`],
    ],
    [
      'other SELinux options',
      pod(
        context({ seLinuxOptions: { ...LABEL, level: 's0:c1', type: 'x' } }),
        context({ seLinuxOptions: LABEL }),
      ),
      policy({ seLinux: SELINUX }),
      [
        `${SC}.seLinuxOptions.level: Invalid value: "s0:c1": must be s0:c1,c2`,
        `${SC}.seLinuxOptions.type: Invalid value: "x": must be t`,
      ],
    ],
    [
      'a capability',
      pod(context({ capabilities: { add: ['A'] } })),
      policy(),
      [`${SC}.capabilities.add: Invalid value: "A": capability may not be added`],
    ],
    [
      'a capability that must be dropped',
      pod(context({ capabilities: {} })),
      policy({ requiredDropCapabilities: ['A'] }),
      [`${SC}.capabilities.drop: Invalid value: []: A is required to be dropped but was not found`],
    ],
    [
      'no capabilities where some are required',
      pod(),
      policy({ requiredDropCapabilities: ['A'] }),
      [`${SC}.capabilities: Invalid value: null: required capabilities are not set on the securityContext`],
    ],
    [
      'a volume type',
      pod({}, volume({ hostPath: { path: '/' } })),
      policy({ volumes: ['secret'] }),
      ['spec.volumes[0]: Invalid value: "hostPath": hostPath volumes are not allowed to be used'],
    ],
    [
      'another token than the usual',
      pod(
        {},
        volume({ projected: { sources: [{ serviceAccountToken: { path: 'token', audience: 'x' } }] } }),
      ),
      policy({ volumes: ['secret'] }),
      ['spec.volumes[0]: Invalid value: "projected": projected volumes are not allowed to be used'],
    ],
    [
      'a host path beside',
      pod({}, volume({ hostPath: { path: '/ab' } })),
      policy({ allowedHostPaths: [{ pathPrefix: '/a' }] }),
      ['spec.volumes[0].hostPath.pathPrefix: Invalid value: "/ab": is not allowed to be used'],
    ],
    [
      'a writable mount of a read-only host path',
      pod({ volumeMounts: [{ name: 'v', mountPath: '/x' }] }, volume({ hostPath: { path: '/a/b' } })),
      policy({ allowedHostPaths: [{ pathPrefix: '/a', readOnly: true }] }),
      [`${C}.volumeMounts[0].readOnly: Invalid value: false: must be read-only`],
    ],
    [
      'a flex driver',
      pod({}, volume({ flexVolume: { driver: 'e' } })),
      policy({ allowedFlexVolumes: [{ driver: 'd' }] }),
      ['spec.volumes[0].driver: Invalid value: "e": Flexvolume driver is not allowed to be used'],
    ],
    [
      'a CSI driver',
      pod({}, volume({ csi: { driver: 'e' } })),
      policy({ allowedCSIDrivers: [{ name: 'd' }] }),
      ['spec.volumes[0].csi.driver: Invalid value: "e": Inline CSI driver is not allowed to be used'],
    ],
    [
      'procMount',
      pod(context({ procMount: 'Unmasked' })),
      policy(),
      [`${SC}.procMount: Invalid value: "Unmasked": ProcMountType is not allowed`],
    ],
    [
      'an unsafe sysctl',
      pod({}, context({ sysctls: [{ name: 'net.core.x', value: '1' }] })),
      policy(),
      ['pod.spec.securityContext.sysctls[0]: Forbidden: unsafe sysctl "net.core.x" is not allowed'],
    ],
    [
      'a forbidden sysctl',
      pod({}, context({ sysctls: [{ name: 'kernel.shm_rmid_forced', value: '1' }] })),
      policy({ forbiddenSysctls: ['kernel.*'] }),
      ['pod.spec.securityContext.sysctls[0]: Forbidden: sysctl "kernel.shm_rmid_forced" is not allowed'],
    ],
    [
      'a runtime class',
      pod({}, { runtimeClassName: 'r' }),
      policy({ runtimeClass: { allowedRuntimeClassNames: ['s'] } }),
      ['spec.runtimeClassName: Invalid value: "r"'],
    ],
    [
      'a writable root',
      pod(context({ readOnlyRootFilesystem: false })),
      policy({ readOnlyRootFilesystem: true }),
      [`${SC}.readOnlyRootFilesystem: Invalid value: false: ReadOnlyRootFilesystem must be set to true`],
    ],
    [
      'privilege escalation',
      pod(context({ allowPrivilegeEscalation: true })),
      policy({ allowPrivilegeEscalation: false }),
      [`${SC}.allowPrivilegeEscalation: Invalid value: true: ${ESCALATION}`],
    ],
    [
      'a seccomp profile where none is allowed',
      pod(context({ seccompProfile: { type: 'Unconfined' } })),
      policy(),
      [`${CONTAINER_SECCOMP}: Forbidden: seccomp may not be set`],
    ],
    [
      'another seccomp profile',
      pod({}, context({ seccompProfile: { type: 'Unconfined' } })),
      policy({}, allowSeccomp('runtime/default')),
      [SECCOMP, CONTAINER_SECCOMP].map(
        (path) =>
          `${path}: Forbidden: unconfined is not an allowed seccomp profile. Valid values are runtime/default`,
      ),
    ],
    [
      'no AppArmor profile',
      pod(),
      policy({}, allowArmor('x')),
      [`pod.metadata.annotations[${ARMOR}]: Forbidden: AppArmor profile must be set`],
    ],
    [
      'another AppArmor profile',
      pod({}, {}, { [ARMOR]: 'z' }),
      policy({}, allowArmor('x,y')),
      [`pod.metadata.annotations[${ARMOR}]: Forbidden: z is not an allowed profile. Allowed values: "x,y"`],
    ],
  ])('rejects %s', (_, given, by, expected) => {
    expect(errorsOf(given, by)).toEqual(expected);
  });
});

describe('mutatePod', () => {
  const DEFAULTS = {
    [`seccomp.security.alpha.${DOMAIN}/defaultProfileName`]: 'runtime/default',
    [`apparmor.security.beta.${DOMAIN}/defaultProfileName`]: 'x',
  };

  test.each<[string, PodParts, Policy]>([
    ['without rules', pod(), policy()],
    ['without security context and with MayRunAs', pod(), policy({ fsGroup: MAY, runAsGroup: MAY })],
    [
      'that has all values',
      pod(
        context({ runAsUser: 11, allowPrivilegeEscalation: true, capabilities: { drop: ['A', 'B'] } }),
        context({ fsGroup: 11 }),
        { [ARMOR]: 'y' },
      ),
      policy(
        {
          runAsUser: RANGES,
          fsGroup: RANGES,
          allowPrivilegeEscalation: false,
          requiredDropCapabilities: ['B'],
        },
        { [`apparmor.security.beta.${DOMAIN}/defaultProfileName`]: 'x' },
      ),
    ],
  ])('leaves a pod %s as it is', (_, given, by) => {
    expect(mutatePod(given, by, words)).toEqual(given);
  });

  test('sets what is open', () => {
    const by = policy(
      {
        runAsUser: RANGES,
        runAsGroup: RANGES,
        fsGroup: RANGES,
        supplementalGroups: RANGES,
        seLinux: SELINUX,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        defaultAddCapabilities: ['B', 'A'],
        requiredDropCapabilities: ['C'],
        runtimeClass: { allowedRuntimeClassNames: ['r'], defaultRuntimeClassName: 'r' },
      },
      DEFAULTS,
    );
    expect(mutatePod(pod(), by, words)).toEqual({
      annotations: { [words.seccompPod]: 'runtime/default', [ARMOR]: 'x' },
      spec: {
        runtimeClassName: 'r',
        securityContext: {
          fsGroup: 10,
          supplementalGroups: [10],
          seLinuxOptions: LABEL,
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [
          {
            name: 'c',
            securityContext: {
              runAsUser: 10,
              runAsGroup: 10,
              readOnlyRootFilesystem: true,
              allowPrivilegeEscalation: false,
              capabilities: { add: ['A', 'B'], drop: ['C'] },
            },
          },
        ],
      },
    });
  });

  test.each<[string, PodParts, Policy, object]>([
    ['runAsNonRoot', pod(), policy({ runAsUser: { rule: 'MustRunAsNonRoot' } }), { runAsNonRoot: true }],
    [
      'defaultAllowPrivilegeEscalation',
      pod(),
      policy({ defaultAllowPrivilegeEscalation: true }),
      { allowPrivilegeEscalation: true },
    ],
    [
      'a default capability unless it is dropped',
      pod(context({ capabilities: { drop: ['A'] } })),
      policy({ defaultAddCapabilities: ['A', 'B'] }),
      { capabilities: { add: ['B'], drop: ['A'] } },
    ],
  ])('sets %s', (_, given, by, expected) => {
    expect(mutatePod(given, by, words).spec.containers[0]?.securityContext).toEqual(expected);
  });

  test('the values of the pod are those of its containers', () => {
    const given = pod({}, context({ runAsUser: 15, runAsGroup: 16 }));
    expect(mutatePod(given, policy({ runAsUser: RANGES, runAsGroup: RANGES }), words)).toEqual(given);
  });
});

describe('choosePolicy', () => {
  const changing = policy({ fsGroup: RANGES }, {}, 'a-changing');
  const other = policy({ runAsUser: RANGES }, {}, 'b-changing');
  const plain = policy({}, {}, 'c-plain');
  const strict = policy({ volumes: [] }, {}, 'd-strict');
  const choose = (
    policies: readonly Policy[],
    usable: readonly string[],
    given: PodParts,
    mutable: Mutable = 'all',
  ) =>
    choosePolicy(
      { pod: given, mutable, policies, mayUse: (name) => Promise.resolve(usable.includes(name)) },
      words,
    );
  const all = [changing, other, plain, strict].map(({ name }) => name);
  const chosen = async (...args: Parameters<typeof choose>): Promise<string> => {
    const made = await choose(...args);
    return 'policy' in made ? made.policy : made.reasons;
  };

  test.each<[string, readonly Policy[], readonly string[], Mutable, string]>([
    ['one that changes nothing is preferred', [changing, other, plain], all, 'all', 'c-plain'],
    ['otherwise the first', [changing, other], all, 'all', 'a-changing'],
    ['of those that may be used', [changing, other, plain], ['b-changing'], 'all', 'b-changing'],
    ['changes are not allowed later', [changing, other], all, 'nothing', '[]'],
    ['nor by a change of other containers', [changing], all, 'ephemeralContainers', '[]'],
    ['none may be used', [plain], [], 'all', '[]'],
  ])('%s', async (_, policies, usable, mutable, expected) => {
    expect(await chosen(policies, usable, pod(), mutable)).toBe(expected);
  });

  test('new ephemeral containers are completed', async () => {
    const by = policy({ readOnlyRootFilesystem: true });
    const set = { readOnlyRootFilesystem: true };
    const given = pod(context(set), { ephemeralContainers: [{ name: 'e' }] });
    const made = await choose([by], ['p'], given, 'ephemeralContainers');
    expect('pod' in made && made.pod.spec.ephemeralContainers).toEqual([{ name: 'e', securityContext: set }]);
  });

  test('reasons are those of the policies that may be used', async () => {
    const given = pod({}, volume({ emptyDir: {} }));
    expect(await chosen([strict], all, given)).toBe(
      '[spec.volumes[0]: Invalid value: "emptyDir": emptyDir volumes are not allowed to be used]',
    );
    expect(await chosen([strict], [], given)).toBe('[]');
  });

  test.each<[Partial<PodSecurityPolicySpec>, boolean]>([
    [{}, true],
    [{ runAsUser: RANGES, fsGroup: MAY, seLinux: SELINUX }, true],
    [{ runAsUser: { rule: 'MustRunAs' } }, false],
    [{ supplementalGroups: { rule: 'MayRunAs', ranges: [] } }, false],
    [{ seLinux: { rule: 'MustRunAs' } }, false],
  ])('%j can be evaluated: %s', (spec, expected) => {
    expect(isUsable(policy(spec))).toBe(expected);
  });
});
