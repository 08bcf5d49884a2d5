import { expect, test } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { OWNER, testPod, withAnnotations } from '../runtime/config/pod.fixture.ts';
import {
  containerAnnotations,
  containerLabels,
  ownerSelector,
  parseContainerLabels,
  parseSandboxLabels,
  sandboxAnnotations,
  sandboxLabels,
} from './labels.ts';

const PREFIX = OWNER.vocabulary.criPrefix;
const pod = testPod({ terminationGracePeriodSeconds: 5 });
const preStop = { httpGet: { path: '/bye', port: 'http', scheme: 'HTTP' as const, httpHeaders: [] } };
const facts = {
  kind: 'init' as const,
  hash: 'abc',
  attempt: 3,
  terminationMessagePath: '/dev/termination-log',
  terminationMessagePolicy: 'FallbackToLogsOnError' as const,
  lifecycle: { preStop },
  ports: [{ name: 'http', containerPort: 8080 }],
};

test('sandbox labels carry the pod, its labels and the owner', () => {
  expect(sandboxLabels(OWNER, pod)).toEqual({
    tier: 'front',
    [`${PREFIX}.pod.name`]: 'web',
    [`${PREFIX}.pod.namespace`]: 'shop',
    [`${PREFIX}.pod.uid`]: 'uid-1',
    [`${PREFIX}.nodeagent.instance`]: 'node-7f3a',
  });
});

test('a pod label never takes the place of an owner label', () => {
  const thief = { ...pod, metadata: { ...pod.metadata, labels: { [`${PREFIX}.pod.uid`]: 'other' } } };
  expect(sandboxLabels(OWNER, thief)[`${PREFIX}.pod.uid`]).toBe('uid-1');
});

test('sandbox annotations are the pod annotations', () => {
  expect(sandboxAnnotations(OWNER, withAnnotations(pod, { a: 'b' }))).toEqual({ a: 'b' });
  const placed = { ...OWNER, rootDir: '/r', node: 'n' };
  expect(Object.values(sandboxAnnotations(placed, pod)).sort()).toEqual(expect.arrayContaining(['/r', 'n']));
});

test('the owner selector matches the labels', () => {
  expect(sandboxLabels(OWNER, pod)).toMatchObject(ownerSelector(OWNER));
  expect(containerLabels(OWNER, pod, 'app')).toMatchObject(ownerSelector(OWNER));
});

test('sandbox labels read back', () => {
  expect(parseSandboxLabels(OWNER, sandboxLabels(OWNER, pod))).toEqual({
    podUID: 'uid-1',
    podNamespace: 'shop',
    podName: 'web',
  });
});

test('container labels and annotations read back', () => {
  const labels = containerLabels(OWNER, pod, 'app');
  expect(parseContainerLabels(OWNER, labels, containerAnnotations(OWNER, pod, facts))).toEqual({
    podUID: 'uid-1',
    podNamespace: 'shop',
    podName: 'web',
    containerName: 'app',
    kind: 'init',
    hash: 'abc',
    restartCount: 3,
    terminationMessagePath: '/dev/termination-log',
    terminationMessagePolicy: 'FallbackToLogsOnError',
    podTerminationGracePeriodSeconds: 5,
    preStop,
    ports: [{ name: 'http', containerPort: 8080 }],
  });
});

test.each([
  ['another instance', { ...OWNER, instance: 'node-other' }],
  ['another vocabulary', { ...OWNER, vocabulary: VOCABULARIES.kubernetes }],
])('ignores objects of %s', (_, owner) => {
  expect(parseSandboxLabels(OWNER, sandboxLabels(owner, pod))).toBeUndefined();
  expect(parseContainerLabels(OWNER, containerLabels(owner, pod, 'app'), {})).toBeUndefined();
});

test('a sandbox does not parse as a container', () => {
  expect(parseContainerLabels(OWNER, sandboxLabels(OWNER, pod), {})).toBeUndefined();
});

test.each(['{', '[]', '"x"', '{"exec":{"command":"ls"}}', '{"httpGet":{}}', '{"tcpSocket":{}}'])(
  'a damaged preStop handler %s reads as absent',
  (text) => {
    const parsed = parseContainerLabels(OWNER, containerLabels(OWNER, pod, 'app'), {
      [`${PREFIX}.container.preStopHandler`]: text,
      [`${PREFIX}.container.restartCount`]: '-1',
      [`${PREFIX}.container.ports`]: text,
    });
    expect(parsed).toMatchObject({ preStop: undefined, restartCount: 0, ports: [], kind: 'app' });
  },
);
