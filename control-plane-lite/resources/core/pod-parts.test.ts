import { describe, expect, test } from 'vitest';
import { StatusError } from '#api/meta/status-error.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiObject } from '../contract.ts';
import { podKind } from './pod.ts';
import { bindPod, checkBinding } from './pod-binding.ts';
import { disrupts, readEviction } from './pod-eviction.ts';
import { changed, contextWith, NOW, NOW_MS, objectOf, updateFaultsOf } from './strategy.fixture.ts';

const KIND = podKind(VOCABULARIES.plat);
const BINDING_TERMS = { nowMs: NOW_MS, vocabulary: VOCABULARIES.plat };
const BASE = {
  metadata: { name: 'web', namespace: 'default', uid: 'u1', resourceVersion: '5' },
  spec: { containers: [{ name: 'app', image: 'app:1' }] },
};
const podWith = (changes: object = {}): ApiObject => objectOf('core/v1.Pod', changed(BASE, changes));

const container = (state: object, name = 'app'): object => ({
  name,
  state,
  ready: false,
  restartCount: 0,
  image: '',
  imageID: '',
});
const ENDED = { terminated: { exitCode: 0 } };
const FAILED = { terminated: { exitCode: 1 } };
const RUNNING = { running: {} };

describe('the status part', () => {
  test('changes the status and labels, not the spec nor owners', () => {
    const old = podWith({ status: { phase: 'Pending' } });
    const draft = podWith({
      metadata: {
        labels: { a: 'b' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'X', name: 'x', uid: 'u' }],
      },
      spec: { nodeName: 'elsewhere' },
      status: { phase: 'Running' },
    });
    KIND.parts?.['status']?.prepareForUpdate(draft, old, contextWith());
    expect(draft['spec']).toEqual(old['spec']);
    expect(draft.metadata.ownerReferences).toBeUndefined();
    expect(draft.metadata.labels).toEqual({ a: 'b' });
    expect(draft['status']).toEqual({ phase: 'Running' });
  });

  test.each([
    [{ podIP: '10.0.0.1' }, { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] }],
    [{ podIPs: [{ ip: '10.0.0.1' }] }, { podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }] }],
    [
      { podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.1' }] },
      { podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.2' }] },
    ],
    [{}, {}],
  ])('keeps podIP and podIPs of %j in step', (status, aligned) => {
    const draft = podWith({ status });
    KIND.parts?.['status']?.prepareForUpdate(draft, podWith(), contextWith());
    expect(draft['status'] ?? {}).toEqual(aligned);
  });

  test.each<[string, string, object, object, readonly string[]]>([
    ['Always', 'containerStatuses', ENDED, RUNNING, []],
    ['Never', 'containerStatuses', ENDED, RUNNING, ['FieldValueForbidden status.containerStatuses[0].state']],
    [
      'Never',
      'containerStatuses',
      FAILED,
      RUNNING,
      ['FieldValueForbidden status.containerStatuses[0].state'],
    ],
    ['Never', 'containerStatuses', FAILED, ENDED, []],
    ['Never', 'containerStatuses', RUNNING, ENDED, []],
    ['OnFailure', 'containerStatuses', FAILED, RUNNING, []],
    [
      'OnFailure',
      'containerStatuses',
      ENDED,
      RUNNING,
      ['FieldValueForbidden status.containerStatuses[0].state'],
    ],
    [
      'Never',
      'initContainerStatuses',
      ENDED,
      RUNNING,
      ['FieldValueForbidden status.initContainerStatuses[0].state'],
    ],
    [
      'Always',
      'ephemeralContainerStatuses',
      ENDED,
      RUNNING,
      ['FieldValueForbidden status.ephemeralContainerStatuses[0].state'],
    ],
  ])('under policy %s lets %s go from %j to %j: %j', (restartPolicy, member, before, now, errors) => {
    const [old, pod] = [before, now].map((state) =>
      podWith({ spec: { restartPolicy }, status: { [member]: [container(state)] } }),
    );
    expect(updateFaultsOf(KIND, pod as ApiObject, old as ApiObject, 'status')).toEqual(errors);
  });

  test.each<[string, object, readonly string[]]>([
    ['takes one address of each family', { podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] }, []],
    ['checks addresses', { podIPs: [{ ip: 'x' }] }, ['FieldValueInvalid status.podIPs[0]']],
    [
      'takes no two of one family',
      { podIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.2' }] },
      ['FieldValueInvalid status.podIPs'],
    ],
    [
      'takes no address twice',
      { podIPs: [{ ip: '10.0.0.1' }, { ip: '10.0.0.1' }] },
      ['FieldValueDuplicate status.podIPs[1]', 'FieldValueInvalid status.podIPs'],
    ],
    [
      'checks the nominated node',
      { nominatedNodeName: 'A B' },
      ['FieldValueInvalid status.nominatedNodeName'],
    ],
    ['takes conditions of others', { conditions: [{ type: 'example.com/x', status: 'True' }] }, []],
    [
      'checks their names',
      { conditions: [{ type: 'a b', status: 'True' }] },
      ['FieldValueInvalid status.conditions[0].type'],
    ],
  ])('%s', (_, status, errors) => {
    expect(updateFaultsOf(KIND, podWith({ status }), podWith(), 'status')).toEqual(errors);
  });
});

describe('the ephemeralcontainers part', () => {
  const debug = { name: 'debug', image: 'debug:1' };
  const withDebug = (...ephemeralContainers: readonly object[]): ApiObject =>
    podWith({ spec: { ephemeralContainers } });

  test('changes nothing but those containers', () => {
    const draft = podWith({
      metadata: { labels: { a: 'b' }, resourceVersion: '9' },
      spec: { nodeName: 'elsewhere', ephemeralContainers: [debug] },
    });
    KIND.parts?.['ephemeralcontainers']?.prepareForUpdate(draft, podWith(), contextWith());
    expect(draft.metadata.labels).toBeUndefined();
    expect(draft.metadata.resourceVersion).toBe('9');
    expect(draft['spec']).toEqual((withDebug(debug) as { spec?: unknown }).spec);
  });

  test.each<[string, readonly object[], readonly object[], readonly string[]]>([
    ['adds', [], [debug], []],
    ['adds another', [debug], [debug, { ...debug, name: 'b' }], []],
    ['keeps what is there', [debug], [], ['FieldValueForbidden spec.ephemeralContainers']],
    ['changes none', [debug], [{ ...debug, image: 'x' }], ['FieldValueForbidden spec.ephemeralContainers']],
    [
      'checks names',
      [],
      [{ ...debug, name: 'app' }],
      ['FieldValueDuplicate spec.ephemeralContainers[0].name'],
    ],
    [
      'checks targets',
      [],
      [{ ...debug, targetContainerName: 'x' }],
      ['FieldValueNotFound spec.ephemeralContainers[0].targetContainerName'],
    ],
  ])('%s', (_, before, now, errors) => {
    expect(updateFaultsOf(KIND, withDebug(...now), withDebug(...before), 'ephemeralcontainers')).toEqual(
      errors,
    );
  });
});

describe('binding', () => {
  const bindingWith = (target: object, metadata: object = {}): ApiObject =>
    objectOf('core/v1.Binding', { metadata: { name: 'web', ...metadata }, target });

  const failure = (act: () => unknown): string => {
    try {
      act();
    } catch (thrown) {
      if (thrown instanceof StatusError) return `${thrown.code} ${thrown.message}`;
      throw thrown;
    }
    return 'none';
  };

  test('gives the pod its node, annotations and condition', () => {
    const draft = podWith({ metadata: { annotations: { a: '1' } } });
    const bound = bindPod(
      draft,
      bindingWith({ kind: 'Node', name: 'n1' }, { annotations: { b: '2' } }),
      BINDING_TERMS,
    );
    expect(bound['spec']).toMatchObject({ nodeName: 'n1' });
    expect(bound.metadata.annotations).toEqual({ a: '1', b: '2' });
    expect(bound['status']).toEqual({
      conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: NOW }],
    });
  });

  test.each([VOCABULARIES.plat.seccompPod, `${VOCABULARIES.plat.appArmorContainerPrefix}c`])(
    'does not bring the annotation %s',
    (key) => {
      const brought = bindingWith({ name: 'n1' }, { annotations: { [key]: 'unconfined' } });
      expect(failure(() => bindPod(podWith({}), brought, BINDING_TERMS))).toMatch(/may not/);
    },
  );

  test('replaces the condition of a pod that could not be scheduled', () => {
    const draft = podWith({
      status: {
        conditions: [
          { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no' },
          { type: 'x.io/y', status: 'True' },
        ],
      },
    });
    expect(bindPod(draft, bindingWith({ name: 'n1' }), BINDING_TERMS)['status']).toEqual({
      conditions: [
        { type: 'PodScheduled', status: 'True', lastTransitionTime: NOW },
        { type: 'x.io/y', status: 'True' },
      ],
    });
  });

  test.each<[string, object, object, RegExp]>([
    [
      'a bound pod',
      { spec: { nodeName: 'n0' } },
      {},
      /^409 .*pods\/binding "web": pod web is already assigned to node "n0"$/,
    ],
    [
      'a pod on its way out',
      { metadata: { deletionTimestamp: NOW } },
      {},
      /^409 .*pod web is being deleted, cannot be assigned to a host$/,
    ],
    ['another pod of that name', {}, { uid: 'u2' }, /^409 .*UID in precondition: u2/],
    ['a pod that changed', {}, { resourceVersion: '4' }, /^409 .*ResourceVersion in precondition: 4/],
    ['the pod that is meant', {}, { uid: 'u1', resourceVersion: '5' }, /^none$/],
  ])('meets %s', (_, changes, metadata, expected) => {
    expect(
      failure(() => bindPod(podWith(changes), bindingWith({ name: 'n1' }, metadata), BINDING_TERMS)),
    ).toMatch(expected);
  });

  test.each<[string, object, string, RegExp]>([
    ['a node', { kind: 'Node', name: 'n1' }, 'web', /^none$/],
    ['no name', { kind: 'Node' }, 'web', /^422 .*target\.name: Required value/],
    ['something else', { kind: 'Pod', name: 'p' }, 'web', /^422 .*target\.kind: Unsupported value: "Pod"/],
    ['another pod', { name: 'n1' }, 'db', /^400 name in URL does not match name in Binding object$/],
  ])('checks a target that is %s', (_, target, name, expected) => {
    expect(failure(() => checkBinding(bindingWith(target), name))).toMatch(expected);
  });
});

describe('eviction', () => {
  const eviction = (deleteOptions?: object): ApiObject => ({
    apiVersion: 'policy/v1',
    kind: 'Eviction',
    metadata: { name: 'web' },
    ...(deleteOptions === undefined ? {} : { deleteOptions }),
  });

  test('reads what deletion is asked for', () => {
    expect(readEviction(eviction(), 'web')).toEqual({ dryRun: false });
    const options = {
      dryRun: ['All'],
      gracePeriodSeconds: 0,
      preconditions: { uid: 'u' },
      propagationPolicy: 'Orphan',
    };
    expect(readEviction(eviction(options), 'web')).toEqual({ ...options, dryRun: true });
    expect(() => readEviction(eviction(), 'db')).toThrow('does not match');
  });

  test.each<[object, boolean]>([
    [{ status: { phase: 'Running' } }, true],
    [{ status: { phase: 'Unknown' } }, true],
    [{ status: { phase: 'Pending' } }, false],
    [{ status: { phase: 'Succeeded' } }, false],
    [{ status: { phase: 'Failed' } }, false],
    [{ metadata: { deletionTimestamp: NOW }, status: { phase: 'Running' } }, false],
  ])('of %j disrupts: %s', (changes, expected) => {
    expect(disrupts(podWith(changes))).toBe(expected);
  });
});
