/** Computes the status update of a pod for the API server. Pure.
 *  Source: pod status, document 3 §1; upstream 1.24 pod status; strategic merge patches, document 1. */
import { isDeepStrictEqual } from 'node:util';
import type { ContainerStatus, Pod, PodCondition, PodStatus } from '#api/gen/core-v1.ts';
import { isObject } from '#api/kit/object.ts';
import { formatTime } from '#api/meta/time.ts';
import { decode } from '#api/schema/decode.ts';
import type { Json } from '../api-client/client.ts';
import { hasBeen, withHistory, withUnseenEnd } from '../pods/status/container-status.ts';

/** Conditions owned by this agent; others belong to their writers. */
const OWN_CONDITIONS: readonly string[] = ['Initialized', 'Ready', 'ContainersReady', 'PodScheduled'];

const CONTAINER_LISTS = ['initContainerStatuses', 'containerStatuses', 'ephemeralContainerStatuses'] as const;

const hasEnded = (phase: unknown): boolean => phase === 'Failed' || phase === 'Succeeded';

const listOf = (value: unknown): readonly Json[] => (Array.isArray(value) ? value.filter(isObject) : []);

/** Returns the status for the server: that of the agent, with fields of other writers and with facts that the
 *  agent no longer knows.
 *  @param known status on the server */
export function mergedStatus(pod: Pod, own: PodStatus, known: Json, nowMs: number): PodStatus {
  const conditions = withGates(pod, own.conditions ?? [], listOf(known['conditions']), nowMs);
  const before = knownStatus(known);
  return {
    ...withRememberedPhase(own, before),
    ...rememberedAddresses(own, before),
    ...rememberedStatuses(own, before, known),
    conditions,
    ...(before.startTime === undefined ? {} : { startTime: before.startTime }),
  };
}

/** Parses the status on the server leniently: invalid parts count as unknown. */
function knownStatus(known: Json): PodStatus {
  return decode<PodStatus>('core/v1.PodStatus', known, { unknownFields: 'ignore', missingFields: 'ignore' })
    .value;
}

/** A terminal phase on the server is never reverted, nor the fact that the pod has run: a restarted agent may
 *  find no trace of it. */
function withRememberedPhase(own: PodStatus, { phase, reason, message }: PodStatus): PodStatus {
  if (phase === 'Running' && own.phase === 'Pending') return { ...own, phase };
  if (phase === undefined || !hasEnded(phase)) return own;
  const { reason: _, message: __, ...rest } = own;
  return {
    ...rest,
    phase,
    ...(reason === undefined ? {} : { reason }),
    ...(message === undefined ? {} : { message }),
  };
}

const rememberedAddresses = (own: PodStatus, { podIP, podIPs = [] }: PodStatus): Partial<PodStatus> =>
  hasEnded(own.phase) && own.podIP === undefined && podIP !== undefined ? { podIP, podIPs } : {};

/** Containers that ended long ago may be gone from the runtime; the server knows their end and restart count. */
function rememberedStatuses(own: PodStatus, known: PodStatus, raw: Json): Partial<PodStatus> {
  const isOver = hasEnded(own.phase) || hasEnded(known.phase);
  const merged: Record<string, unknown> = {};
  for (const member of CONTAINER_LISTS) {
    const asKnown = (name: string) => listOf(raw[member]).find((status) => status['name'] === name);
    const forgotten = isOver ? known[member]?.map((before) => unlessSame(before, withUnseenEnd(before))) : [];
    const list = own[member]?.map((status) => {
      const before = known[member]?.find(({ name }) => name === status.name);
      if (before === undefined || !hasBeen(before)) return status;
      return unlessSame(before, withHistory(before, status, isOver));
    });
    // Copied literally from the server: no change.
    const statuses = (list ?? forgotten)?.map((status) =>
      typeof status === 'string' ? asKnown(status) : status,
    );
    if (statuses !== undefined && statuses.length > 0) merged[member] = statuses;
  }
  return merged;
}

/** Returns the container status, or only its name if it equals the known one. */
const unlessSame = (known: ContainerStatus, status: ContainerStatus): ContainerStatus | string =>
  status === known ? known.name : status;

/** A pod is ready when its containers are ready and all its readiness gates are true. */
function withGates(
  { spec }: Pod,
  own: readonly PodCondition[],
  known: readonly Json[],
  nowMs: number,
): readonly PodCondition[] {
  const gates = (spec?.readinessGates ?? []).map(({ conditionType }) => conditionType);
  const open = gates.filter(
    (gate) =>
      known.find(({ type }) => type === gate)?.['status'] !== 'True' && !OWN_CONDITIONS.includes(gate),
  );
  return own.map((condition) => {
    const before = known.find(({ type }) => type === condition.type);
    if (condition.type !== 'Ready' || condition.status !== 'True' || open.length === 0) {
      return withTransition(condition, before, nowMs);
    }
    const message =
      open.length === 1
        ? `the status of pod readiness gate ${JSON.stringify(open[0])} is not "True"`
        : `the status of pod readiness gates ${JSON.stringify(open)} is not "True"`;
    const closed = { ...condition, status: 'False', reason: 'ReadinessGatesNotReady', message } as const;
    return withTransition(closed, before, nowMs);
  });
}

/** Preserves the transition time of an unchanged condition, across restarts of the agent. A condition that another
 *  client changed after its last transition here changes now: its time never goes back. */
function withTransition(condition: PodCondition, before: Json | undefined, nowMs: number): PodCondition {
  const { status, lastTransitionTime: last } = before ?? {};
  if (typeof last !== 'string') return condition;
  if (status === condition.status) return { ...condition, lastTransitionTime: last };
  const lastMs = Date.parse(last);
  if (!(Date.parse(condition.lastTransitionTime ?? '') < lastMs)) return condition;
  return { ...condition, lastTransitionTime: nowMs < lastMs ? last : formatTime(nowMs) };
}

/** Fields that this agent sets and unsets. */
const REMOVABLE = ['reason', 'message', 'podIP', 'hostIP'] as const;

/** Returns the changed fields of the status as a strategic merge patch; undefined without changes. */
export function statusPatch(next: PodStatus, known: Json): Json | undefined {
  const patch: Record<string, unknown> = {};
  for (const [member, value] of Object.entries(next)) {
    if (member === 'conditions' || member === 'podIPs') continue;
    if (!isDeepStrictEqual(plain(value), plain(known[member]))) patch[member] = value;
  }
  for (const member of REMOVABLE) {
    if (next[member] === undefined && known[member] !== undefined) patch[member] = null;
  }
  const conditions = changedConditions(next.conditions ?? [], listOf(known['conditions']));
  if (conditions.length > 0) patch['conditions'] = conditions;
  // Addresses are merged by address unless they are to be replaced.
  const addresses = next.podIPs ?? [];
  if (!isDeepStrictEqual(plain(addresses), plain(listOf(known['podIPs'])))) {
    patch['podIPs'] = [{ $patch: 'replace' }, ...addresses];
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}

function changedConditions(next: readonly PodCondition[], known: readonly Json[]): readonly Json[] {
  return next.flatMap((condition): Json[] => {
    const before = known.find(({ type }) => type === condition.type);
    const { type, status, lastTransitionTime, reason, message } = condition;
    const { lastProbeTime: _, ...rest } = before ?? {};
    if (isDeepStrictEqual(plain(rest), plain({ type, status, lastTransitionTime, reason, message })))
      return [];
    const gone = (member: 'reason' | 'message') =>
      condition[member] === undefined && before?.[member] !== undefined ? { [member]: null } : {};
    return [{ ...condition, ...gone('reason'), ...gone('message') }];
  });
}

/** Normalizes to JSON without undefined members. Empty lists and objects equal absent ones: not every
 *  response encoding distinguishes them. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map(plain);
  if (!isObject(value)) return value;
  const result: Record<string, unknown> = {};
  let members = 0;
  for (const [key, member] of Object.entries(value)) {
    const known = plain(member);
    if (known === undefined) continue;
    result[key] = known;
    members += 1;
  }
  return members === 0 ? undefined : result;
}
