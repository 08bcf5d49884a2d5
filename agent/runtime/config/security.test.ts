import { describe, expect, test } from 'vitest';
import type { PodSecurityContext, SecurityContext } from '#api/gen/core-v1.ts';
import { BASE_CONTAINER, SECURITY, testPod, withAnnotations } from './pod.fixture.ts';
import {
  containerSecurity,
  decideSeccomp,
  type ImageUser,
  nonRootError,
  type SecurityInput,
} from './security.ts';

interface Row {
  readonly pod?: PodSecurityContext;
  readonly own?: SecurityContext;
  readonly user?: ImageUser;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly rest?: Partial<SecurityInput>;
}

const inputOf = ({ pod = {}, own = {}, user = {}, annotations = {}, rest = {} }: Row): SecurityInput => {
  const container = { ...BASE_CONTAINER, securityContext: own };
  return {
    pod: withAnnotations(testPod({ securityContext: pod, containers: [container] }), annotations),
    container,
    imageUser: user,
    settings: SECURITY,
    ...rest,
  };
};

const contextOf = (row: Row) => {
  const result = containerSecurity(inputOf(row));
  if (result.kind === 'error') throw new Error(result.message);
  return result.context;
};

const APPARMOR = `${SECURITY.vocabulary.appArmorContainerPrefix}app`;

describe('containerSecurity', () => {
  test.each<[string, Row, object]>([
    ['root without anything', {}, { runAsUser: { value: 0n }, privileged: false, noNewPrivs: false }],
    ['the image user by number', { user: { uid: 7 } }, { runAsUser: { value: 7n } }],
    ['the image user by name', { user: { username: 'www' } }, { runAsUsername: 'www' }],
    [
      'the pod user over the image',
      { pod: { runAsUser: 5 }, user: { username: 'www' } },
      { runAsUser: { value: 5n } },
    ],
    [
      'the own user over the pod',
      { pod: { runAsUser: 5 }, own: { runAsUser: 0 } },
      { runAsUser: { value: 0n } },
    ],
    ['the pod group', { pod: { runAsGroup: 6 } }, { runAsUser: { value: 0n }, runAsGroup: { value: 6n } }],
    ['the own group', { pod: { runAsGroup: 6 }, own: { runAsGroup: 8 } }, { runAsGroup: { value: 8n } }],
    [
      'all groups',
      { pod: { fsGroup: 1, supplementalGroups: [2] }, rest: { extraSupplementalGroups: [3, 1] } },
      { supplementalGroups: [1n, 2n, 3n] },
    ],
    ['privileges', { own: { privileged: true } }, { privileged: true }],
    ['a read-only root', { own: { readOnlyRootFilesystem: true } }, { readonlyRootfs: true }],
    ['no new privileges', { own: { allowPrivilegeEscalation: false } }, { noNewPrivs: true }],
    [
      'capabilities',
      { own: { capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] } } },
      { capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] } },
    ],
    ['SELinux of the pod', { pod: { seLinuxOptions: { level: 's0' } } }, { selinuxOptions: { level: 's0' } }],
    [
      'SELinux of its own as a whole',
      { pod: { seLinuxOptions: { level: 's0' } }, own: { seLinuxOptions: { type: 't' } } },
      { selinuxOptions: { type: 't' } },
    ],
    [
      'AppArmor default',
      { annotations: { [APPARMOR]: 'runtime/default' } },
      { apparmorProfile: 'runtime/default', apparmor: { profileType: 'RuntimeDefault' } },
    ],
    [
      'AppArmor localhost',
      { annotations: { [APPARMOR]: 'localhost/p' } },
      { apparmorProfile: 'localhost/p', apparmor: { profileType: 'Localhost', localhostRef: 'p' } },
    ],
    [
      'the target of an ephemeral container',
      { rest: { targetContainerId: 'c1' } },
      { namespaceOptions: { pid: 'TARGET', targetId: 'c1' } },
    ],
    [
      'an unmasked /proc with its gate',
      { own: { procMount: 'Unmasked' }, rest: { settings: { ...SECURITY, procMountType: true } } },
      { maskedPaths: [], readonlyPaths: [] },
    ],
  ])('gives %s', (_, row, expected) => {
    expect(contextOf(row)).toMatchObject(expected);
  });

  test('masks /proc, also when unmasking is not allowed', () => {
    for (const own of [{}, { procMount: 'Unmasked' as const }]) {
      const context = contextOf({ own });
      expect(context.maskedPaths).toContain('/proc/kcore');
      expect(context.readonlyPaths).toContain('/proc/sys');
    }
  });

  test('sets no user number beside a user name', () => {
    expect(contextOf({ user: { username: 'www' } })).not.toHaveProperty('runAsUser');
  });
});

describe('nonRootError', () => {
  const wanted = { runAsNonRoot: true };
  test.each<[string, Row, RegExp | undefined]>([
    ['allows root by default', {}, undefined],
    ['allows a numbered image user', { own: wanted, user: { uid: 7 } }, undefined],
    ['allows runAsUser over a root image', { own: { ...wanted, runAsUser: 7 } }, undefined],
    [
      'allows runAsUser over a named user',
      { own: { ...wanted, runAsUser: 7 }, user: { username: 'x' } },
      undefined,
    ],
    ['lets the container override it', { pod: wanted, own: { runAsNonRoot: false } }, undefined],
    [
      'rejects runAsUser 0',
      { own: { ...wanted, runAsUser: 0 } },
      /runAsUser is 0 \(container app of pod shop\/web\)/,
    ],
    ['rejects runAsUser 0 of the pod', { pod: { ...wanted, runAsUser: 0 } }, /runAsUser is 0/],
    ['rejects an image without user', { own: wanted }, /image will run as root/],
    ['rejects a root image', { own: wanted, user: { uid: 0 } }, /image will run as root/],
    ['rejects a named user', { pod: wanted, user: { username: 'www' } }, /non-numeric user "www"/],
  ])('%s', (_, row, expected) => {
    const input = inputOf(row);
    const error = nonRootError(input.pod, input.container, input.imageUser);
    expect(error ?? 'allowed').toMatch(expected ?? /^allowed$/);
    expect(containerSecurity(input).kind).toBe(expected === undefined ? 'ok' : 'error');
  });
});

describe('decideSeccomp', () => {
  const CONTAINER_KEY = `${SECURITY.vocabulary.seccompContainerPrefix}app`;
  const POD_KEY = SECURITY.vocabulary.seccompPod;
  const localhost = (localhostRef: string): object => ({ profileType: 'Localhost', localhostRef });
  const DEFAULT = { profileType: 'RuntimeDefault', localhostRef: '' };
  const NONE = { profileType: 'Unconfined', localhostRef: '' };

  test.each<[string, Row, object]>([
    ['nothing', {}, NONE],
    ['the node default', { rest: { settings: { ...SECURITY, seccompDefault: true } } }, DEFAULT],
    [
      'Unconfined over the node default',
      {
        own: { seccompProfile: { type: 'Unconfined' } },
        rest: { settings: { ...SECURITY, seccompDefault: true } },
      },
      NONE,
    ],
    [
      'its own field',
      { own: { seccompProfile: { type: 'RuntimeDefault' } }, annotations: { [CONTAINER_KEY]: 'unconfined' } },
      DEFAULT,
    ],
    [
      'its own annotation',
      { annotations: { [CONTAINER_KEY]: 'docker/default', [POD_KEY]: 'unconfined' } },
      DEFAULT,
    ],
    [
      'the pod field, regardless of its own annotation',
      { pod: { seccompProfile: { type: 'RuntimeDefault' } }, annotations: { [CONTAINER_KEY]: 'unconfined' } },
      DEFAULT,
    ],
    [
      'the pod field',
      { pod: { seccompProfile: { type: 'RuntimeDefault' } }, annotations: { [POD_KEY]: 'unconfined' } },
      DEFAULT,
    ],
    [
      'the pod annotation',
      { annotations: { [POD_KEY]: 'localhost/a/b.json' } },
      localhost('/var/lib/nodeagent/seccomp/a/b.json'),
    ],
    [
      'a localhost profile',
      { own: { seccompProfile: { type: 'Localhost', localhostProfile: 'p.json' } } },
      localhost('/var/lib/nodeagent/seccomp/p.json'),
    ],
  ])('uses %s', (_, row, profile) => {
    const { pod, container, settings } = inputOf(row);
    expect(decideSeccomp(pod, container, settings)).toEqual({ kind: 'ok', profile });
  });

  test.each<[string, Row]>([
    ['no path', { own: { seccompProfile: { type: 'Localhost' } } }],
    ['an empty path', { own: { seccompProfile: { type: 'Localhost', localhostProfile: '' } } }],
    ['an empty path in an annotation', { annotations: { [CONTAINER_KEY]: 'localhost/' } }],
    ['a way out', { own: { seccompProfile: { type: 'Localhost', localhostProfile: 'a/../../b' } } }],
    ['an absolute path', { own: { seccompProfile: { type: 'Localhost', localhostProfile: '/etc/p' } } }],
    ['an unknown word', { annotations: { [POD_KEY]: 'whatever' } }],
  ])('rejects %s', (_, row) => {
    const { pod, container, settings } = inputOf(row);
    expect(decideSeccomp(pod, container, settings)).toMatchObject({ kind: 'error' });
    expect(containerSecurity(inputOf(row))).toMatchObject({ kind: 'error' });
  });

  test('is also given as a path, for older runtimes', () => {
    const seccompProfile = { type: 'Localhost' as const, localhostProfile: 'p' };
    expect(contextOf({ own: { seccompProfile } }).seccompProfilePath).toBe(
      'localhost//var/lib/nodeagent/seccomp/p',
    );
  });
});

test.each([
  ['runtime/default', true, 'ok'],
  ['runtime/default', false, 'error'],
  ['unconfined', false, 'ok'],
])('with AppArmor profile %s and the feature gate %s the result is %s', (profile, appArmor, kind) => {
  const input = inputOf({
    annotations: { [APPARMOR]: profile },
    rest: { settings: { ...SECURITY, appArmor } },
  });
  expect(containerSecurity(input).kind).toBe(kind);
});
