/** Catch-up of a new watcher: the state, if requested, then the changes since. In batches, so that a large
 *  state blocks nothing and need not be in memory twice. The state is that of the moment at which the watch
 *  began, before its client sees a response header: what the client does then is a change of its own. */
import type { CachedObject, EventEncoder, WatchOptions } from '../contract.ts';
import type { History } from '../state/history.ts';
import type { Matcher } from '../state/selection.ts';
import { encodeChange, joinBytes } from './watch-groups.ts';

export interface CatchUpSource {
  readonly history: History;
  readonly revision: () => number;
  /** The newest state of the selection. */
  readonly state: (options: WatchOptions) => readonly CachedObject[];
}

export type CatchUpStep =
  /** More follows; `position` is the revision that the bytes bring the watcher to. */
  | { readonly kind: 'more'; readonly bytes: Buffer; readonly position: number }
  /** The watcher is current up to `position`. */
  | { readonly kind: 'done'; readonly bytes: Buffer; readonly position: number }
  /** History no longer reaches back to the watcher's position. */
  | { readonly kind: 'expired' };

export interface CatchUp {
  next(): CatchUpStep;
}

const PIECE_EVENTS = 512;
const PIECE_BYTES = 1024 * 1024;

interface Piece {
  readonly parts: Buffer[];
  bytes: number;
  /** Number of inspected events per batch, selected or not. */
  events: number;
}

function push(piece: Piece, bytes: Buffer | undefined): void {
  piece.events += 1;
  if (bytes === undefined) return;
  piece.parts.push(bytes);
  piece.bytes += bytes.length;
}

const isFull = (piece: Piece): boolean => piece.events >= PIECE_EVENTS || piece.bytes >= PIECE_BYTES;

export function startCatchUp(
  source: CatchUpSource,
  options: WatchOptions,
  matches: Matcher | undefined,
  encoder: EventEncoder,
): CatchUp {
  const { history } = source;
  let wantsState = options.start.kind === 'state';
  let state: readonly CachedObject[] = wantsState ? source.state(options) : [];
  let given = 0;
  let position = options.start.kind === 'revision' ? options.start.revision : source.revision();

  function addState(piece: Piece): void {
    for (; given < state.length && !isFull(piece); given += 1) {
      const object = state[given];
      if (object !== undefined) push(piece, encoder.encode('ADDED', object));
    }
    if (given < state.length) return;
    wantsState = false;
    state = [];
    if (options.markInitialEnd) push(piece, encoder.bookmark(position, true));
  }

  /** Whether the watcher has caught up. */
  function addChanges(piece: Piece): boolean {
    for (let index = history.indexAfter(position); index < history.length; index += 1) {
      if (isFull(piece)) return false;
      const change = history.at(index);
      if (change === undefined) break;
      push(piece, encodeChange(change, matches, encoder));
      position = change.current.revision;
    }
    // A watcher may start at a future revision.
    position = Math.max(position, source.revision());
    return true;
  }

  return {
    next() {
      const piece: Piece = { parts: [], bytes: 0, events: 0 };
      if (wantsState) addState(piece);
      if (!wantsState && position < history.floor) return { kind: 'expired' };
      const done = !wantsState && addChanges(piece);
      return { kind: done ? 'done' : 'more', bytes: joinBytes(piece.parts), position };
    },
  };
}
