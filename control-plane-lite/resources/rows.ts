/** Shared formats of Table cells, as upstream prints them. Pure. */

import type { LabelSelector } from '#api/gen/meta-v1.ts';
import type { LabelSet } from '#api/meta/labels.ts';
import { formatSelector, SelectorError } from '#api/meta/selectors.ts';
import { parseTime } from '#api/meta/time.ts';

/** What stands for a list, map or name that is empty. */
export const NONE = '<none>';
/** What stands for a point in time that isn't known. */
export const UNKNOWN = '<unknown>';
/** What stands for a field that the object leaves out. */
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
 *  `7y364d`, `8y`. What is more than a second to come is `<invalid>`. */
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

/** How long ago an API timestamp was; `<unknown>` where there is none. */
export function formatSince(timestamp: string | undefined, nowMs: number): string {
  return timestamp === undefined ? UNKNOWN : formatAge(nowMs - parseTime(timestamp));
}

/** How far ahead an API timestamp is; `<unknown>` where there is none. */
export function formatUntil(timestamp: string | undefined, nowMs: number): string {
  return timestamp === undefined ? UNKNOWN : formatAge(parseTime(timestamp) - nowMs);
}

/** The Age cell: how long ago the object was made. */
export function ageOf(
  object: { readonly metadata?: { readonly creationTimestamp?: string } },
  nowMs: number,
): string {
  return formatSince(object.metadata?.creationTimestamp, nowMs);
}

/** The text, or `<none>` for an empty one. */
export const orNone = (text: string | undefined): string => (text === undefined || text === '' ? NONE : text);

/** `a=b,c=d` in order of the keys, or `<none>`. */
export function formatLabelCell(labels: LabelSet | undefined): string {
  if (labels === undefined) return NONE;
  const keys = Object.keys(labels).toSorted();
  return orNone(keys.map((key) => `${key}=${labels[key] ?? ''}`).join(','));
}

/** A label selector object as text, or `<none>`; `<error>` if it can't be understood. */
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
