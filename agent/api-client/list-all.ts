/** A whole list, in pages where the server keeps them. */
import type { ApiClient, Json } from './client.ts';
import { ApiRequestError } from './errors.ts';
import { isObject } from './object-fields.ts';
import type { Query, ResourceAddress } from './resource-path.ts';

export interface WholeList {
  readonly items: readonly Json[];
  /** Of the list: where a watch goes on. */
  readonly resourceVersion: string;
}

const PAGE_SIZE = 500;

/** A list without what a watch needs. */
export class ListFormatError extends Error {
  override readonly name = 'ListFormatError';
  readonly reason = 'BadList';
  readonly retryable = true;
}

interface Page extends WholeList {
  readonly next: string;
}

/** @throws ListFormatError */
function parsePage(list: Json): Page {
  const { items, metadata } = list;
  if (!isObject(metadata)) throw new ListFormatError('the list has no metadata');
  const { resourceVersion, continue: next } = metadata;
  if (typeof resourceVersion !== 'string') throw new ListFormatError('the list has no resourceVersion');
  const found = Array.isArray(items) ? items.filter(isObject) : [];
  return { items: found, resourceVersion, next: typeof next === 'string' ? next : '' };
}

/** A list that is too long to be read before the server forgets its pages is read at once.
 *  @throws what the client throws; ListFormatError */
export async function listAll(
  client: Pick<ApiClient, 'list'>,
  address: ResourceAddress,
  query: Query,
  signal: AbortSignal,
): Promise<WholeList> {
  // Servers answer "any version" from memory, where pages have no meaning.
  if (query['resourceVersion'] !== undefined) return parsePage(await client.list(address, signal, query));
  const items: Json[] = [];
  let page: Page | undefined;
  while (page === undefined || page.next !== '') {
    const at = page === undefined ? {} : { continue: page.next };
    try {
      page = parsePage(await client.list(address, signal, { ...query, limit: PAGE_SIZE, ...at }));
    } catch (thrown) {
      if (!(thrown instanceof ApiRequestError) || thrown.status !== 410 || page === undefined) throw thrown;
      return parsePage(await client.list(address, signal, query));
    }
    items.push(...page.items);
  }
  return { items, resourceVersion: page.resourceVersion };
}
