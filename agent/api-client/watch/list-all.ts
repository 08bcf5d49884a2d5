/** Reads a complete list, in pages if the server supports them. */

import { isObject } from '#api/kit/object.ts';
import type { ApiClient, Json } from '../client.ts';
import { ApiRequestError } from '../errors.ts';
import type { Query, ResourceAddress } from '../resource-path.ts';

export interface WholeList {
  readonly items: readonly Json[];
  /** Version of the list, from which a watch continues. */
  readonly resourceVersion: string;
}

const PAGE_SIZE = 500;

/** A list without the metadata that a watch needs. */
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

/** Reads the list in one request if its continue token expires during paging.
 *  @throws errors of the client; ListFormatError */
export async function listAll(
  client: Pick<ApiClient, 'list'>,
  address: ResourceAddress,
  query: Query,
  signal: AbortSignal,
): Promise<WholeList> {
  // Servers serve "any version" from their cache, without paging.
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
