import { describe, expect, test } from 'vitest';
import { ATTACH_MS, type AttachInput, decideAttachments, FORCE_DETACH_MS, type Place } from './decide.ts';
import type { Attachable, Attachment, UsingPod } from './model.ts';

const NOW_MS = 10_000_000;

const CSI: Attachable = {
  unique: 'x.io/csi/d^h',
  label: 'pv-1',
  exclusive: true,
  attacher: { driver: 'd', handle: 'h', source: { persistentVolumeName: 'pv-1' } },
};
const { attacher: _csi, ...ISCSI } = CSI;

const podOf = (name: string, more: Partial<UsingPod> = {}): UsingPod => ({
  key: `ns/${name}`,
  namespace: 'ns',
  name,
  uid: name,
  nodeName: '',
  createdMs: 0,
  ended: false,
  uses: [],
  ...more,
});

const attachment = (nodeName: string, more: Partial<Attachment> = {}): Attachment => ({
  name: `csi-${nodeName}`,
  uid: 'u',
  nodeName,
  volumeName: 'pv-1',
  inline: '',
  attached: true,
  deleting: false,
  createdMs: NOW_MS,
  ...more,
});

const NODE = { managed: true, outOfService: false, inUse: false, reported: false };

const place = (nodeName: string, more: Partial<Place> = {}): Place => ({
  nodeName,
  node: NODE,
  pods: [],
  unwantedSinceMs: 0,
  ...more,
});

const { node: _node, ...GONE } = place('a');

const decide = (places: readonly Place[], more: Partial<AttachInput> = {}): readonly string[] => {
  const { actions, recheckMs } = decideAttachments({
    volume: CSI,
    places,
    monotonicMs: 0,
    nowMs: NOW_MS,
    trustOutOfService: false,
    ...more,
  });
  const recordedMark = actions.map((action) => {
    const forced = 'forced' in action && action.forced ? ' by force' : '';
    const mark = 'mark' in action ? `: ${action.mark}` : '';
    return `${action.kind} ${action.nodeName}${forced}${mark}`;
  });
  return [...recordedMark, ...(recheckMs === undefined ? [] : [`again in ${recheckMs}`])];
};

const one = [podOf('p')];
const reported = { ...NODE, reported: true };
const inUse = { ...reported, inUse: true };
const stuck = { deleting: true, detachError: { time: 't', message: 'busy' } };
const failed = { attached: false, error: { time: 't', message: 'no' } };

describe('decideAttachments, of a volume that is wanted', () => {
  test.each<[string, readonly Place[], readonly string[]]>([
    ['requests attachment', [place('a', { pods: one })], ['attach a']],
    [
      'waits for the attacher',
      [place('a', { pods: one, attachment: attachment('a', { attached: false }) })],
      [`again in ${ATTACH_MS}`],
    ],
    [
      'reports a slow attacher at each time-out',
      [
        place('a', {
          pods: one,
          attachment: attachment('a', { attached: false, createdMs: NOW_MS - 2 * ATTACH_MS - 5 }),
        }),
      ],
      ['recordPodEvents a: late 2', `again in ${ATTACH_MS - 5}`],
    ],
    [
      'reports the failure of the attacher',
      [place('a', { pods: one, attachment: attachment('a', failed) })],
      ['recordPodEvents a: error t no'],
    ],
    ['reports to the node', [place('a', { pods: one, attachment: attachment('a') })], ['report a']],
    ['is done then', [place('a', { pods: one, node: reported, attachment: attachment('a') })], []],
    [
      'removes it from the node status when another client detaches it',
      [place('a', { pods: one, node: inUse, attachment: attachment('a', { deleting: true }) })],
      ['unreport a by force'],
    ],
    [
      'reports why it cannot be detached',
      [place('a', { pods: one, attachment: attachment('a', stuck) })],
      ['recordNodeEvent a: detach error t busy'],
    ],
    ['requests attachment again after its deletion', [place('a', { pods: one, node: inUse })], ['attach a']],
    [
      'leaves nodes alone that attach by themselves',
      [place('a', { pods: one, node: { ...NODE, managed: false } })],
      [],
    ],
    ['does not attach to a missing node', [{ ...GONE, pods: one }], []],
  ])('%s', (_, places, expected) => {
    expect(decide(places)).toEqual(expected);
  });

  test.each<[string, readonly Place[], readonly string[]]>([
    [
      'gives it to the one who has waited for longest',
      [
        place('a', { pods: [podOf('p', { createdMs: 5 })] }),
        place('b', { pods: [podOf('q', { createdMs: 4 })] }),
      ],
      ['attach b', 'recordPodEvents a: multi-attach'],
    ],
    [
      'leaves it where it is',
      [place('a', { pods: one, attachment: attachment('a') }), place('b', { pods: one })],
      ['report a', 'recordPodEvents b: multi-attach'],
    ],
    [
      'waits until it is detached elsewhere',
      [place('a', { attachment: attachment('a', { deleting: true }) }), place('b', { pods: one })],
      ['recordPodEvents b: multi-attach'],
    ],
    [
      'counts volumes that another node has attached by itself',
      [
        place('a', { node: { ...NODE, managed: false }, attachment: attachment('a') }),
        place('b', { pods: one }),
      ],
      ['recordPodEvents b: multi-attach'],
    ],
  ])('for one node: %s', (_, places, expected) => {
    expect(decide(places)).toEqual(expected);
  });

  test('for many nodes: attaches to all', () => {
    const places = [place('a', { pods: one }), place('b', { pods: one })];
    expect(decide(places, { volume: { ...CSI, exclusive: false } })).toEqual(['attach a', 'attach b']);
  });

  test('without an attacher: reports to one node only', () => {
    const places = [place('a', { pods: one }), place('b', { pods: one })];
    expect(decide(places, { volume: ISCSI })).toEqual(['report a', 'recordPodEvents b: multi-attach']);
    expect(decide([place('a', { node: reported }), place('b', { pods: one })], { volume: ISCSI })).toEqual([
      'recordPodEvents b: multi-attach',
      'unreport a',
    ]);
  });
});

describe('decideAttachments, of a volume without users', () => {
  const held = { attachment: attachment('a') };
  test.each<[string, Place, Partial<AttachInput>, readonly string[]]>([
    ['is detached', place('a', { node: reported, ...held }), {}, ['detach a']],
    [
      'waits while it is in use',
      place('a', { node: inUse, ...held }),
      { monotonicMs: 60_000 },
      ['again in 300000'],
    ],
    [
      'is taken away after six minutes all the same',
      place('a', { node: inUse, ...held }),
      { monotonicMs: FORCE_DETACH_MS },
      ['detach a by force'],
    ],
    [
      'waits for a node that is out of service, unless its taint counts',
      place('a', { node: { ...inUse, outOfService: true }, ...held }),
      {},
      [`again in ${FORCE_DETACH_MS}`],
    ],
    [
      'is taken away from a node that is out of service',
      place('a', { node: { ...inUse, outOfService: true }, ...held }),
      { trustOutOfService: true },
      ['detach a by force'],
    ],
    ['waits for a missing node', { ...GONE, ...held }, {}, [`again in ${FORCE_DETACH_MS}`]],
    [
      'is taken away from it in the end',
      { ...GONE, ...held },
      { monotonicMs: FORCE_DETACH_MS },
      ['detach a by force'],
    ],
    ['is left to the attacher', place('a', { attachment: attachment('a', { deleting: true }) }), {}, []],
    [
      'and the error of the attacher is recorded',
      place('a', { node: reported, attachment: attachment('a', stuck) }),
      {},
      ['unreport a by force', 'recordNodeEvent a: detach error t busy'],
    ],
    ['is no longer reported', place('a', { node: reported }), {}, ['unreport a']],
    [
      'stays on a node that detaches by itself',
      place('a', { node: { ...reported, managed: false }, ...held }),
      { monotonicMs: FORCE_DETACH_MS },
      [],
    ],
  ])('%s', (_, seen, more, expected) => {
    expect(decide([seen], more)).toEqual(expected);
  });
});

describe('events of pods that wait for another node', () => {
  const messages = (...others: readonly UsingPod[]): readonly string[] => {
    const places = [place('a', { pods: others, attachment: attachment('a') }), place('b', { pods: one })];
    const { actions } = decideAttachments({
      volume: CSI,
      places,
      monotonicMs: 0,
      nowMs: NOW_MS,
      trustOutOfService: false,
    });
    return actions.flatMap((action) =>
      action.kind === 'recordPodEvents' ? action.messages.map(({ message }) => message) : [],
    );
  };
  const START = 'Multi-Attach error for volume "pv-1" Volume is already';
  const far = podOf('secret', { namespace: 'other' });

  test.each<[string, readonly UsingPod[], string]>([
    ['no pod', [], `${START} exclusively attached to one node and can't be attached to another`],
    ['pods of their own namespace', [podOf('x'), podOf('y')], `${START} used by pod(s) x, y`],
    [
      'pods in other namespaces, without their names',
      [far],
      `${START} used by 1 pod(s) in different namespaces`,
    ],
    ['both', [podOf('x'), far], `${START} used by pod(s) x and 1 pod(s) in different namespaces`],
  ])('names %s', (_, others, expected) => {
    expect(messages(...others)).toEqual([expected]);
  });
});
