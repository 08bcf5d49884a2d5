/** Final status of a pod that is being deleted and unknown on this node: the agent that knew its end has
 *  crashed, or it never started here. Pure.
 *  Source: upstream 1.24, status of terminated pods whose containers can't be found. */

import type { PodStatus } from '#api/gen/core-v1.ts';
import { formatTime } from '#api/meta/time.ts';
import { decode } from '#api/schema/decode.ts';
import type { Json } from '../api-client/client.ts';
import { withUnseenEnd } from '../pods/status/container-status.ts';

/** @param known status on the server */
export function endOfUnseen(known: Json, nowMs: number): PodStatus {
  const { value } = decode<PodStatus>('core/v1.PodStatus', known, {
    unknownFields: 'ignore',
    missingFields: 'ignore',
  });
  const {
    phase,
    conditions = [],
    initContainerStatuses,
    containerStatuses,
    ephemeralContainerStatuses,
  } = value;
  if (phase === 'Succeeded' || phase === 'Failed') return value;
  const apps = containerStatuses?.map(withUnseenEnd);
  const isDone = apps?.every(({ state }) => state?.terminated?.exitCode === 0) ?? false;
  const reason = isDone ? 'PodCompleted' : 'PodFailed';
  return {
    ...value,
    phase: isDone ? 'Succeeded' : 'Failed',
    conditions: conditions.map((condition) => {
      if (condition.type !== 'Ready' && condition.type !== 'ContainersReady') return condition;
      const changed = condition.status === 'False' ? {} : { lastTransitionTime: formatTime(nowMs) };
      return { ...condition, status: 'False', reason, ...changed };
    }),
    ...(initContainerStatuses === undefined
      ? {}
      : { initContainerStatuses: initContainerStatuses.map(withUnseenEnd) }),
    ...(apps === undefined ? {} : { containerStatuses: apps }),
    ...(ephemeralContainerStatuses === undefined
      ? {}
      : { ephemeralContainerStatuses: ephemeralContainerStatuses.map(withUnseenEnd) }),
  };
}
