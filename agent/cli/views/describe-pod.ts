/** Formats the details of a pod. Pure. */
import type { Event, Pod } from '#api/gen/core-v1.ts';
import { formatSince } from '../args/duration.ts';
import { describeContainers } from './describe-containers.ts';
import { describeVolume } from './describe-volumes.ts';
import { eventAge } from './event-rows.ts';
import { type Field, fieldLines, indent } from './fields.ts';
import { podCreated, podSource } from './pod-rows.ts';
import { summarizePod } from './pod-status.ts';
import { formatTable } from './table.ts';

export function describePod(pod: Pod, events: readonly Event[], nowMs: number): string {
  return [
    fieldLines(podFields(pod, nowMs)),
    describeContainers(pod, nowMs),
    conditionLines(pod, nowMs),
    volumeLines(pod),
    eventLines(events, nowMs),
  ].join('');
}

function podFields(pod: Pod, nowMs: number): readonly Field[] {
  const { metadata = {}, spec, status = {} } = pod;
  const created = podCreated(pod);
  return [
    ['Name', metadata.name],
    ['Namespace', metadata.namespace],
    ['UID', metadata.uid],
    ['Source', podSource(pod)],
    ['Node', spec?.nodeName],
    ['Status', summarizePod(pod).status],
    ['Reason', status.reason],
    ['Message', status.message],
    ['Started', created === undefined ? undefined : `${created} (${formatSince(created, nowMs)} ago)`],
    ['Deleted', deletionText(pod)],
    ['IP', (status.podIPs ?? []).map(({ ip }) => ip ?? '').join(', ') || status.podIP],
    ['Host network', spec?.hostNetwork === true ? 'yes' : undefined],
    ['QoS class', status.qosClass],
    ['Restart policy', spec?.restartPolicy],
    ['Labels', pairsText(metadata.labels)],
    ['Annotations', pairsText(metadata.annotations)],
  ];
}

function deletionText({ metadata }: Pod): string | undefined {
  if (metadata?.deletionTimestamp === undefined) return undefined;
  const grace = metadata.deletionGracePeriodSeconds;
  return `${metadata.deletionTimestamp}${grace === undefined ? '' : ` (grace period ${grace}s)`}`;
}

const pairsText = (pairs: Readonly<Record<string, string>> | undefined): readonly string[] =>
  Object.entries(pairs ?? {}).map(([key, value]) => `${key}=${value}`);

function conditionLines({ status }: Pod, nowMs: number): string {
  const conditions = status?.conditions ?? [];
  if (conditions.length === 0) return '';
  const rows = conditions.map(({ type, status: value, lastTransitionTime, reason = '', message = '' }) => [
    type,
    value,
    formatSince(lastTransitionTime, nowMs),
    reason,
    message,
  ]);
  return `Conditions:\n${indent(formatTable(['TYPE', 'STATUS', 'SINCE', 'REASON', 'MESSAGE'], rows))}`;
}

function volumeLines({ spec }: Pod): string {
  const volumes = spec?.volumes ?? [];
  if (volumes.length === 0) return '';
  const rows = volumes.map((volume) => describeVolume(volume));
  return `Volumes:\n${indent(formatTable(['NAME', 'TYPE', 'SOURCE'], rows))}`;
}

function eventLines(events: readonly Event[], nowMs: number): string {
  if (events.length === 0) return 'Events: none\n';
  const rows = events.map((event) => [
    eventAge(event, nowMs),
    event.type ?? '',
    event.reason ?? '',
    event.message ?? '',
  ]);
  return `Events:\n${indent(formatTable(['LAST SEEN', 'TYPE', 'REASON', 'MESSAGE'], rows))}`;
}
