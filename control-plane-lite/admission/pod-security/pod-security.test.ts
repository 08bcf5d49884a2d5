import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { violationsOf } from './evaluate.ts';
import { formatLevel, isPrivileged, LATEST, type Level, labelErrors, policyOf } from './levels.ts';

const words = VOCABULARIES.plat;
const label = (mode: string): string => `pod-security.${words.domain}/${mode}`;

/** Pod that satisfies the restricted level. */
const GOOD = {
  allowPrivilegeEscalation: false,
  runAsNonRoot: true,
  seccompProfile: { type: 'RuntimeDefault' },
  capabilities: { drop: ['ALL'] },
} as const;

const podOf = (container: object = {}, spec: object = {}, annotations = {}): Pod => ({
  metadata: { annotations },
  spec: { containers: [{ name: 'c', securityContext: GOOD, ...container }], ...spec },
});
const context = (securityContext: object): object => ({ securityContext: { ...GOOD, ...securityContext } });
const look = (pod: Pod, level: Level, minor = LATEST): string | undefined =>
  violationsOf(pod, { level, minor }, words);

describe('violationsOf', () => {
  test.each<Level>(['privileged', 'baseline', 'restricted'])(
    'nothing is wrong with a good pod: %s',
    (level) => expect(look(podOf(), level)).toBeUndefined(),
  );

  test.each<[string, Pod]>([
    ['host namespaces (hostNetwork=true, hostPID=true)', podOf({}, { hostNetwork: true, hostPID: true })],
    [
      'privileged (container "c" must not set securityContext.privileged=true)',
      podOf(context({ privileged: true })),
    ],
    ['non-default capabilities', podOf(context({ capabilities: { drop: ['ALL'], add: ['SYS_ADMIN'] } }))],
    ['hostPath volumes (volume "v")', podOf({}, { volumes: [{ name: 'v', hostPath: { path: '/' } }] })],
    ['hostPort', podOf({ ports: [{ containerPort: 80, hostPort: 80 }] })],
    ['forbidden AppArmor profile', podOf({}, {}, { [`${words.appArmorContainerPrefix}c`]: 'unconfined' })],
    ['seLinuxOptions', podOf(context({ seLinuxOptions: { type: 'spc_t' } }))],
    ['seLinuxOptions (pod', podOf({}, { securityContext: { seLinuxOptions: { user: 'u' } } })],
    ['procMount', podOf(context({ procMount: 'Unmasked' }))],
    ['seccompProfile', podOf(context({ seccompProfile: { type: 'Unconfined' } }))],
    [
      'forbidden sysctls (kernel.msgmax)',
      podOf({}, { securityContext: { sysctls: [{ name: 'kernel.msgmax' }] } }),
    ],
    ['hostProcess', podOf(context({ windowsOptions: { hostProcess: true } }))],
  ])('baseline: %s', (text, pod) => {
    expect(look(pod, 'privileged')).toBeUndefined();
    expect(look(pod, 'baseline')).toContain(text);
    expect(look(pod, 'restricted')).toContain(text);
  });

  test.each<[string, Pod]>([
    ['allowPrivilegeEscalation != false', podOf(context({ allowPrivilegeEscalation: undefined }))],
    ['unrestricted capabilities', podOf(context({ capabilities: {} }))],
    ['unrestricted capabilities', podOf(context({ capabilities: { drop: ['ALL'], add: ['CHOWN'] } }))],
    ['restricted volume types (volume "v"', podOf({}, { volumes: [{ name: 'v', nfs: {} }] })],
    ['runAsNonRoot != true (pod or container "c"', podOf(context({ runAsNonRoot: undefined }))],
    [
      'runAsNonRoot != true',
      podOf(context({ runAsNonRoot: false }), { securityContext: { runAsNonRoot: true } }),
    ],
    ['runAsUser=0', podOf(context({ runAsUser: 0 }))],
    ['seccompProfile (pod or container "c"', podOf(context({ seccompProfile: undefined }))],
  ])('restricted: %s', (text, pod) => {
    expect(look(pod, 'baseline')).toBeUndefined();
    expect(look(pod, 'restricted')).toContain(text);
  });

  test("the pod's fields apply to containers without their own", () => {
    const securityContext = { runAsNonRoot: true, seccompProfile: { type: 'Localhost' } };
    const bare = context({ runAsNonRoot: undefined, seccompProfile: undefined });
    expect(look(podOf(bare, { securityContext }), 'restricted')).toBeUndefined();
  });

  test('init and ephemeral containers count as well', () => {
    const bad = (name: string) => ({ name, securityContext: { ...GOOD, privileged: true } });
    const spec = { initContainers: [bad('i')], ephemeralContainers: [bad('e')] };
    expect(look(podOf({}, spec), 'baseline')).toContain('containers "i", "e" must not set');
  });

  test('a level is as it was in its release', () => {
    const root = podOf(context({ runAsUser: 0 }));
    expect([look(root, 'restricted', 22), look(root, 'restricted', 23)]).toEqual([
      undefined,
      expect.stringContaining('runAsUser=0'),
    ]);
  });
});

describe('labels of namespaces', () => {
  test('none: everything goes', () => expect(isPrivileged(policyOf({}, words))).toBe(true));

  test('set the level of each mode, and its release', () => {
    const policy = policyOf(
      { [label('enforce')]: 'baseline', [label('warn')]: 'restricted', [label('warn-version')]: 'v1.22' },
      words,
    );
    expect([formatLevel(policy.enforce), formatLevel(policy.warn), formatLevel(policy.audit)]).toEqual([
      'baseline:latest',
      'restricted:v1.22',
      'privileged:latest',
    ]);
  });

  test('an unknown level enforces the most restrictive one', () => {
    const policy = policyOf({ [label('enforce')]: 'strict', [label('warn')]: 'strict' }, words);
    expect([policy.enforce.level, policy.warn.level]).toEqual(['restricted', 'privileged']);
  });

  test.each([
    [{ [label('enforce')]: 'strict' }, 1],
    [{ [label('enforce')]: 'baseline', [label('enforce-version')]: '1.2' }, 1],
    [{ [label('audit')]: 'restricted', [label('audit-version')]: 'latest' }, 0],
    [{ other: 'strict' }, 0],
  ])('%j has so many errors: %i', (labels, count) => {
    expect(labelErrors(labels, words)).toHaveLength(count);
  });
});
