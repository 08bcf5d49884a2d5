/** Estimates how many seats a request occupies. Pure. Source: upstream's work estimators of release 1.24. */
import { parseInt64 } from '#api/kit/int64.ts';
import type { FlowTarget } from './contract.ts';

const MIN_SEATS = 1;
const MAX_SEATS = 10;
const OBJECTS_PER_SEAT = 100;
const WATCHES_PER_SEAT = 10;
/** Time that the delivery of an event occupies a seat for every ten watches, in ms. */
const EVENT_MS = 5;

const clampSeats = (seats: number): number => Math.min(Math.max(Math.ceil(seats), MIN_SEATS), MAX_SEATS);

interface ListQuery {
  /** `undefined`: not an integer. */
  readonly limit: number | undefined;
  readonly fromStore: boolean;
  readonly selects: boolean;
}

const NO_QUERY: ListQuery = { limit: 0, fromStore: true, selects: false };

function readListQuery(query: URLSearchParams): ListQuery {
  const text = query.get('limit') ?? '';
  const limit = text === '' ? 0 : parseInt64(text);
  const version = query.get('resourceVersion') ?? '';
  const isPage = (query.get('continue') ?? '') !== '' || (Number(limit) > 0 && version !== '0');
  return {
    limit: limit === undefined ? undefined : Number(limit),
    fromStore: version === '' || isPage || query.get('resourceVersionMatch') === 'Exact',
    selects: (query.get('fieldSelector') ?? '') !== '' || (query.get('labelSelector') ?? '') !== '',
  };
}

/** Returns the seats of a list.
 *  @param query `undefined`: the request has none
 *  @param stored number of stored objects of the resource; `undefined`: unknown, such as of an aggregated API */
export function listSeats(
  { name }: Pick<FlowTarget, 'name'>,
  query: URLSearchParams | undefined,
  stored: number | undefined,
): number {
  if (name !== '') return MIN_SEATS;
  const { limit, fromStore, selects } = query === undefined ? NO_QUERY : readListQuery(query);
  if (limit === undefined) return MAX_SEATS;
  if (stored === undefined) return MIN_SEATS;
  const page = limit > 0 ? Math.min(limit, stored) : stored;
  const fromStoreObjects = selects ? stored + page : 2 * page;
  return clampSeats((fromStore ? fromStoreObjects : stored) / OBJECTS_PER_SEAT);
}

/** Returns the seats that a write occupies after its response, while its event is delivered to watches. */
export function finalSeats(watches: number): number {
  return watches < WATCHES_PER_SEAT ? 0 : clampSeats(watches / WATCHES_PER_SEAT);
}

/** Returns how long it occupies them, in ms: beyond the maximum of seats, more watches take longer. */
export function finalMs(watches: number): number {
  const seats = finalSeats(watches);
  return seats === 0 ? 0 : (Math.ceil(watches / WATCHES_PER_SEAT) * EVENT_MS) / seats;
}
