/** Parser of resolv.conf. Pure. Source: resolv.conf(5). */

export interface ResolvConf {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** Parses the settings. Of several `search` lines the last one counts, options accumulate. The trailing dot
 *  of a search domain is removed to detect duplicates.
 *  Deviation: `domain` is a search list of one, as in the C library; upstream ignores it. */
export function parseResolvConf(text: string): ResolvConf {
  const servers: string[] = [];
  const options: string[] = [];
  let searches: readonly string[] = [];
  for (const line of text.split('\n')) {
    if (line.startsWith('#') || line.startsWith(';')) continue;
    const [keyword, ...values] = line.trim().split(/\s+/);
    if (keyword === 'nameserver' && values[0] !== undefined) servers.push(values[0]);
    else if (keyword === 'search') searches = values.map(withoutTrailingDot);
    else if (keyword === 'domain') searches = values.slice(0, 1).map(withoutTrailingDot);
    else if (keyword === 'options') options.push(...values);
  }
  return { servers, searches, options: [...new Set(options)] };
}

const withoutTrailingDot = (domain: string): string =>
  domain.length > 1 && domain.endsWith('.') ? domain.slice(0, -1) : domain;
