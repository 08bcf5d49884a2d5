/** Shared formats of Table cells, as upstream prints them. Pure. */

import type { LabelSelector } from '#api/gen/meta-v1.ts';
import type { LabelSet } from '#api/meta/labels.ts';
import { formatSelector, SelectorError } from '#api/meta/selectors.ts';
import { parseTime } from '#api/meta/time.ts';

/** Cell text of an empty list, map or name. */
export const NONE = '<none>';
/** Cell text of an unknown time. */
export const UNKNOWN = '<unknown>';
/** Cell text of an absent field. */
export const UNSET = '<unset>';

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const YEAR = 365 * DAY;

/** `3m12s`: one unit and, while it matters, the next smaller one. */
function twoUnits(seconds: number, unit: number, name: string, smaller: number, smallerName: string): string {
  const rest = Math.floor((seconds % unit) / smaller);
  return `${Math.floor(seconds / unit)}${name}${rest === 0 ? '' : `${rest}${smallerName}`}`;
}

/** A span of time for people, the coarser the longer: `119s`, `9m59s`, `179m`, `7h59m`, `47h`, `7d23h`, `729d`,
 *  `7y364d`, `8y`. More than a second in the future: `<invalid>`. */
export function formatAge(ageMs: number): string {
  const seconds = Math.trunc(ageMs / 1000);
  if (seconds < -1) return '<invalid>';
  if (seconds < 0) return '0s';
  if (seconds < 2 * MINUTE) return `${seconds}s`;
  if (seconds < 10 * MINUTE) return twoUnits(seconds, MINUTE, 'm', 1, 's');
  if (seconds < 3 * HOUR) return `${Math.floor(seconds / MINUTE)}m`;
  if (seconds < 8 * HOUR) return twoUnits(seconds, HOUR, 'h', MINUTE, 'm');
  if (seconds < 2 * DAY) return `${Math.floor(seconds / HOUR)}h`;
  if (seconds < 8 * DAY) return twoUnits(seconds, DAY, 'd', HOUR, 'h');
  if (seconds < 2 * YEAR) return `${Math.floor(seconds / DAY)}d`;
  if (seconds < 8 * YEAR) return twoUnits(seconds, YEAR, 'y', DAY, 'd');
  return `${Math.floor(seconds / YEAR)}y`;
}

/** Returns the age of an API timestamp; `<unknown>` if it is absent. */
export function formatSince(timestamp: string | undefined, nowMs: number): string {
  return timestamp === undefined ? UNKNOWN : formatAge(nowMs - parseTime(timestamp));
}

/** Returns the time until an API timestamp; `<unknown>` if it is absent. */
export function formatUntil(timestamp: string | undefined, nowMs: number): string {
  return timestamp === undefined ? UNKNOWN : formatAge(parseTime(timestamp) - nowMs);
}

/** Returns the Age cell: the time since creation. */
export function ageOf(
  object: { readonly metadata?: { readonly creationTimestamp?: string } },
  nowMs: number,
): string {
  return formatSince(object.metadata?.creationTimestamp, nowMs);
}

/** Returns the text, or `<none>` if it is empty. */
export const orNone = (text: string | undefined): string => (text === undefined || text === '' ? NONE : text);

/** Returns `a=b,c=d` sorted by key, or `<none>`. */
export function formatLabelCell(labels: LabelSet | undefined): string {
  if (labels === undefined) return NONE;
  const keys = Object.keys(labels).toSorted();
  return orNone(keys.map((key) => `${key}=${labels[key] ?? ''}`).join(','));
}

/** Formats a label selector; `<none>` if it is empty, `<error>` if it is invalid. */
export function formatSelectorCell(selector: LabelSelector | undefined): string {
  if (selector === undefined) return NONE;
  try {
    return orNone(formatSelector(selector));
  } catch (error) {
    if (error instanceof SelectorError) return '<error>';
    throw error;
  }
}

interface NamedContainer {
  readonly name: string;
  readonly image?: string;
}

/** The Containers and Images cells of a pod template. */
export function containerCells(
  spec: { readonly containers?: readonly NamedContainer[] } | undefined,
): readonly [names: string, images: string] {
  const containers = spec?.containers ?? [];
  return [containers.map(({ name }) => name).join(','), containers.map(({ image = '' }) => image).join(',')];
}
