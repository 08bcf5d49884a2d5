/** The attach protocol as a whole: controller, attacher and nodes take steps in any order. A mounted volume
 *  must be attached, a disk is on one node only, and the final state follows the pods. */
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type AttachAction, decideAttachments, type Place } from './decide.ts';
import type { Attachable, UsingPod } from './model.ts';

const NODES = ['a', 'b', 'c'] as const;
type NodeName = (typeof NODES)[number];

interface SimNode {
  pods: number;
  inUse: boolean;
  mounted: boolean;
  reported: boolean;
  attachment: 'none' | 'requested' | 'attached' | 'deleting';
}

const POD: UsingPod = {
  key: 'ns/p',
  namespace: 'ns',
  name: 'p',
  uid: 'u',
  nodeName: '',
  createdMs: 0,
  ended: false,
  uses: [],
};

const placeOf = (name: NodeName, { pods, inUse, reported, attachment }: SimNode): Place => ({
  nodeName: name,
  node: { managed: true, outOfService: false, inUse, reported },
  pods: Array.from({ length: pods }, () => ({ ...POD, nodeName: name })),
  unwantedSinceMs: 0,
  ...(attachment === 'none'
    ? {}
    : {
        attachment: {
          name,
          uid: name,
          nodeName: name,
          volumeName: 'v',
          inline: '',
          attached: attachment !== 'requested',
          deleting: attachment === 'deleting',
          createdMs: 0,
        },
      }),
});

/** Detaching is two writes: the node's, and the attachment's. */
type Write = AttachAction | { readonly kind: 'delete'; readonly nodeName: string };

interface Sim {
  readonly nodes: Readonly<Record<NodeName, SimNode>>;
  /** Decided but not yet executed. */
  readonly pending: Write[];
}

const begin = (): Sim => {
  const idle = (): SimNode => ({
    pods: 0,
    inUse: false,
    mounted: false,
    reported: false,
    attachment: 'none',
  });
  return { nodes: { a: idle(), b: idle(), c: idle() }, pending: [] };
};

const isNode = (name: string): name is NodeName => NODES.some((each) => each === name);

/** One write of the controller. */
function write({ nodes, pending }: Sim, action: Write): void {
  if (!isNode(action.nodeName)) return;
  const node = nodes[action.nodeName];
  switch (action.kind) {
    case 'attach':
      if (node.attachment === 'none') node.attachment = 'requested';
      return;
    case 'report':
      node.reported = true;
      return;
    case 'unreport':
      if (action.forced || !node.inUse) node.reported = false;
      return;
    case 'detach':
      if (node.inUse) return;
      node.reported = false;
      // The second write comes later, whatever happens in between.
      pending.unshift({ kind: 'delete', nodeName: action.nodeName });
      return;
    case 'delete':
      if (node.attachment !== 'none') node.attachment = 'deleting';
      return;
    case 'recordPodEvents':
    case 'recordNodeEvent':
      return;
    default:
      action satisfies never;
  }
}

function control(sim: Sim, volume: Attachable): void {
  const next = sim.pending.shift();
  if (next !== undefined) {
    write(sim, next);
    return;
  }
  const { actions } = decideAttachments({
    volume,
    places: NODES.map((name) => placeOf(name, sim.nodes[name])),
    monotonicMs: 0,
    nowMs: 0,
    trustOutOfService: false,
  });
  sim.pending.push(...actions.filter(({ kind }) => kind !== 'recordPodEvents'));
}

/** The attacher executes the pending requests. */
function serve(node: SimNode): void {
  if (node.attachment === 'requested') node.attachment = 'attached';
  else if (node.attachment === 'deleting') node.attachment = 'none';
}

/** The agent reports the volume in use before it checks the attachment, and unmounts before it withdraws the
 *  report. */
function run(node: SimNode): void {
  if (node.pods === 0) {
    if (node.mounted) node.mounted = false;
    else node.inUse = false;
  } else if (!node.inUse) node.inUse = true;
  else if (node.reported) node.mounted = true;
}

const STEPS = ['control', 'control', 'serve', 'run', 'run', 'add', 'remove'] as const;
type Step = readonly [(typeof STEPS)[number], NodeName];

function take(sim: Sim, [step, name]: Step, volume: Attachable): void {
  const node = sim.nodes[name];
  if (step === 'control') control(sim, volume);
  else if (step === 'serve') serve(node);
  else if (step === 'run') run(node);
  else if (step === 'add') node.pods += 1;
  else node.pods = Math.max(0, node.pods - 1);
}

function check({ nodes }: Sim, exclusive: boolean): void {
  const all = Object.values(nodes);
  const wrong = all.filter(({ mounted, attachment }) => mounted && attachment !== 'attached');
  expect(wrong).toEqual([]);
  const held = all.filter(({ attachment }) => attachment !== 'none').length;
  expect(held).toBeLessThanOrEqual(exclusive ? 1 : NODES.length);
}

test.each([true, false])('whatever the order of steps, of a volume for one node: %j', (exclusive) => {
  const volume: Attachable = { unique: 'v', label: 'v', exclusive, attacher: { driver: 'd', handle: 'h' } };
  const step: fc.Arbitrary<Step> = fc.tuple(fc.constantFrom(...STEPS), fc.constantFrom(...NODES));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 150 }), fc.constantFrom(...NODES), (steps, last) => {
      const sim = begin();
      for (const each of steps) {
        take(sim, each, volume);
        check(sim, exclusive);
      }
      // From now on pods are on one node only, and all participants make progress.
      for (const name of NODES) sim.nodes[name].pods = name === last ? 1 : 0;
      for (let round = 0; round < 40; round += 1) {
        for (let writes = 0; writes < 8; writes += 1) control(sim, volume);
        for (const name of NODES) {
          serve(sim.nodes[name]);
          run(sim.nodes[name]);
        }
        check(sim, exclusive);
      }
      const idle = { pods: 0, inUse: false, mounted: false, reported: false, attachment: 'none' };
      const busy = { pods: 1, inUse: true, mounted: true, reported: true, attachment: 'attached' };
      expect(sim.nodes).toEqual(Object.fromEntries(NODES.map((name) => [name, name === last ? busy : idle])));
    }),
    { numRuns: 300 },
  );
});
