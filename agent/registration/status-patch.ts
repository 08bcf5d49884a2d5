/** Strategic merge patch with the changed members of a node. Pure. */

import { isDeepStrictEqual } from 'node:util';
import type { Node, NodeCondition, NodeStatus } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';

type Members = Readonly<Record<string, unknown>>;

/** Removes empty lists and maps: a server does not store them, so they are not a difference. */
function present(members: object): Members {
  const nonEmpty = Object.entries({ ...members }).filter(
    ([, value]: readonly [string, unknown]) =>
      value !== undefined &&
      !(typeof value === 'object' && value !== null && Object.keys(value).length === 0),
  );
  return Object.fromEntries(nonEmpty);
}

/** Returns the changed members of `after`, null for removed ones. Lists are compared as a whole. */
function diffMembers(before: Members, after: Members): Members {
  const patch: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(after)) {
    const old = before[name];
    if (value === undefined || isDeepStrictEqual(old, value)) continue;
    patch[name] = isObject(old) && isObject(value) ? diffMembers(old, value) : value;
  }
  for (const name of Object.keys(before)) if (after[name] === undefined) patch[name] = null;
  return patch;
}

/** Conditions are merged by type: returns each changed one with its changed members. */
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
  // A merge by type would mix the addresses of two families; the list is replaced as a whole.
  const replaced = isDeepStrictEqual(oldAddresses, addresses) ? [] : [...addresses, { $patch: 'replace' }];
  return {
    ...diffMembers(present(old), present(rest)),
    ...(changed.length === 0 ? {} : { conditions: changed }),
    ...(replaced.length === 0 ? {} : { addresses: replaced }),
  };
}

/** Returns the patch between two states of a node, in labels, annotations and status; `undefined` without
 *  changes. */
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
  conditions: conditions.map(({ type, status: statusValue, lastTransitionTime, reason, message }) => [
    type,
    statusValue,
    lastTransitionTime,
    reason,
    message,
  ]),
});

/** Reports whether anything but heartbeats differs, which is reported immediately. */
export function statusChanged(before: NodeStatus, after: NodeStatus): boolean {
  return !isDeepStrictEqual(withoutHeartbeats(before), withoutHeartbeats(after));
}
