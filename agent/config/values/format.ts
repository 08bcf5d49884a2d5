/** Formats values: in the form of the configuration file, and for display. */
import { formatDurationMs } from '#api/meta/duration.ts';
import type { Setting } from '../setting.ts';
import { upstreamGate, upstreamMember } from '../upstream.ts';
import { asMapping } from './parsed.ts';

/** Placeholder of a secret. */
export const HIDDEN = '<hidden>';

function renameKeys(value: unknown, rename: (key: string) => string): unknown {
  const mapping = asMapping(value) ?? {};
  return Object.fromEntries(Object.entries(mapping).map(([key, member]) => [rename(key), member]));
}

/** Redacts secrets: header values are hidden, names stay. */
function hide(value: unknown): unknown {
  const mapping = asMapping(value);
  if (mapping === undefined) return value === '' ? '' : HIDDEN;
  return Object.fromEntries(Object.keys(mapping).map((key) => [key, [HIDDEN]]));
}

/** Returns a URL without parts that may be credentials. */
function hideLogin(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text.includes('@') ? HIDDEN : text;
  if (url.username === '' && url.password === '' && url.search === '') return text;
  const login = url.username === '' && url.password === '' ? '' : `${HIDDEN}@`;
  return `${url.protocol}//${login}${url.host}${url.pathname}${url.search === '' ? '' : `?${HIDDEN}`}`;
}

/** Returns the value of a setting in the form of the configuration file, with upstream's names on request. */
export function toFileForm(setting: Setting, value: unknown, upstream = false): unknown {
  if (setting.isSecret === true) return hide(value);
  if (setting.isURL === true && typeof value === 'string') return hideLogin(value);
  if (typeof value === 'number' && setting.type === 'duration') {
    return setting.isNanoseconds === true ? Math.round(value * 1e6) : formatDurationMs(value);
  }
  if (!upstream) return value;
  if (setting.type === 'gates') return renameKeys(value, (name) => upstreamGate(name) ?? name);
  const members: readonly unknown[] = Array.isArray(value) ? value : [];
  if (setting.type === 'strings' && setting.enum !== undefined) {
    return members.map((member) => (typeof member === 'string' ? upstreamMember(member) : member));
  }
  return value;
}

/** Returns the value of a setting on one line. */
export function formatValue(setting: Setting, value: unknown): string {
  const form =
    typeof value === 'number' && setting.type === 'duration'
      ? formatDurationMs(value)
      : toFileForm(setting, value);
  return typeof form === 'string' && form !== '' ? form : JSON.stringify(form);
}
