/** Name of the operating system. Pure. Source: os-release(5). */

const UNKNOWN = 'Unknown';

function unquote(text: string): string {
  const quoted = /^(?<quote>["'])(?<inner>.*)\k<quote>$/.exec(text)?.groups;
  if (quoted === undefined) return text;
  const inner = quoted['inner'] ?? '';
  return quoted['quote'] === '"' ? inner.replaceAll(/\\(["$`\\])/g, '$1') : inner;
}

/** Returns `PRETTY_NAME`, else `NAME`, of the text of `/etc/os-release`; `Unknown` without either. */
export function osImageOf(osRelease: string): string {
  const names = new Map<string, string>();
  for (const line of osRelease.split('\n')) {
    const pair = /^(?<key>[A-Z0-9_]+)=(?<value>.*)$/.exec(line.trim())?.groups;
    if (pair !== undefined) names.set(pair['key'] ?? '', unquote(pair['value'] ?? ''));
  }
  return [names.get('PRETTY_NAME'), names.get('NAME')].find((name) => (name ?? '') !== '') ?? UNKNOWN;
}
