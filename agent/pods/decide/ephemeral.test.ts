import { describe, expect, test } from 'vitest';
import type { Pod } from '#api/gen/core-v1.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { decode } from '#api/schema/decode.ts';
import { applyDefaults } from '#api/schema/defaults.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { addEphemeralContainer, withEphemeralContainersOf } from './ephemeral.ts';

const options = { vocabulary: VOCABULARIES.plat };
const { value: decoded } = decode<Pod>('core/v1.Pod', {
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: {
    volumes: [{ name: 'data', emptyDir: {} }],
    containers: [{ name: 'app', image: 'app:1' }],
    initContainers: [{ name: 'setup', image: 'app:1' }],
  },
});
const base = applyDefaults('core/v1.Pod', decoded);
const debug = { name: 'debug', image: 'tools' };

/** `FieldValueInvalid spec.x` for each validation error of the container. */
function errorsOf(pod: Pod, value: unknown): readonly string[] {
  try {
    addEphemeralContainer(pod, value, options);
    return [];
  } catch (thrown) {
    if (!(thrown instanceof StatusError) || thrown.reason !== 'Invalid') throw thrown;
    return thrown.errors.map(({ kind, field }) => `${kind} ${field}`);
  }
}

describe('addEphemeralContainer', () => {
  test('adds the container with its defaults and changes nothing else', () => {
    const pod = addEphemeralContainer(base, { ...debug, targetContainerName: 'app', stdin: true }, options);
    const { ephemeralContainers, ...rest } = pod.spec ?? {};
    expect(rest).toEqual(base.spec);
    expect(pod.metadata).toEqual(base.metadata);
    expect(ephemeralContainers).toEqual([
      {
        ...debug,
        targetContainerName: 'app',
        stdin: true,
        imagePullPolicy: 'Always',
        terminationMessagePath: '/dev/termination-log',
        terminationMessagePolicy: 'File',
      },
    ]);
  });

  test('appends to existing ones', () => {
    const two = addEphemeralContainer(
      addEphemeralContainer(base, debug, options),
      { ...debug, name: 'second', volumeMounts: [{ name: 'data', mountPath: '/d' }] },
      options,
    );
    expect(two.spec?.ephemeralContainers?.map(({ name }) => name)).toEqual(['debug', 'second']);
  });

  const at = 'spec.ephemeralContainers[0]';
  test.each<[what: string, value: unknown, errors: readonly string[]]>([
    ['that is no object', 'debug', [`FieldValueTypeInvalid ${at}`]],
    ['without a name', { image: 'tools' }, [`FieldValueRequired ${at}.name`]],
    ['without an image', { name: 'debug' }, [`FieldValueRequired ${at}.image`]],
    ['with an unknown field', { ...debug, imagee: 'x' }, [`FieldUnknown ${at}.imagee`]],
    ['with the name of an app container', { ...debug, name: 'app' }, [`FieldValueDuplicate ${at}.name`]],
    ['with the name of an init container', { ...debug, name: 'setup' }, [`FieldValueDuplicate ${at}.name`]],
    [
      'with a target that is not there',
      { ...debug, targetContainerName: 'gone' },
      [`FieldValueNotFound ${at}.targetContainerName`],
    ],
    [
      'with a volume that is not there',
      { ...debug, volumeMounts: [{ name: 'gone', mountPath: '/d' }] },
      [`FieldValueNotFound ${at}.volumeMounts[0].name`],
    ],
    [
      'with what only other containers may have',
      {
        ...debug,
        ports: [{ containerPort: 80 }],
        resources: { limits: { cpu: '1' } },
        livenessProbe: { exec: { command: ['x'] } },
        lifecycle: { preStop: { exec: { command: ['x'] } } },
      },
      ['livenessProbe', 'lifecycle', 'ports', 'resources'].map(
        (member) => `FieldValueForbidden ${at}.${member}`,
      ),
    ],
  ])('rejects one %s', (_what, value, errors) => {
    expect(errorsOf(base, value)).toEqual(errors);
  });

  test('rejects a duplicate name with the field path', () => {
    const pod = addEphemeralContainer(base, debug, options);
    expect(errorsOf(pod, debug)).toEqual(['FieldValueDuplicate spec.ephemeralContainers[1].name']);
  });
});

describe('withEphemeralContainersOf', () => {
  const added = addEphemeralContainer(base, debug, options);
  const own = addEphemeralContainer(base, { ...debug, image: 'other' }, options);

  test.each([
    ['nothing to a pod that had none', base, base, base],
    ['what was added', base, added, added],
    ['nothing that the pod has itself', own, added, own],
  ])('adds %s', (_what, pod, earlier, expected) => {
    expect(withEphemeralContainersOf(pod, earlier)).toEqual(expected);
  });
});
