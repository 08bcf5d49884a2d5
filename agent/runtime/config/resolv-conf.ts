/** Reads resolv.conf. Pure. Source: resolv.conf(5). */

export interface ResolvConf {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

export const EMPTY_RESOLV_CONF: ResolvConf = { servers: [], searches: [], options: [] };

/** The settings in the text of a resolv.conf. Of several `search` lines the last one counts, options add up.
 *  A search domain loses its trailing dot, so that the same domain with and without it counts once.
 *  Deviation: `domain` is a search list of one, as the C library reads it; upstream passes over it. */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = [];
  const options: string[] = [];
  let searches: readonly string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#') || line.startsWith(';')) continue;
    const [keyword, ...words] = line.trim().split(/\s+/);
    if (keyword === 'nameserver' && words[0] !== undefined) servers.push(words[0]);
    else if (keyword === 'search') searches = words.map(withoutTrailingDot);
    else if (keyword === 'domain') searches = words.slice(0, 1).map(withoutTrailingDot);
    else if (keyword === 'options') options.push(...words);
  }
  return { servers, searches, options: [...new Set(options)] };
}

const withoutTrailingDot = (domain: string): string =>
  domain.length > 1 && domain.endsWith('.') ? domain.slice(0, -1) : domain;
