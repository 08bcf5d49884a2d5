/** What of a node to send: the members that changed, as a strategic merge patch. Pure. */
import { isDeepStrictEqual } from 'node:util';
import type { Node, NodeCondition, NodeStatus } from '#api/schema/gen/core-v1.ts';

type Members = Readonly<Record<string, unknown>>;

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Without empty lists and maps: a server does not keep them, so they are no difference. */
function present(members: object): Members {
  const kept = Object.entries({ ...members }).filter(
    ([, value]: readonly [string, unknown]) =>
      value !== undefined &&
      !(typeof value === 'object' && value !== null && Object.keys(value).length === 0),
  );
  return Object.fromEntries(kept);
}

/** Members of `after` that differ, null for those that are gone. Lists count as a whole. */
function diffMembers(before: Members, after: Members): Members {
  const patch: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(after)) {
    const old = before[name];
    if (value === undefined || isDeepStrictEqual(old, value)) continue;
    patch[name] = isMembers(old) && isMembers(value) ? diffMembers(old, value) : value;
  }
  for (const name of Object.keys(before)) if (after[name] === undefined) patch[name] = null;
  return patch;
}

/** Conditions are merged by their type: each that changed, with its changed members. */
function diffConditions(
  before: readonly NodeCondition[],
  after: readonly NodeCondition[],
): readonly Members[] {
  return after.flatMap((condition) => {
    const old = before.find(({ type }) => type === condition.type);
    const patch = diffMembers({ ...old }, { ...condition });
    return Object.keys(patch).length === 0 ? [] : [{ type: condition.type, ...patch }];
  });
}

function diffStatus(before: NodeStatus, after: NodeStatus): Members {
  const { conditions: oldConditions = [], addresses: oldAddresses = [], ...old } = before;
  const { conditions = [], addresses = [], ...rest } = after;
  const changed = diffConditions(oldConditions, conditions);
  // Merging by type would mix the addresses of two families; the list is replaced as a whole.
  const replaced = isDeepStrictEqual(oldAddresses, addresses) ? [] : [...addresses, { $patch: 'replace' }];
  return {
    ...diffMembers(present(old), present(rest)),
    ...(changed.length === 0 ? {} : { conditions: changed }),
    ...(replaced.length === 0 ? {} : { addresses: replaced }),
  };
}

/** The patch from one state of a node to another, in labels, annotations and status; `undefined` if nothing is to
 *  be sent. */
export function nodePatch(before: Node, after: Node): Members | undefined {
  const status = diffStatus(before.status ?? {}, after.status ?? {});
  const { labels: oldLabels = {}, annotations: oldAnnotations = {} } = before.metadata ?? {};
  const { labels = {}, annotations = {} } = after.metadata ?? {};
  const metadata = diffMembers({ labels: oldLabels, annotations: oldAnnotations }, { labels, annotations });
  const patch = {
    ...(Object.keys(metadata).length === 0 ? {} : { metadata }),
    ...(Object.keys(status).length === 0 ? {} : { status }),
  };
  return Object.keys(patch).length === 0 ? undefined : patch;
}

const withoutHeartbeats = ({ conditions = [], ...status }: NodeStatus): Members => ({
  ...present(status),
  conditions: conditions.map(({ type, status: word, lastTransitionTime, reason, message }) => [
    type,
    word,
    lastTransitionTime,
    reason,
    message,
  ]),
});

/** Whether anything but heartbeats differs: what is worth a report before its time. */
export function statusChanged(before: NodeStatus, after: NodeStatus): boolean {
  return !isDeepStrictEqual(withoutHeartbeats(before), withoutHeartbeats(after));
}
